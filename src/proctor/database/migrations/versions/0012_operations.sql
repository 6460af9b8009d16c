-- Long work: asked for, done by a role of its own, followed by a receipt. Frozen: later revisions change it, this file
-- never does again.

CREATE TABLE proctor.operation (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    request JSONB NOT NULL,
    state TEXT DEFAULT 'queued' NOT NULL,
    done BIGINT DEFAULT '0' NOT NULL,
    total BIGINT,
    words TEXT DEFAULT '' NOT NULL,
    result JSONB,
    error JSONB,
    actor UUID,
    key_id UUID,
    request_id TEXT DEFAULT '' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    ended_at TIMESTAMP WITH TIME ZONE,
    token BIGINT DEFAULT '0' NOT NULL,
    lease_until TIMESTAMP WITH TIME ZONE,
    losses SMALLINT DEFAULT '0' NOT NULL,
    cancel_asked BOOLEAN DEFAULT false NOT NULL,
    download JSONB,
    files_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_operation PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_operation_state CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    CONSTRAINT ck_operation_running_has_lease CHECK ((state = 'running') = (lease_until IS NOT NULL)),
    CONSTRAINT ck_operation_ended CHECK ((state IN ('done', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
);
CREATE INDEX ix_operation_tenant_id_created_at ON proctor.operation (tenant_id, created_at)
    WHERE state IN ('queued', 'running');
CREATE INDEX ix_operation_files_until ON proctor.operation (files_until) WHERE files_until IS NOT NULL;
COMMENT ON COLUMN proctor.operation.request IS 'what was asked for, as the kind''s own document';
COMMENT ON COLUMN proctor.operation.total IS 'NULL: not known';
COMMENT ON COLUMN proctor.operation.words IS 'what of; for a reader';
COMMENT ON COLUMN proctor.operation.error IS '{code, message, where, remedy}';
COMMENT ON COLUMN proctor.operation.actor IS 'the user who asked';
COMMENT ON COLUMN proctor.operation.token IS 'of its last claim; later writes carry it';
COMMENT ON COLUMN proctor.operation.losses IS 'processes that died with it';
COMMENT ON COLUMN proctor.operation.download IS '{key, sha256, size} of what it made';
COMMENT ON COLUMN proctor.operation.files_until IS 'then its objects are removed; NULL: it has none, or works';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.operation ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.operation FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.operation USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE ON proctor.operation TO proctor_app;

-- The role that does the work has to find whose waits: it sees that, and nothing of what was asked for or came of it.
CREATE POLICY operator_finds ON proctor.operation FOR SELECT TO proctor_scheduler USING (true);
GRANT SELECT (tenant_id, id, state, created_at, lease_until, files_until) ON proctor.operation TO proctor_scheduler;
