-- The first schema. Frozen: later revisions change it, this file never does again.
--
-- Every tenant-owned table has tenant_id first in every key, and row-level security enabled and forced: a session
-- that set no tenant sees no row. The application role gets only what it needs: tables of facts are append-only.

CREATE TABLE proctor.alias (
    tenant_id UUID NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    target TEXT NOT NULL,
    source TEXT NOT NULL,
    CONSTRAINT pk_alias PRIMARY KEY (tenant_id, kind, name, valid_from)
);
COMMENT ON COLUMN proctor.alias.kind IS 'what the label is of: suite';
COMMENT ON COLUMN proctor.alias.valid_from IS 'until the next row of the same name';
COMMENT ON COLUMN proctor.alias.source IS 'who or what set it';

CREATE SEQUENCE proctor.queue_token;

CREATE TABLE proctor.configuration (
    tenant_id UUID NOT NULL,
    hash TEXT NOT NULL,
    document JSONB NOT NULL,
    origin TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_configuration PRIMARY KEY (tenant_id, hash)
);
COMMENT ON COLUMN proctor.configuration.document IS 'everything that can change a result, canonical';

CREATE TABLE proctor.event (
    tenant_id UUID NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    id UUID NOT NULL,
    txid BIGINT DEFAULT pg_current_xact_id()::text::bigint NOT NULL,
    name TEXT NOT NULL,
    subject UUID NOT NULL,
    trace_id TEXT NOT NULL,
    payload JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    published_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_event PRIMARY KEY (tenant_id, seq),
    CONSTRAINT uq_event_tenant_id_id UNIQUE (tenant_id, id)
);
CREATE INDEX ix_event_published_at ON proctor.event (published_at) WHERE published_at IS NOT NULL;
CREATE INDEX ix_event_txid_seq ON proctor.event (txid, seq) WHERE published_at IS NULL;

CREATE TABLE proctor.queue_item (
    tenant_id UUID NOT NULL,
    kind TEXT NOT NULL,
    id UUID NOT NULL,
    provider TEXT DEFAULT '' NOT NULL,
    band SMALLINT NOT NULL,
    state TEXT DEFAULT 'pending' NOT NULL,
    holders JSONB NOT NULL,
    expected_sec FLOAT DEFAULT '0' NOT NULL,
    run_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    enqueued_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    deadline TIMESTAMP WITH TIME ZONE,
    need JSONB DEFAULT '{}' NOT NULL,
    payload TEXT DEFAULT '' NOT NULL,
    picks INTEGER DEFAULT '0' NOT NULL,
    tries INTEGER DEFAULT '0' NOT NULL,
    losses INTEGER DEFAULT '0' NOT NULL,
    losses_alone INTEGER DEFAULT '0' NOT NULL,
    alone BOOLEAN DEFAULT false NOT NULL,
    worker_id UUID,
    token BIGINT,
    lease_until TIMESTAMP WITH TIME ZONE,
    served_band SMALLINT,
    reason TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_queue_item PRIMARY KEY (tenant_id, kind, id),
    CONSTRAINT ck_queue_item_state CHECK (state IN ('pending', 'waiting', 'claimed', 'paused', 'dead')),
    CONSTRAINT ck_queue_item_band CHECK (band BETWEEN 0 AND 3),
    CONSTRAINT ck_queue_item_claimed_has_token CHECK ((state = 'claimed') = (token IS NOT NULL))
)
 PARTITION BY LIST (kind);
