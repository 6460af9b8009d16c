-- The registry of evaluators. Frozen: later revisions change it, this file never does again.

-- A version of an evaluator: what decides its numbers. It never changes.
CREATE TABLE proctor.evaluator_version (
    tenant_id UUID NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    type TEXT NOT NULL,
    implementation INTEGER NOT NULL,
    configuration TEXT NOT NULL,
    digest TEXT NOT NULL,
    cost_nano BIGINT,
    description TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_evaluator_version PRIMARY KEY (tenant_id, name, version),
    CONSTRAINT ck_evaluator_version_version CHECK (version > 0),
    CONSTRAINT ck_evaluator_version_cost CHECK (cost_nano >= 0)
);
CREATE INDEX ix_evaluator_version_tenant_id_digest ON proctor.evaluator_version (tenant_id, digest);
COMMENT ON COLUMN proctor.evaluator_version.version IS 'counts from 1 for each name';
COMMENT ON COLUMN proctor.evaluator_version.implementation IS 'of the type, when it was registered';
COMMENT ON COLUMN proctor.evaluator_version.configuration IS 'canonical, in RFC 8785, which jsonb does not keep';
COMMENT ON COLUMN proctor.evaluator_version.digest IS 'of type, implementation and configuration';
COMMENT ON COLUMN proctor.evaluator_version.cost_nano IS 'of one evaluation; NULL: not known';

-- What is measured of an evaluator, by the digest of its definition.
CREATE TABLE proctor.evaluator_measure (
    tenant_id UUID NOT NULL,
    digest TEXT NOT NULL,
    evaluations BIGINT NOT NULL,
    seconds FLOAT NOT NULL,
    accuracy FLOAT,
    accuracy_source TEXT,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_evaluator_measure PRIMARY KEY (tenant_id, digest),
    CONSTRAINT ck_evaluator_measure_latency CHECK (evaluations >= 0 AND seconds >= 0),
    CONSTRAINT ck_evaluator_measure_accuracy CHECK (accuracy BETWEEN 0 AND 1),
    CONSTRAINT ck_evaluator_measure_source CHECK ((accuracy IS NULL) = (accuracy_source IS NULL))
);
COMMENT ON COLUMN proctor.evaluator_measure.digest IS 'of the evaluator''s definition, registered or not';
COMMENT ON COLUMN proctor.evaluator_measure.evaluations IS 'that took so long';
COMMENT ON COLUMN proctor.evaluator_measure.seconds IS 'that they took in all';
COMMENT ON COLUMN proctor.evaluator_measure.accuracy IS 'the share that it judges as people do; NULL: not measured';
COMMENT ON COLUMN proctor.evaluator_measure.accuracy_source IS 'where that comes from';

-- What the installation's administrator says of what a tenant may use; what is not said is allowed.
CREATE TABLE proctor.evaluator_permission (
    tenant_id UUID NOT NULL,
    subject TEXT NOT NULL,
    allowed BOOLEAN NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_evaluator_permission PRIMARY KEY (tenant_id, subject)
);
COMMENT ON COLUMN proctor.evaluator_permission.subject IS 'a type, or the name of a registered evaluator';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.evaluator_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.evaluator_version FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.evaluator_version
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.evaluator_measure ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.evaluator_measure FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.evaluator_measure
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.evaluator_permission ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.evaluator_permission FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.evaluator_permission
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

-- A version that was registered was registered.
GRANT SELECT, INSERT ON proctor.evaluator_version TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT, UPDATE ON proctor.evaluator_measure TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.evaluator_permission TO proctor_app;
GRANT SELECT ON proctor.evaluator_permission TO proctor_scheduler;
