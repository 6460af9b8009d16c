-- What tenants may use. Frozen: later revisions change it, this file never does again.

CREATE TABLE proctor.tenant_quota (
    tenant_id UUID NOT NULL,
    evaluations_per_day BIGINT,
    cost_month_nano BIGINT,
    storage_bytes BIGINT,
    sandboxes BIGINT,
    budget_month_nano BIGINT,
    stored_bytes BIGINT,
    measured_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_tenant_quota PRIMARY KEY (tenant_id),
    CONSTRAINT fk_tenant_quota_tenant_id FOREIGN KEY(tenant_id) REFERENCES proctor.tenant (tenant_id)
);
COMMENT ON COLUMN proctor.tenant_quota.budget_month_nano IS 'hard, and the tenant''s own';
COMMENT ON COLUMN proctor.tenant_quota.stored_bytes IS 'what its objects took when they were last measured';

-- Rows of a day or a month lie together: the pages of the others are passed by, and no key's check can take these
-- indexes for its own.
CREATE INDEX ix_attempt_started ON proctor.attempt USING brin (started_at);
CREATE INDEX ix_ledger_created ON proctor.ledger USING brin (created_at);

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.tenant_quota ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.tenant_quota FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.tenant_quota USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

GRANT SELECT, INSERT, UPDATE ON proctor.tenant_quota TO proctor_app;