CREATE INDEX ix_queue_item_kind_deadline ON proctor.queue_item (kind, deadline) WHERE state IN ('pending', 'waiting') AND deadline IS NOT NULL;
CREATE INDEX ix_queue_item_kind_enqueued_at ON proctor.queue_item (kind, enqueued_at) WHERE state = 'pending' AND losses >= 2;
CREATE INDEX ix_queue_item_kind_run_at ON proctor.queue_item (kind, run_at) WHERE state = 'waiting';
CREATE INDEX ix_queue_item_tenant_id_kind_id ON proctor.queue_item (tenant_id, kind, id) WHERE state = 'dead';
CREATE INDEX ix_queue_item_tenant_id_kind_provider_band_enqueued_at ON proctor.queue_item (tenant_id, kind, provider, band, enqueued_at) WITH (deduplicate_items = off) WHERE state = 'pending';
CREATE INDEX ix_queue_item_tenant_id_kind_provider_band_run_at ON proctor.queue_item (tenant_id, kind, provider, band, expected_sec DESC, run_at) WITH (deduplicate_items = off) WHERE state = 'pending';
CREATE INDEX ix_queue_item_worker_id ON proctor.queue_item (worker_id) WHERE state = 'claimed';
COMMENT ON COLUMN proctor.queue_item.id IS 'derived from what it is about, so it is also the dedupe key';
COMMENT ON COLUMN proctor.queue_item.band IS '0 critical, 1 high, 2 normal, 3 low';
COMMENT ON COLUMN proctor.queue_item.holders IS 'who wants it: {holder id: band, null: not now}';
COMMENT ON COLUMN proctor.queue_item.tries IS 'faults of its own so far';
COMMENT ON COLUMN proctor.queue_item.worker_id IS 'who runs it; on a pending suspect, who is to run it alone';
COMMENT ON COLUMN proctor.queue_item.served_band IS 'the effective band it was claimed in';

CREATE TABLE proctor.queue_lane (
    tenant_id UUID NOT NULL,
    kind TEXT NOT NULL,
    provider TEXT NOT NULL,
    paused BOOLEAN DEFAULT false NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    closed_until TIMESTAMP WITH TIME ZONE,
    failures INTEGER DEFAULT '0' NOT NULL,
    max_running INTEGER,
    CONSTRAINT pk_queue_lane PRIMARY KEY (tenant_id, kind, provider)
);
COMMENT ON COLUMN proctor.queue_lane.closed_until IS 'its breaker is open until then, then one probe';
COMMENT ON COLUMN proctor.queue_lane.failures IS 'breaker failures in a row';
COMMENT ON COLUMN proctor.queue_lane.max_running IS 'NULL: no limit';

CREATE TABLE proctor.queue_share (
    tenant_id UUID NOT NULL,
    kind TEXT NOT NULL,
    weight FLOAT DEFAULT '1' NOT NULL,
    over_quota BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_queue_share PRIMARY KEY (tenant_id, kind),
    CONSTRAINT ck_queue_share_weight CHECK (weight > 0)
);

CREATE TABLE proctor.queue_service (
    tenant_id UUID NOT NULL,
    kind TEXT NOT NULL,
    band SMALLINT NOT NULL,
    served FLOAT NOT NULL,
    started FLOAT NOT NULL,
    CONSTRAINT pk_queue_service PRIMARY KEY (tenant_id, kind, band),
    CONSTRAINT ck_queue_service_band CHECK (band BETWEEN 0 AND 3)
) WITH (fillfactor = 50);
COMMENT ON COLUMN proctor.queue_service.served IS 'service received per weight: virtual time of its next row';
COMMENT ON COLUMN proctor.queue_service.started IS 'virtual time its last row was served at';

CREATE TABLE proctor.suite (
    tenant_id UUID NOT NULL,
    suite_id TEXT NOT NULL,
    task_count INTEGER NOT NULL,
    source TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_suite PRIMARY KEY (tenant_id, suite_id),
    CONSTRAINT ck_suite_task_count CHECK (task_count > 0)
);
COMMENT ON COLUMN proctor.suite.suite_id IS 'sha256 over the sorted content digests';
COMMENT ON COLUMN proctor.suite.source IS 'where it was first imported from';

