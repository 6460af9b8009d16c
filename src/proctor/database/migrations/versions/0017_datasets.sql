-- Datasets and their versions. Frozen: later revisions change it, this file never does again.

CREATE TABLE proctor.dataset (
    tenant_id UUID NOT NULL,
    name TEXT NOT NULL,
    creator TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_dataset PRIMARY KEY (tenant_id, name)
);
COMMENT ON COLUMN proctor.dataset.creator IS 'who first made a version of it';

-- A version is a fact: its objects are stored before its row, and neither is changed.
CREATE TABLE proctor.dataset_version (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    dataset TEXT NOT NULL,
    version TEXT NOT NULL,
    position INTEGER NOT NULL,
    row_count BIGINT NOT NULL,
    content_hash TEXT NOT NULL,
    parts JSONB NOT NULL,
    has_embeddings BOOLEAN NOT NULL,
    operation TEXT NOT NULL,
    parameters JSONB NOT NULL,
    metadata JSONB NOT NULL,
    creator TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_dataset_version PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_dataset_version_tenant_id_dataset_version UNIQUE (tenant_id, dataset, version),
    CONSTRAINT uq_dataset_version_tenant_id_dataset_position UNIQUE (tenant_id, dataset, position),
    CONSTRAINT fk_dataset_version_tenant_id_dataset FOREIGN KEY(tenant_id, dataset)
        REFERENCES proctor.dataset (tenant_id, name),
    CONSTRAINT ck_dataset_version_row_count CHECK (row_count > 0),
    CONSTRAINT ck_dataset_version_position CHECK (position > 0),
    CONSTRAINT ck_dataset_version_operation
        CHECK (operation IN ('import', 'filter', 'merge', 'relabel', 'dedupe', 'sample'))
);
COMMENT ON COLUMN proctor.dataset_version.version IS 'a label: MAJOR.MINOR.PATCH, or a moment of UTC';
COMMENT ON COLUMN proctor.dataset_version.position IS '1, 2, 3 by the order in which they were made';
COMMENT ON COLUMN proctor.dataset_version.content_hash IS 'sha256 over the digests of its rows, in their order';
COMMENT ON COLUMN proctor.dataset_version.parts IS '[{key, rows, bytes, sha256}], in the order of its rows';
COMMENT ON COLUMN proctor.dataset_version.parameters IS 'the operation''s own';
COMMENT ON COLUMN proctor.dataset_version.metadata IS 'the creator''s own';

-- What a version was made of.
CREATE TABLE proctor.dataset_parent (
    tenant_id UUID NOT NULL,
    version_id UUID NOT NULL,
    position INTEGER NOT NULL,
    parent_id UUID NOT NULL,
    CONSTRAINT pk_dataset_parent PRIMARY KEY (tenant_id, version_id, position),
    CONSTRAINT fk_dataset_parent_tenant_id_version_id FOREIGN KEY(tenant_id, version_id)
        REFERENCES proctor.dataset_version (tenant_id, id),
    CONSTRAINT fk_dataset_parent_tenant_id_parent_id FOREIGN KEY(tenant_id, parent_id)
        REFERENCES proctor.dataset_version (tenant_id, id)
);
CREATE INDEX ix_dataset_parent_tenant_id_parent_id ON proctor.dataset_parent (tenant_id, parent_id);
COMMENT ON COLUMN proctor.dataset_parent.position IS '1, 2, 3 as the operation named them';

-- A split is a rule: the examples whose id hashes into its range, in this version.
CREATE TABLE proctor.dataset_split (
    tenant_id UUID NOT NULL,
    version_id UUID NOT NULL,
    name TEXT NOT NULL,
    seed BIGINT NOT NULL,
    low_ppm INTEGER NOT NULL,
    high_ppm INTEGER NOT NULL,
    creator TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_dataset_split PRIMARY KEY (tenant_id, version_id, name),
    CONSTRAINT fk_dataset_split_tenant_id_version_id FOREIGN KEY(tenant_id, version_id)
        REFERENCES proctor.dataset_version (tenant_id, id),
    CONSTRAINT ck_dataset_split_range CHECK (low_ppm >= 0 AND low_ppm < high_ppm AND high_ppm <= 1000000)
);
COMMENT ON COLUMN proctor.dataset_split.low_ppm IS 'the first millionth of the ids'' hashes that belongs to it';
COMMENT ON COLUMN proctor.dataset_split.high_ppm IS 'the first that does not any more';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.dataset ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.dataset FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.dataset
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.dataset_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.dataset_version FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.dataset_version
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.dataset_parent ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.dataset_parent FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.dataset_parent
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.dataset_split ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.dataset_split FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.dataset_split
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

-- Facts are added to, never changed. Workers that evaluate read them as the scheduler does its tenant's other rows.
GRANT SELECT, INSERT ON proctor.dataset, proctor.dataset_version, proctor.dataset_parent, proctor.dataset_split
    TO proctor_app, proctor_scheduler;
