-- Secrets of tenants, kept as envelopes. Frozen: later revisions change it, this file never does again.

CREATE TABLE proctor.tenant_secret (
    tenant_id UUID NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    key_id TEXT NOT NULL,
    wrapped BYTEA NOT NULL,
    sealed BYTEA NOT NULL,
    set_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    set_by UUID NOT NULL,
    last_used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_tenant_secret PRIMARY KEY (tenant_id, name),
    CONSTRAINT ck_tenant_secret_name CHECK (name ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'),
    CONSTRAINT ck_tenant_secret_version CHECK (version > 0),
    CONSTRAINT fk_tenant_secret_tenant_id_set_by FOREIGN KEY (tenant_id, set_by)
        REFERENCES proctor.tenant_user (tenant_id, id)
);
COMMENT ON COLUMN proctor.tenant_secret.version IS 'counts how often it was set';
COMMENT ON COLUMN proctor.tenant_secret.key_id IS 'the installation''s key that wrapped its data key';
COMMENT ON COLUMN proctor.tenant_secret.wrapped IS 'its data key, wrapped';
COMMENT ON COLUMN proctor.tenant_secret.sealed IS 'its value under its data key';
COMMENT ON COLUMN proctor.tenant_secret.last_used_at IS 'to the minute';

-- Rows are the tenant's that the transaction named. The scheduler has no business with them.
ALTER TABLE proctor.tenant_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.tenant_secret FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.tenant_secret
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, DELETE ON proctor.tenant_secret TO proctor_app;
GRANT UPDATE (version, key_id, wrapped, sealed, set_at, set_by, last_used_at) ON proctor.tenant_secret TO proctor_app;
