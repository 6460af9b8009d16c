-- A page of a run set's cells of a class that few of them have.
CREATE INDEX ix_result_class ON proctor.result (tenant_id, policy_version, class, cell_id);