CREATE TABLE proctor.task (
    tenant_id UUID NOT NULL,
    content_digest TEXT NOT NULL,
    agent_digest TEXT NOT NULL,
    verifier_digest TEXT NOT NULL,
    name TEXT NOT NULL,
    config JSONB,
    problem JSONB,
    archive_key TEXT,
    archive_sha256 TEXT,
    archive_size BIGINT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_task PRIMARY KEY (tenant_id, content_digest),
    CONSTRAINT ck_task_usable CHECK ((problem IS NULL) = (config IS NOT NULL)),
    CONSTRAINT ck_task_archive CHECK ((config IS NULL AND num_nonnulls(archive_key, archive_sha256, archive_size) = 0) OR (config IS NOT NULL AND num_nulls(archive_key, archive_sha256, archive_size) = 0))
);
COMMENT ON COLUMN proctor.task.name IS 'a label: the name it was first imported under';
COMMENT ON COLUMN proctor.task.config IS 'the task with every default filled in; NULL: malformed';
COMMENT ON COLUMN proctor.task.problem IS '[{file, field, reason}]; NULL: none';

CREATE TABLE proctor.tenant (
    tenant_id UUID NOT NULL,
    name TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_tenant PRIMARY KEY (tenant_id),
    CONSTRAINT uq_tenant_name UNIQUE (name)
);

CREATE TABLE proctor.worker (
    id UUID NOT NULL,
    host TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_started BIGINT NOT NULL,
    slots INTEGER NOT NULL,
    seen_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_worker PRIMARY KEY (id)
);
COMMENT ON COLUMN proctor.worker.process_started IS 'clock ticks since boot: a reused pid has others';

CREATE TABLE proctor.cell (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    configuration TEXT NOT NULL,
    agent_digest TEXT NOT NULL,
    verifier_digest TEXT NOT NULL,
    trial INTEGER NOT NULL,
    CONSTRAINT pk_cell PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_cell_tenant_id_configuration_agent_digest_verifier_d_f2f4 UNIQUE (tenant_id, configuration, agent_digest, verifier_digest, trial),
    CONSTRAINT ck_cell_trial CHECK (trial > 0),
    CONSTRAINT fk_cell_tenant_id_configuration FOREIGN KEY(tenant_id, configuration) REFERENCES proctor.configuration (tenant_id, hash)
);

CREATE TABLE proctor.run_set (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    name TEXT NOT NULL,
    spec_digest TEXT NOT NULL,
    suite_id TEXT NOT NULL,
    continued INTEGER DEFAULT '0' NOT NULL,
    spec JSONB NOT NULL,
    policy_version TEXT NOT NULL,
    reuse_sec BIGINT,
    state TEXT DEFAULT 'running' NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    trace_id TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_run_set PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_run_set_tenant_id_name_spec_digest_suite_id_continued UNIQUE (tenant_id, name, spec_digest, suite_id, continued),
    CONSTRAINT ck_run_set_state CHECK (state IN ('running', 'complete', 'complete_with_gaps', 'paused', 'cancelled')),
    CONSTRAINT fk_run_set_tenant_id_suite_id FOREIGN KEY(tenant_id, suite_id) REFERENCES proctor.suite (tenant_id, suite_id)
);
COMMENT ON COLUMN proctor.run_set.spec_digest IS 'sha256 of the file as written';
COMMENT ON COLUMN proctor.run_set.continued IS 'counts --new of the same file';
COMMENT ON COLUMN proctor.run_set.reuse_sec IS 'NULL: off';

CREATE TABLE proctor.suite_task (
    tenant_id UUID NOT NULL,
    suite_id TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    position INTEGER NOT NULL,
    CONSTRAINT pk_suite_task PRIMARY KEY (tenant_id, suite_id, content_digest),
    CONSTRAINT fk_suite_task_tenant_id_suite_id FOREIGN KEY(tenant_id, suite_id) REFERENCES proctor.suite (tenant_id, suite_id),
    CONSTRAINT fk_suite_task_tenant_id_content_digest FOREIGN KEY(tenant_id, content_digest) REFERENCES proctor.task (tenant_id, content_digest)
);
CREATE INDEX ix_suite_task_tenant_id_content_digest ON proctor.suite_task (tenant_id, content_digest);

