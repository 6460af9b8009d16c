-- Streams: evaluation jobs that stay open, whose rows come while they run. Frozen: later revisions change it, this file
-- never does again.

ALTER TABLE proctor.evaluation_job
    ALTER COLUMN dataset_version DROP NOT NULL,
    ADD COLUMN stream BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN open BOOLEAN DEFAULT false NOT NULL,
    ADD CONSTRAINT ck_evaluation_job_stream CHECK (stream = (dataset_version IS NULL)),
    ADD CONSTRAINT ck_evaluation_job_open CHECK (NOT open OR (stream AND ended_at IS NULL));
CREATE UNIQUE INDEX ix_evaluation_job_tenant_id_name_open ON proctor.evaluation_job (tenant_id, name) WHERE open;
COMMENT ON COLUMN proctor.evaluation_job.dataset_version IS 'NULL: a stream, whose rows are of none';
COMMENT ON COLUMN proctor.evaluation_job.stream IS 'its rows come while it runs';
COMMENT ON COLUMN proctor.evaluation_job.open IS 'rows may still come';

CREATE TABLE proctor.job_piece (
    tenant_id UUID NOT NULL,
    job_id UUID NOT NULL,
    chunk INTEGER NOT NULL,
    start BIGINT NOT NULL,
    rows INTEGER NOT NULL,
    examples JSONB NOT NULL,
    outputs JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_job_piece PRIMARY KEY (tenant_id, job_id, chunk),
    CONSTRAINT ck_job_piece_place CHECK (chunk >= 0 AND start >= 0 AND rows > 0)
);
CREATE INDEX ix_job_piece_tenant_id_created_at ON proctor.job_piece (tenant_id, created_at);
COMMENT ON COLUMN proctor.job_piece.chunk IS 'which of the job''s it is';
COMMENT ON COLUMN proctor.job_piece.start IS 'position of its first row in the stream';
COMMENT ON COLUMN proctor.job_piece.examples IS '{key, rows, bytes, sha256} of what was asked and expected';
COMMENT ON COLUMN proctor.job_piece.outputs IS 'the same of what was answered';

CREATE TABLE proctor.stream_key (
    tenant_id UUID NOT NULL,
    job_id UUID NOT NULL,
    key BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_stream_key PRIMARY KEY (tenant_id, job_id, key)
);
CREATE INDEX ix_stream_key_tenant_id_created_at ON proctor.stream_key (tenant_id, created_at);
COMMENT ON COLUMN proctor.stream_key.key IS 'digest of what its sender calls it by';
COMMENT ON COLUMN proctor.stream_key.digest IS 'of what was sent under it';

CREATE TABLE proctor.stream_refusal (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    job_id UUID NOT NULL,
    row INTEGER NOT NULL,
    field TEXT NOT NULL,
    reason TEXT NOT NULL,
    said TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_stream_refusal PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_stream_refusal_row CHECK (row > 0)
);
CREATE INDEX ix_stream_refusal_tenant_id_job_id_id ON proctor.stream_refusal (tenant_id, job_id, id);
COMMENT ON COLUMN proctor.stream_refusal.row IS 'in what was sent at once, from 1';
COMMENT ON COLUMN proctor.stream_refusal.field IS 'empty: the whole row';
COMMENT ON COLUMN proctor.stream_refusal.said IS 'how the row begins';

CREATE TABLE proctor.stream_tally (
    tenant_id UUID NOT NULL,
    job_id UUID NOT NULL,
    refused BIGINT NOT NULL,
    CONSTRAINT pk_stream_tally PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT ck_stream_tally_refused CHECK (refused > 0)
);
COMMENT ON COLUMN proctor.stream_tally.refused IS 'rows, those that are not listed too';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.job_piece ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.job_piece FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.job_piece
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.stream_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.stream_key FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.stream_key
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.stream_refusal ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.stream_refusal FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.stream_refusal
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.stream_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.stream_tally FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.stream_tally
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, DELETE ON proctor.job_piece, proctor.stream_key, proctor.stream_refusal TO proctor_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.stream_tally TO proctor_app;
-- Workers claim chunks as the scheduler, each in a transaction that names the tenant.
GRANT SELECT ON proctor.job_piece TO proctor_scheduler;
