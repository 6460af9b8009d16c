-- What evaluators said that ask a model, as it arrives; versions of prompts; outputs that a command made. Frozen: later
-- revisions change it, this file never does again.

CREATE TABLE proctor.judgement (
    tenant_id UUID NOT NULL,
    evaluator TEXT NOT NULL,
    sample BYTEA NOT NULL,
    repeat INTEGER NOT NULL,
    score FLOAT,
    status TEXT NOT NULL,
    label TEXT,
    error TEXT,
    cost_nano BIGINT,
    job_id UUID NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_judgement PRIMARY KEY (tenant_id, evaluator, sample, repeat),
    CONSTRAINT ck_judgement_score CHECK ((score IS NOT NULL) = (status = 'scored'))
);
COMMENT ON COLUMN proctor.judgement.evaluator IS 'digest of the definition';
COMMENT ON COLUMN proctor.judgement.sample IS 'the digest of the example and its output';
COMMENT ON COLUMN proctor.judgement.cost_nano IS 'its share of a batch; NULL: not known';
COMMENT ON COLUMN proctor.judgement.job_id IS 'which job asked, and paid';

CREATE TABLE proctor.prompt_version (
    tenant_id UUID NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    system TEXT NOT NULL,
    prompt TEXT NOT NULL,
    digest TEXT NOT NULL,
    description TEXT NOT NULL,
    creator UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_prompt_version PRIMARY KEY (tenant_id, name, version),
    CONSTRAINT uq_prompt_version_tenant_id_name_digest UNIQUE (tenant_id, name, digest),
    CONSTRAINT ck_prompt_version_version CHECK (version > 0)
);
COMMENT ON COLUMN proctor.prompt_version.digest IS 'of the two texts';

ALTER TABLE proctor.sample_set ADD COLUMN left_out BIGINT DEFAULT '0' NOT NULL;
ALTER TABLE proctor.sample_set ADD COLUMN problems JSONB DEFAULT '[]' NOT NULL;
COMMENT ON COLUMN proctor.sample_set.left_out IS 'rows that were no outputs of an example';
COMMENT ON COLUMN proctor.sample_set.problems IS '[{row, field, reason}], the first';

ALTER TABLE proctor.target_output ALTER COLUMN call_id DROP NOT NULL;
COMMENT ON COLUMN proctor.target_output.call_id IS 'NULL: a command made it';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.judgement ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.judgement FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.judgement
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT ON proctor.judgement TO proctor_app, proctor_scheduler;

ALTER TABLE proctor.prompt_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.prompt_version FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.prompt_version
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT ON proctor.prompt_version TO proctor_app, proctor_scheduler;