CREATE TABLE proctor.attempt (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    cell_id UUID NOT NULL,
    number INTEGER NOT NULL,
    run_set_id UUID NOT NULL,
    content_digest TEXT NOT NULL,
    token BIGINT NOT NULL,
    worker_id UUID NOT NULL,
    backend TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    last_segment INTEGER DEFAULT '0' NOT NULL,
    limits JSONB DEFAULT '{}' NOT NULL,
    usage JSONB,
    artifacts JSONB DEFAULT '[]' NOT NULL,
    CONSTRAINT pk_attempt PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_attempt_tenant_id_cell_id_number UNIQUE (tenant_id, cell_id, number),
    CONSTRAINT fk_attempt_tenant_id_cell_id FOREIGN KEY(tenant_id, cell_id) REFERENCES proctor.cell (tenant_id, id),
    CONSTRAINT fk_attempt_tenant_id_run_set_id FOREIGN KEY(tenant_id, run_set_id) REFERENCES proctor.run_set (tenant_id, id)
);
CREATE INDEX ix_attempt_running ON proctor.attempt (tenant_id, run_set_id) WHERE ended_at IS NULL;
COMMENT ON COLUMN proctor.attempt.run_set_id IS 'the run set that pays';
COMMENT ON COLUMN proctor.attempt.usage IS 'NULL: unknown';

CREATE TABLE proctor.expected_cell (
    tenant_id UUID NOT NULL,
    run_set_id UUID NOT NULL,
    cell_id UUID NOT NULL,
    profile INTEGER NOT NULL,
    content_digest TEXT NOT NULL,
    reused BOOLEAN NOT NULL,
    withdrawn_at TIMESTAMP WITH TIME ZONE,
    reason TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_expected_cell PRIMARY KEY (tenant_id, run_set_id, cell_id),
    CONSTRAINT fk_expected_cell_tenant_id_run_set_id FOREIGN KEY(tenant_id, run_set_id) REFERENCES proctor.run_set (tenant_id, id),
    CONSTRAINT fk_expected_cell_tenant_id_cell_id FOREIGN KEY(tenant_id, cell_id) REFERENCES proctor.cell (tenant_id, id),
    CONSTRAINT fk_expected_cell_tenant_id_content_digest FOREIGN KEY(tenant_id, content_digest) REFERENCES proctor.task (tenant_id, content_digest)
);
CREATE INDEX ix_expected_cell_tenant_id_cell_id ON proctor.expected_cell (tenant_id, cell_id);
COMMENT ON COLUMN proctor.expected_cell.profile IS 'position in run_set_profile';
COMMENT ON COLUMN proctor.expected_cell.reused IS 'decided before this run set asked';

CREATE TABLE proctor.leaderboard_entry (
    tenant_id UUID NOT NULL,
    suite_id TEXT NOT NULL,
    configuration TEXT NOT NULL,
    revision INTEGER NOT NULL,
    run_set_id UUID NOT NULL,
    profile TEXT NOT NULL,
    series TEXT NOT NULL,
    policy_version TEXT NOT NULL,
    counts JSONB NOT NULL,
    comparable BOOLEAN NOT NULL,
    reasons JSONB NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_leaderboard_entry PRIMARY KEY (tenant_id, suite_id, configuration, revision),
    CONSTRAINT fk_leaderboard_entry_tenant_id_run_set_id FOREIGN KEY(tenant_id, run_set_id) REFERENCES proctor.run_set (tenant_id, id)
);
CREATE INDEX ix_leaderboard_entry_tenant_id_series_created_at ON proctor.leaderboard_entry (tenant_id, series, created_at);

CREATE TABLE proctor.run_set_profile (
    tenant_id UUID NOT NULL,
    run_set_id UUID NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    series TEXT NOT NULL,
    configuration TEXT NOT NULL,
    routing JSONB NOT NULL,
    CONSTRAINT pk_run_set_profile PRIMARY KEY (tenant_id, run_set_id, position),
    CONSTRAINT uq_run_set_profile_tenant_id_run_set_id_name UNIQUE (tenant_id, run_set_id, name),
    CONSTRAINT fk_run_set_profile_tenant_id_run_set_id FOREIGN KEY(tenant_id, run_set_id) REFERENCES proctor.run_set (tenant_id, id),
    CONSTRAINT fk_run_set_profile_tenant_id_configuration FOREIGN KEY(tenant_id, configuration) REFERENCES proctor.configuration (tenant_id, hash)
);
COMMENT ON COLUMN proctor.run_set_profile.routing IS 'what runs it and changes no result';

