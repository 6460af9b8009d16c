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
