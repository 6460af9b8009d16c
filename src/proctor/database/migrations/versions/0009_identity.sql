-- Users, keys, and the audit log of who did what. Frozen: later revisions change it, this file never does again.

CREATE TABLE proctor.platform_setup (
    id INTEGER NOT NULL,
    link_hash BYTEA NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_platform_setup PRIMARY KEY (id),
    CONSTRAINT ck_platform_setup_one CHECK (id = 1)
);
COMMENT ON COLUMN proctor.platform_setup.link_hash IS 'keyed hash of the one-time link''s token';

CREATE TABLE proctor.tenant_user (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    role TEXT NOT NULL,
    administrator BOOLEAN DEFAULT false NOT NULL,
    version INTEGER DEFAULT '1' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    disabled_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_tenant_user PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_tenant_user_tenant_id_name UNIQUE (tenant_id, name),
    CONSTRAINT ck_tenant_user_kind CHECK (kind IN ('person', 'service')),
    CONSTRAINT ck_tenant_user_role CHECK (role IN ('viewer', 'reviewer', 'member', 'admin', 'owner')),
    CONSTRAINT fk_tenant_user_tenant_id FOREIGN KEY(tenant_id) REFERENCES proctor.tenant (tenant_id)
);
COMMENT ON COLUMN proctor.tenant_user.name IS 'a person''s e-mail address, or a service account''s name';
COMMENT ON COLUMN proctor.tenant_user.administrator IS 'of the whole installation';
COMMENT ON COLUMN proctor.tenant_user.version IS 'counts changes';

CREATE TABLE proctor.api_key (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    user_id UUID NOT NULL,
    name TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash BYTEA NOT NULL,
    scopes TEXT[],
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    revoked_at TIMESTAMP WITH TIME ZONE,
    last_used_at TIMESTAMP WITH TIME ZONE,
    replaced_by UUID,
    CONSTRAINT pk_api_key PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_api_key_tenant_id_prefix UNIQUE (tenant_id, prefix),
    CONSTRAINT fk_api_key_tenant_id_user_id FOREIGN KEY(tenant_id, user_id) REFERENCES proctor.tenant_user (tenant_id, id)
);
CREATE INDEX ix_api_key_tenant_id_user_id ON proctor.api_key (tenant_id, user_id);
COMMENT ON COLUMN proctor.api_key.scopes IS 'permissions it is narrowed to; NULL: its user''s';
COMMENT ON COLUMN proctor.api_key.last_used_at IS 'to the minute';
COMMENT ON COLUMN proctor.api_key.replaced_by IS 'the key that it was rotated to';

CREATE TABLE proctor.security_event (
    tenant_id UUID NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    action TEXT NOT NULL,
    actor UUID,
    key_id UUID,
    target TEXT NOT NULL,
    detail JSONB DEFAULT '{}' NOT NULL,
    request_id TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_security_event PRIMARY KEY (tenant_id, seq)
);
COMMENT ON COLUMN proctor.security_event.actor IS 'the user; NULL: nobody yet, or the installation itself';

CREATE TABLE proctor.idempotent_request (
    tenant_id UUID NOT NULL,
    user_id UUID NOT NULL,
    key BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    began_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    status INTEGER,
    body BYTEA,
    media_type TEXT,
    CONSTRAINT pk_idempotent_request PRIMARY KEY (tenant_id, user_id, key)
);
CREATE INDEX ix_idempotent_request_began_at ON proctor.idempotent_request (began_at);
COMMENT ON COLUMN proctor.idempotent_request.key IS 'sha256 of the caller''s Idempotency-Key';
COMMENT ON COLUMN proctor.idempotent_request.digest IS 'sha256 of method, path and body';
COMMENT ON COLUMN proctor.idempotent_request.status IS 'NULL: still at work';
COMMENT ON COLUMN proctor.idempotent_request.body IS 'what was answered, without a secret that is told once';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.tenant_user ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.tenant_user FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.tenant_user USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.api_key FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.api_key USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.security_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.security_event FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.security_event USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

ALTER TABLE proctor.idempotent_request ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.idempotent_request FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.idempotent_request USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

-- Whoever administers the installation sees which tenants there are, and nothing of what is theirs.
CREATE POLICY administrator_reads ON proctor.tenant FOR SELECT TO proctor_scheduler USING (true);
GRANT SELECT ON proctor.tenant TO proctor_scheduler;

GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.idempotent_request TO proctor_app;
GRANT SELECT, INSERT, UPDATE ON proctor.tenant_user, proctor.api_key, proctor.platform_setup TO proctor_app;

-- What was done is only ever added to.
GRANT SELECT, INSERT ON proctor.security_event TO proctor_app;
