-- Budgets that can't be overspent, and the calls that they are spent on. Frozen: later revisions change it, this file
-- never does again.

-- One budget in one period, and what of it is gone. Its limit is elsewhere and may change; what is spent may not.
CREATE TABLE proctor.budget_account (
    tenant_id UUID NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    spent_nano BIGINT NOT NULL,
    held_nano BIGINT DEFAULT 0 NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_budget_account PRIMARY KEY (tenant_id, kind, key, period),
    CONSTRAINT ck_budget_account_kind CHECK (kind IN ('tenant', 'user', 'run_set', 'profile')),
    CONSTRAINT ck_budget_account_spent CHECK (spent_nano >= 0),
    CONSTRAINT ck_budget_account_held CHECK (held_nano >= 0)
);
COMMENT ON COLUMN proctor.budget_account.period IS 'a month of UTC such as 2026-12; empty: all time';
COMMENT ON COLUMN proctor.budget_account.spent_nano IS 'the sum of the ledger';
COMMENT ON COLUMN proctor.budget_account.held_nano IS 'the sum of the slices';

-- What a process holds of several accounts at once, for calls that it has not made yet or that have not ended.
CREATE TABLE proctor.budget_slice (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    process UUID NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_started TIMESTAMP WITH TIME ZONE NOT NULL,
    accounts JSONB NOT NULL,
    amount_nano BIGINT NOT NULL,
    drawn_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_budget_slice PRIMARY KEY (tenant_id, id),
    CONSTRAINT ck_budget_slice_amount CHECK (amount_nano >= 0)
);
CREATE INDEX ix_budget_slice_tenant_id_process ON proctor.budget_slice (tenant_id, process);
COMMENT ON COLUMN proctor.budget_slice.process IS 'whose journal tells what became of it';
COMMENT ON COLUMN proctor.budget_slice.accounts IS 'kind, key and period of each';

-- Every call of a model: what a reader may want to know of it.
CREATE TABLE proctor.model_call (
    tenant_id UUID NOT NULL,
    id UUID NOT NULL,
    reservation UUID NOT NULL,
    run_set_id UUID,
    attempt_id UUID,
    profile TEXT NOT NULL,
    user_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    wire TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    answered TEXT NOT NULL,
    key TEXT NOT NULL,
    ended_as TEXT NOT NULL,
    http_status INTEGER,
    code TEXT NOT NULL,
    tries INTEGER NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE NOT NULL,
    seconds FLOAT NOT NULL,
    first_byte_sec FLOAT,
    input_tokens BIGINT,
    cache_read_tokens BIGINT,
    cache_write_tokens BIGINT,
    output_tokens BIGINT,
    reasoning_tokens BIGINT,
    cost_nano BIGINT,
    reserved_nano BIGINT,
    charged_nano BIGINT,
    price_version TEXT NOT NULL,
    overrun BOOLEAN NOT NULL,
    written_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT pk_model_call PRIMARY KEY (tenant_id, id),
    CONSTRAINT uq_model_call_tenant_id_reservation UNIQUE (tenant_id, reservation)
);
COMMENT ON COLUMN proctor.model_call.reservation IS 'one call ends each';
COMMENT ON COLUMN proctor.model_call.user_id IS 'as the payer named it; empty: this machine''s own';
COMMENT ON COLUMN proctor.model_call.cost_nano IS 'NULL: not known';
COMMENT ON COLUMN proctor.model_call.charged_nano IS 'what the budgets count: the cost, or what was reserved where it is not known';
-- Partial, so that no check of a key can take them for its own.
CREATE INDEX ix_model_call_attempt ON proctor.model_call (tenant_id, attempt_id, id) WHERE attempt_id IS NOT NULL;
CREATE INDEX ix_model_call_run_set ON proctor.model_call (tenant_id, run_set_id, id) WHERE run_set_id IS NOT NULL;

-- A call may belong to no attempt and to no run set; who paid is known of each new row. Older programs go on as before.
ALTER TABLE proctor.ledger ALTER COLUMN run_set_id DROP NOT NULL;
ALTER TABLE proctor.ledger ALTER COLUMN attempt_id DROP NOT NULL;
ALTER TABLE proctor.ledger ADD COLUMN profile TEXT;
ALTER TABLE proctor.ledger ADD COLUMN user_id TEXT;
COMMENT ON COLUMN proctor.ledger.profile IS 'NULL: from before it was kept';
COMMENT ON COLUMN proctor.ledger.user_id IS 'NULL: from before it was kept';

-- What a user of a tenant may spend in a month.
CREATE TABLE proctor.user_budget (
    tenant_id UUID NOT NULL,
    user_id UUID NOT NULL,
    month_nano BIGINT NOT NULL,
    CONSTRAINT pk_user_budget PRIMARY KEY (tenant_id, user_id),
    CONSTRAINT ck_user_budget_month CHECK (month_nano >= 0),
    CONSTRAINT fk_user_budget_tenant_id_user_id FOREIGN KEY(tenant_id, user_id)
        REFERENCES proctor.tenant_user (tenant_id, id)
);

-- Room in the rates of providers' keys, which may be the installation's own: no tenant's rows, and nothing secret.
CREATE TABLE proctor.rate_bucket (
    owner TEXT NOT NULL,
    provider TEXT NOT NULL,
    key TEXT NOT NULL,
    requests FLOAT NOT NULL,
    tokens FLOAT NOT NULL,
    filled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    rests_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_rate_bucket PRIMARY KEY (owner, provider, key)
);
COMMENT ON COLUMN proctor.rate_bucket.owner IS 'whose key it is';
COMMENT ON COLUMN proctor.rate_bucket.key IS 'the name of the key, never its value';
COMMENT ON COLUMN proctor.rate_bucket.requests IS 'that may still be made, at the time it was filled';
COMMENT ON COLUMN proctor.rate_bucket.rests_until IS 'its provider said that there was too much';

-- Rows are the tenant's that the transaction named.
ALTER TABLE proctor.budget_account ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.budget_account FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.budget_account
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.budget_slice ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.budget_slice FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.budget_slice
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.model_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.model_call FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.model_call
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
ALTER TABLE proctor.user_budget ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.user_budget FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.user_budget
    USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);

GRANT SELECT, INSERT, UPDATE ON proctor.budget_account TO proctor_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.budget_slice, proctor.user_budget TO proctor_app;
-- A call that was made was made.
GRANT SELECT, INSERT ON proctor.model_call TO proctor_app, proctor_scheduler;
GRANT SELECT, INSERT, UPDATE ON proctor.rate_bucket TO proctor_scheduler;
