-- Outputs that models made for evaluation jobs, as they arrive; and what a job may spend. Frozen: later revisions change
-- it, this file never does again.

ALTER TABLE proctor.budget_account DROP CONSTRAINT ck_budget_account_kind;
ALTER TABLE proctor.budget_account ADD CONSTRAINT ck_budget_account_kind
    CHECK (kind IN ('tenant', 'user', 'run_set', 'profile', 'job'));

ALTER TABLE proctor.evaluation_job ADD COLUMN budget_nano BIGINT;
COMMENT ON COLUMN proctor.evaluation_job.budget_nano IS 'what its target may cost at the most; NULL: no limit of its own';

CREATE TABLE proctor.target_output (
    tenant_id UUID NOT NULL,
    target TEXT NOT NULL,
    example BYTEA NOT NULL,
    repeat INTEGER NOT NULL,
    output TEXT,
    status TEXT,
    error TEXT,
    model TEXT NOT NULL,
    seconds FLOAT NOT NULL,
    cost_nano BIGINT,
    call_id UUID NOT NULL,
    job_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_target_output PRIMARY KEY (tenant_id, target, example, repeat),
    CONSTRAINT ck_target_output_output CHECK ((output IS NULL) = (status IS NOT NULL))
);
COMMENT ON COLUMN proctor.target_output.target IS 'digest of the model, the prompt and the parameters';
COMMENT ON COLUMN proctor.target_output.example IS 'the digest of the example';
COMMENT ON COLUMN proctor.target_output.status IS 'why there is no output';
COMMENT ON COLUMN proctor.target_output.model IS 'that answered, as its provider named it';
COMMENT ON COLUMN proctor.target_output.cost_nano IS 'NULL: not known';
COMMENT ON COLUMN proctor.target_output.job_id IS 'which job asked, and paid';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.target_output ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.target_output FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.target_output
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT ON proctor.target_output TO proctor_app, proctor_scheduler;
