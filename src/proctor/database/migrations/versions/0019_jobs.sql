-- Evaluation jobs, the outputs that they judge, and the manifest of their results. Frozen: later revisions change it,
-- this file never does again.

CREATE TABLE proctor.sample_set (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    dataset_version UUID NOT NULL,
    rows BIGINT NOT NULL,
    repeats INTEGER NOT NULL,
    outputs BIGINT NOT NULL,
    parts JSONB NOT NULL,
    content_hash TEXT NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    source TEXT NOT NULL,
    creator UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_sample_set PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_sample_set_size CHECK (rows > 0 AND repeats > 0)
);
CREATE INDEX ix_sample_set_tenant_id_name_created_at ON proctor.sample_set (tenant_id, name, created_at);
COMMENT ON COLUMN proctor.sample_set.id IS 'derived from the dataset version and the content';
COMMENT ON COLUMN proctor.sample_set.name IS 'a label';
COMMENT ON COLUMN proctor.sample_set.rows IS 'of the dataset version; each repeat has so many';
COMMENT ON COLUMN proctor.sample_set.outputs IS 'of all rows and repeats, those that have one';
COMMENT ON COLUMN proctor.sample_set.parts IS '[{key, rows, bytes, sha256}]';
COMMENT ON COLUMN proctor.sample_set.model IS 'what made them, as told; empty: nobody said';

CREATE TABLE proctor.evaluation_job (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    state TEXT DEFAULT 'queued' NOT NULL,
    spec JSONB NOT NULL,
    dataset_version UUID NOT NULL,
    sample_set UUID,
    band INTEGER NOT NULL,
    rows BIGINT NOT NULL,
    repeats INTEGER NOT NULL,
    chunk_rows INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    chunks_done INTEGER DEFAULT '0' NOT NULL,
    counts JSONB DEFAULT '{}' NOT NULL,
    creator UUID,
    trace_id TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_evaluation_job PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_evaluation_job_state CHECK (
        state IN ('queued', 'running', 'paused', 'complete', 'complete_with_gaps', 'cancelled')),
    CONSTRAINT ck_evaluation_job_ended CHECK (
        (state IN ('complete', 'complete_with_gaps', 'cancelled')) = (ended_at IS NOT NULL)),
    CONSTRAINT ck_evaluation_job_done CHECK (chunks_done BETWEEN 0 AND chunks)
);
CREATE INDEX ix_evaluation_job_tenant_id_created_at ON proctor.evaluation_job (tenant_id, created_at);
CREATE INDEX ix_evaluation_job_tenant_id_id ON proctor.evaluation_job (tenant_id, id)
    WHERE state IN ('queued', 'running', 'paused');
COMMENT ON COLUMN proctor.evaluation_job.name IS 'a label';
COMMENT ON COLUMN proctor.evaluation_job.spec IS 'what was asked for, with every reference resolved';
COMMENT ON COLUMN proctor.evaluation_job.sample_set IS 'the outputs that are judged';
COMMENT ON COLUMN proctor.evaluation_job.counts IS 'results by evaluator and status';

CREATE TABLE proctor.result_batch (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    job_id UUID NOT NULL,
    chunk INTEGER,
    path TEXT,
    staged BYTEA,
    sha256 TEXT NOT NULL,
    rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    min_time TIMESTAMP WITH TIME ZONE NOT NULL,
    max_time TIMESTAMP WITH TIME ZONE NOT NULL,
    schema_version SMALLINT NOT NULL,
    counts JSONB NOT NULL,
    state TEXT DEFAULT 'live' NOT NULL,
    held BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_result_batch PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_result_batch_state CHECK (state IN ('live', 'superseded', 'deleted')),
    CONSTRAINT ck_result_batch_ended CHECK ((state = 'live') = (ended_at IS NULL)),
    CONSTRAINT ck_result_batch_somewhere CHECK (state <> 'live' OR num_nonnulls(path, staged) = 1),
    CONSTRAINT ck_result_batch_gone CHECK (state <> 'deleted' OR num_nonnulls(path, staged) = 0),
    CONSTRAINT ck_result_batch_rows CHECK (rows > 0)
);
CREATE INDEX ix_result_batch_ended_at ON proctor.result_batch (ended_at) WHERE state = 'superseded';
CREATE UNIQUE INDEX ix_result_batch_tenant_id_job_id_chunk ON proctor.result_batch (tenant_id, job_id, chunk)
    WHERE chunk IS NOT NULL;
CREATE INDEX ix_result_batch_tenant_id_job_id_min_time ON proctor.result_batch (tenant_id, job_id, min_time)
    WHERE state = 'live';
CREATE INDEX ix_result_batch_tenant_id_min_time ON proctor.result_batch (tenant_id, min_time)
    WHERE state = 'live';
COMMENT ON COLUMN proctor.result_batch.id IS 'derived from chunk and token; of a merged one from its parts';
COMMENT ON COLUMN proctor.result_batch.chunk IS 'which of the job''s; NULL: several, merged';
COMMENT ON COLUMN proctor.result_batch.path IS 'key of the object; NULL: staged, or deleted';
COMMENT ON COLUMN proctor.result_batch.staged IS 'a small batch itself, as Parquet';
COMMENT ON COLUMN proctor.result_batch.counts IS 'rows by evaluator and status';
COMMENT ON COLUMN proctor.result_batch.held IS 'a legal hold: nothing deletes it';
COMMENT ON COLUMN proctor.result_batch.ended_at IS 'when it was superseded or deleted';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.sample_set ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.sample_set FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.sample_set
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.evaluation_job ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.evaluation_job FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.evaluation_job
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.result_batch ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.result_batch FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.result_batch
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
-- The planner merges and sweeps for every tenant, each in a transaction that names it; a worker settles likewise.
GRANT SELECT, INSERT ON proctor.sample_set TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT, UPDATE ON proctor.evaluation_job, proctor.result_batch TO proctor_app;
GRANT SELECT, UPDATE ON proctor.evaluation_job TO proctor_scheduler;
GRANT SELECT, INSERT, UPDATE ON proctor.result_batch TO proctor_scheduler;
