-- A page of a run set's cells of a class that few of them have.
CREATE INDEX ix_result_class ON proctor.result (tenant_id, policy_version, class, cell_id);

-- A budget of time counts from when the run set was last told to go on.
ALTER TABLE proctor.run_set ADD COLUMN running_since TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now();
COMMENT ON COLUMN proctor.run_set.running_since IS 'when it was last told to go on';
