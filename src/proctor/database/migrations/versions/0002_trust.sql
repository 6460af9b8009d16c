-- What makes a task's verdicts worth believing. Frozen: later revisions change it, this file never does again.
--
-- None of the three refers to a task's row: they are keyed by what agent and verifier see, which outlives a suite.

CREATE TABLE proctor.certificate (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    agent_digest TEXT NOT NULL,
    verifier_digest TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    backend TEXT NOT NULL,
    environment JSONB NOT NULL,
    checks TEXT NOT NULL,
    verdict TEXT NOT NULL,
    problems JSONB NOT NULL,
    snapshot BOOLEAN,
    runs JSONB NOT NULL,
    made_by TEXT NOT NULL,
    made_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_certificate PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_certificate_verdict CHECK (verdict IN ('certified', 'refused', 'not_decided'))
);
CREATE INDEX ix_certificate_latest ON proctor.certificate (tenant_id, agent_digest, verifier_digest, backend, made_at);
COMMENT ON COLUMN proctor.certificate.environment IS 'identity: os-release and the versions of the tools that the task needs';
COMMENT ON COLUMN proctor.certificate.checks IS 'digest of the forgeries that were tried';
COMMENT ON COLUMN proctor.certificate.problems IS 'why it is refused or not decided, one line each';
COMMENT ON COLUMN proctor.certificate.snapshot IS 'of a live task: whether its oracle passes in snapshot; NULL: not live, or not known';
COMMENT ON COLUMN proctor.certificate.runs IS '[{solution, class, rule, verdict, seconds, evidence}]';

CREATE TABLE proctor.flake (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    agent_digest TEXT NOT NULL,
    verifier_digest TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    source TEXT NOT NULL,
    subject TEXT NOT NULL,
    solution TEXT NOT NULL,
    verdict BOOLEAN,
    at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pk_flake PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_flake_source CHECK (source IN ('certificate', 'grading'))
);
CREATE INDEX ix_flake_task ON proctor.flake (tenant_id, agent_digest, verifier_digest, at);
COMMENT ON COLUMN proctor.flake.subject IS 'the certificate''s id, or the attempt''s that was graded again';
COMMENT ON COLUMN proctor.flake.verdict IS 'NULL: the verifier gave none';

CREATE TABLE proctor.quarantine (
    tenant_id UUID NOT NULL,
    agent_digest TEXT NOT NULL,
    verifier_digest TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    source TEXT NOT NULL,
    CONSTRAINT pk_quarantine PRIMARY KEY (tenant_id, agent_digest, verifier_digest, at),
    CONSTRAINT ck_quarantine_state CHECK (state IN ('quarantined', 'released'))
);
COMMENT ON COLUMN proctor.quarantine.at IS 'until the next row of the same task';
COMMENT ON COLUMN proctor.quarantine.source IS 'what said so, such as certificate and its id';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.certificate ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.certificate FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.certificate USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.flake ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.flake FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.flake USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.quarantine ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.quarantine FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.quarantine USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

-- Facts are only ever added to.
GRANT SELECT, INSERT ON proctor.certificate, proctor.flake, proctor.quarantine TO proctor_app, proctor_scheduler;
