-- Alerts that somebody of a tenant has seen, and until when they are not to be told again. Frozen: later revisions
-- change it, this file never does again.

CREATE TABLE proctor.acknowledgement (
    tenant_id UUID NOT NULL,
    alert TEXT NOT NULL,
    user_id UUID NOT NULL,
    note TEXT DEFAULT '' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_acknowledgement PRIMARY KEY (tenant_id, alert),
    CONSTRAINT ck_acknowledgement_until CHECK (until > created_at),
    CONSTRAINT fk_acknowledgement_tenant_id_user_id FOREIGN KEY (tenant_id, user_id)
        REFERENCES proctor.tenant_user (tenant_id, id)
);
COMMENT ON COLUMN proctor.acknowledgement.alert IS 'what needs somebody, by a key without figures';
COMMENT ON COLUMN proctor.acknowledgement.user_id IS 'who has seen it';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.acknowledgement ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.acknowledgement FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.acknowledgement
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.acknowledgement TO proctor_app;
