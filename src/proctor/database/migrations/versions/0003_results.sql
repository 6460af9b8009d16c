CREATE TABLE proctor.outcome_policy (
    tenant_id UUID NOT NULL,
    version TEXT NOT NULL,
    source TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_outcome_policy PRIMARY KEY (tenant_id, version)
);
COMMENT ON COLUMN proctor.outcome_policy.version IS 'the file''s own name and, after @, the beginning of its digest';
COMMENT ON COLUMN proctor.outcome_policy.source IS 'the file as written';
ALTER TABLE proctor.outcome_policy ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.outcome_policy FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.outcome_policy USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT ON proctor.outcome_policy TO proctor_app, proctor_scheduler;

CREATE TABLE proctor.unlinked (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    run_set_id UUID NOT NULL,
    suite TEXT NOT NULL,
    profile TEXT NOT NULL,
    task TEXT NOT NULL,
    trial INTEGER NOT NULL,
    number INTEGER NOT NULL,
    record JSONB NOT NULL,
    reason TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    linked_at TIMESTAMP WITH TIME ZONE,
    linked_by TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_unlinked PRIMARY KEY (tenant_id, id),
    CONSTRAINT fk_unlinked_tenant_id_run_set_id FOREIGN KEY(tenant_id, run_set_id) REFERENCES proctor.run_set (tenant_id, id)
);
CREATE INDEX ix_unlinked_tenant_id_run_set_id ON proctor.unlinked (tenant_id, run_set_id) WHERE linked_at IS NULL;
COMMENT ON COLUMN proctor.unlinked.record IS 'the imported line, whole';
COMMENT ON COLUMN proctor.unlinked.reason IS 'which name does not resolve';
COMMENT ON COLUMN proctor.unlinked.linked_by IS 'the alias or rule by which it was linked';
ALTER TABLE proctor.unlinked ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.unlinked FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.unlinked USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT ON proctor.unlinked TO proctor_app, proctor_scheduler;
GRANT UPDATE (linked_at, linked_by) ON proctor.unlinked TO proctor_app, proctor_scheduler;

-- A page of a run set's cells is read in its order, and never sorted out of a million.
CREATE INDEX ix_expected_cell_page ON proctor.expected_cell (tenant_id, run_set_id, profile, content_digest, cell_id);