CREATE TABLE proctor.evidence (
    tenant_id UUID NOT NULL,
    attempt_id UUID NOT NULL,
    seq INTEGER NOT NULL,
    phase TEXT NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
    detail JSONB NOT NULL,
    CONSTRAINT pk_evidence PRIMARY KEY (tenant_id, attempt_id, seq),
    CONSTRAINT fk_evidence_tenant_id_attempt_id FOREIGN KEY(tenant_id, attempt_id) REFERENCES proctor.attempt (tenant_id, id)
);

CREATE TABLE proctor.grading (
    tenant_id UUID NOT NULL,
    attempt_id UUID NOT NULL,
    verifier_digest TEXT NOT NULL,
    number INTEGER NOT NULL,
    mode TEXT NOT NULL,
    backend TEXT NOT NULL,
    forgeable BOOLEAN NOT NULL,
    rewards JSONB,
    detail JSONB NOT NULL,
    graded_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_grading PRIMARY KEY (tenant_id, attempt_id, verifier_digest, number),
    CONSTRAINT fk_grading_tenant_id_attempt_id FOREIGN KEY(tenant_id, attempt_id) REFERENCES proctor.attempt (tenant_id, id)
);
COMMENT ON COLUMN proctor.grading.rewards IS 'NULL: the verifier left none';

CREATE TABLE proctor.ledger (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    run_set_id UUID NOT NULL,
    attempt_id UUID NOT NULL,
    price_version TEXT NOT NULL,
    nano BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_ledger PRIMARY KEY (tenant_id, id),
    CONSTRAINT fk_ledger_tenant_id_attempt_id FOREIGN KEY(tenant_id, attempt_id) REFERENCES proctor.attempt (tenant_id, id)
);
CREATE INDEX ix_ledger_tenant_id_run_set_id ON proctor.ledger (tenant_id, run_set_id);

CREATE TABLE proctor.outcome (
    tenant_id UUID NOT NULL,
    attempt_id UUID NOT NULL,
    grading INTEGER NOT NULL,
    policy_version TEXT NOT NULL,
    class TEXT NOT NULL,
    owner TEXT NOT NULL,
    rule TEXT NOT NULL,
    verdict BOOLEAN,
    "limit" TEXT DEFAULT '' NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_outcome PRIMARY KEY (tenant_id, attempt_id, grading, policy_version),
    CONSTRAINT fk_outcome_tenant_id_attempt_id FOREIGN KEY(tenant_id, attempt_id) REFERENCES proctor.attempt (tenant_id, id)
);
COMMENT ON COLUMN proctor.outcome.grading IS '0: not graded';
COMMENT ON COLUMN proctor.outcome.verdict IS 'NULL: no verdict, which is not a fail';

CREATE TABLE proctor.result (
    tenant_id UUID NOT NULL,
    cell_id UUID NOT NULL,
    policy_version TEXT NOT NULL,
    attempt_id UUID NOT NULL,
    grading INTEGER NOT NULL,
    class TEXT NOT NULL,
    verdict BOOLEAN NOT NULL,
    reward FLOAT,
    decided_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_result PRIMARY KEY (tenant_id, cell_id, policy_version),
    CONSTRAINT fk_result_tenant_id_cell_id FOREIGN KEY(tenant_id, cell_id) REFERENCES proctor.cell (tenant_id, id),
    CONSTRAINT fk_result_tenant_id_attempt_id FOREIGN KEY(tenant_id, attempt_id) REFERENCES proctor.attempt (tenant_id, id)
);

