-- Three statements of every leaderboard ask for them.
CREATE INDEX ix_expected_cell_reused ON proctor.expected_cell (tenant_id, run_set_id) WHERE reused;
