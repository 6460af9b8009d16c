-- Keeping results: jobs are deleted by name, held by law, or kept for a time; rollups outlive rows. Frozen: later
-- revisions change it, this file never does again.

ALTER TABLE proctor.evaluation_job
    ADD COLUMN kept BOOLEAN DEFAULT true NOT NULL,
    ADD COLUMN held_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN held_by UUID,
    ADD COLUMN held_reason TEXT,
    ADD COLUMN deleted_at TIMESTAMP WITH TIME ZONE,
    ADD COLUMN deleted_by UUID,
    DROP CONSTRAINT ck_evaluation_job_state,
    DROP CONSTRAINT ck_evaluation_job_ended,
    ADD CONSTRAINT ck_evaluation_job_state CHECK (
        state IN ('queued', 'running', 'paused', 'complete', 'complete_with_gaps', 'cancelled', 'deleted')),
    ADD CONSTRAINT ck_evaluation_job_ended CHECK (
        (state IN ('complete', 'complete_with_gaps', 'cancelled', 'deleted')) = (ended_at IS NOT NULL)),
    ADD CONSTRAINT ck_evaluation_job_held CHECK ((held_at IS NULL) = (held_reason IS NULL)),
    ADD CONSTRAINT ck_evaluation_job_deleted CHECK ((state = 'deleted') = (deleted_at IS NOT NULL)),
    ADD CONSTRAINT ck_evaluation_job_hold_keeps CHECK (held_at IS NULL OR deleted_at IS NULL);
CREATE INDEX ix_evaluation_job_tenant_id_sample_set ON proctor.evaluation_job (tenant_id, sample_set)
    WHERE state <> 'deleted';
COMMENT ON COLUMN proctor.evaluation_job.kept IS 'false: its results go when they are as old as the tenant says';
COMMENT ON COLUMN proctor.evaluation_job.held_at IS 'since when a legal hold keeps it; NULL: none does';
COMMENT ON COLUMN proctor.evaluation_job.deleted_at IS 'its results are gone, and this row is what is left';

CREATE TABLE proctor.result_retention (
    tenant_id UUID NOT NULL,
    result_days INTEGER NOT NULL,
    rollup_days INTEGER NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_result_retention PRIMARY KEY (tenant_id),
    CONSTRAINT ck_result_retention_days CHECK (
        result_days BETWEEN 1 AND 36500 AND rollup_days BETWEEN result_days AND 36500)
);
COMMENT ON COLUMN proctor.result_retention.result_days IS 'of results of jobs that are not kept';
COMMENT ON COLUMN proctor.result_retention.rollup_days IS 'of their daily sums';

CREATE TABLE proctor.result_rollup (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    day DATE NOT NULL,
    evaluator TEXT NOT NULL,
    model TEXT,
    status TEXT NOT NULL,
    n BIGINT NOT NULL,
    scored BIGINT NOT NULL,
    score_sum DOUBLE PRECISION NOT NULL,
    score_squares DOUBLE PRECISION NOT NULL,
    score_min DOUBLE PRECISION,
    score_max DOUBLE PRECISION,
    CONSTRAINT pk_result_rollup PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_result_rollup_counts CHECK (n > 0 AND scored BETWEEN 0 AND n),
    CONSTRAINT ck_result_rollup_bounds CHECK (
        (scored = 0) = (score_min IS NULL) AND (scored = 0) = (score_max IS NULL))
);
CREATE INDEX ix_result_rollup_tenant_id_day ON proctor.result_rollup (tenant_id, day);
COMMENT ON COLUMN proctor.result_rollup.id IS 'derived from day, evaluator, model and status';
COMMENT ON COLUMN proctor.result_rollup.day IS 'UTC, on which the results were evaluated';
COMMENT ON COLUMN proctor.result_rollup.model IS 'NULL: nobody said';
COMMENT ON COLUMN proctor.result_rollup.score_squares IS 'sum of the squares of scores';
COMMENT ON COLUMN proctor.result_rollup.score_min IS 'NULL: none was scored';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.result_retention ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.result_retention FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.result_retention
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.result_rollup ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.result_rollup FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.result_rollup
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.result_retention, proctor.result_rollup TO proctor_app;
GRANT DELETE ON proctor.sample_set TO proctor_app;