-- One partition a kind, so that a flood of one never bloats the indexes of another.
CREATE TABLE proctor.queue_item_cell PARTITION OF proctor.queue_item FOR VALUES IN ('cell')
    WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE proctor.queue_item_chunk PARTITION OF proctor.queue_item FOR VALUES IN ('chunk')
    WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE proctor.queue_item_delivery PARTITION OF proctor.queue_item FOR VALUES IN ('delivery')
    WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE proctor.queue_item_step PARTITION OF proctor.queue_item FOR VALUES IN ('step')
    WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.alias ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.alias FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.alias USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.configuration ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.configuration FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.configuration USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.event FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.event USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.queue_item ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.queue_item USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.queue_lane ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_lane FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.queue_lane USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.queue_share ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_share FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.queue_share USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.queue_service ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_service FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.queue_service USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.suite ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.suite FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.suite USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.task ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.task USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.tenant FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.tenant USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.cell ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.cell FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.cell USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.run_set ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.run_set FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.run_set USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.suite_task ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.suite_task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.suite_task USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.attempt ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.attempt FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.attempt USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.expected_cell ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.expected_cell FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.expected_cell USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.leaderboard_entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.leaderboard_entry FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.leaderboard_entry USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.run_set_profile ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.run_set_profile FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.run_set_profile USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.evidence ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.evidence FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.evidence USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.grading ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.grading FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.grading USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.ledger ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.ledger FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.ledger USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.outcome ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.outcome FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.outcome USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.result ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.result FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.result USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.queue_item_cell ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_cell FORCE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_chunk FORCE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_delivery ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_delivery FORCE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_step ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.queue_item_step FORCE ROW LEVEL SECURITY;

-- The scheduler sees all tenants, through explicit policies on the queue's tables only.
CREATE POLICY scheduler ON proctor.queue_item TO proctor_scheduler USING (true) WITH CHECK (true);
CREATE POLICY scheduler ON proctor.queue_lane TO proctor_scheduler USING (true) WITH CHECK (true);
CREATE POLICY scheduler ON proctor.queue_share TO proctor_scheduler USING (true) WITH CHECK (true);
CREATE POLICY scheduler ON proctor.queue_service TO proctor_scheduler USING (true) WITH CHECK (true);
-- The outbox is a queue too: relays read, mark and prune it for all tenants, and write one as a tenant only.
CREATE POLICY relay_reads ON proctor.event FOR SELECT TO proctor_scheduler USING (true);
CREATE POLICY relay_marks ON proctor.event FOR UPDATE TO proctor_scheduler USING (true) WITH CHECK (true);
CREATE POLICY relay_prunes ON proctor.event FOR DELETE TO proctor_scheduler USING (published_at IS NOT NULL);

-- Facts are only ever added to.
GRANT SELECT, INSERT ON proctor.alias, proctor.configuration, proctor.suite, proctor.task, proctor.suite_task, proctor.run_set_profile, proctor.cell, proctor.evidence, proctor.grading, proctor.outcome, proctor.result, proctor.leaderboard_entry, proctor.ledger
    TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT, UPDATE ON proctor.run_set, proctor.expected_cell, proctor.attempt, proctor.tenant
    TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT ON proctor.event TO proctor_app, proctor_scheduler;
GRANT UPDATE (published_at), DELETE ON proctor.event TO proctor_scheduler;
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.queue_item, proctor.queue_lane, proctor.queue_share, proctor.queue_service
    TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.worker TO proctor_scheduler;
GRANT USAGE ON SEQUENCE proctor.queue_token TO proctor_app, proctor_scheduler;
GRANT SELECT ON proctor.alembic_version TO proctor_app, proctor_scheduler;

-- Tables that grow from nothing to thousands of rows in a minute: until the planner has statistics, every index that
-- begins with the tenant looks alike to it, and it was seen to check foreign keys by reading all of a tenant's
-- attempts, and to take seconds over a leaderboard of 10,000 cells. Autovacuum comes too late for the first minute of
-- the first run, so a worker asks for statistics itself.
CREATE FUNCTION proctor.refresh_statistics() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog
    AS $$ BEGIN
        ANALYZE proctor.attempt, proctor.cell, proctor.expected_cell, proctor.evidence, proctor.outcome, proctor.result;
    END $$;
GRANT EXECUTE ON FUNCTION proctor.refresh_statistics() TO proctor_app, proctor_scheduler;
