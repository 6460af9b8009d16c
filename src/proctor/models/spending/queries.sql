-- name: slice_of
-- A slice that was drawn already: a draw may be repeated when it is not known whether it was committed.
SELECT accounts, amount_nano FROM proctor.budget_slice WHERE tenant_id = :tenant AND id = :slice;

-- name: open_accounts
-- Accounts that are not there yet begin with what the ledger has of theirs. Whoever adds to the ledger opens its accounts
-- first, so that no sum is taken while a row of it is being written. In the one order in which accounts are ever locked.
INSERT INTO proctor.budget_account (tenant_id, kind, key, period, spent_nano)
SELECT :tenant, a.kind, a.key, a.period,
       (SELECT coalesce(sum(l.nano), 0)::bigint FROM proctor.ledger l
        WHERE l.tenant_id = :tenant
          AND (a.since IS NULL OR (l.created_at >= a.since AND l.created_at < a.since + interval '1 month'))
          AND CASE a.kind WHEN 'tenant' THEN true
                          WHEN 'user' THEN l.user_id = a.key
                          ELSE l.run_set_id = a.run_set AND (a.kind = 'run_set' OR l.profile = substr(a.key, 38)) END)
FROM (SELECT r.kind, r.key, r.period,
             CASE WHEN r.period <> '' THEN (r.period || '-01 00:00:00+00')::timestamptz END AS since,
             CASE WHEN r.kind IN ('run_set', 'profile') THEN left(r.key, 36)::uuid END AS run_set
      FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (kind text, key text, period text)) a
ORDER BY a.kind, a.key, a.period
ON CONFLICT DO NOTHING;

-- name: lock_accounts
SELECT a.kind, a.key, a.period, a.spent_nano, a.held_nano
FROM proctor.budget_account a
JOIN jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (kind text, key text, period text)
  ON a.kind = r.kind AND a.key = r.key AND a.period = r.period
WHERE a.tenant_id = :tenant
ORDER BY a.kind, a.key, a.period
FOR UPDATE OF a;

-- name: move_accounts
UPDATE proctor.budget_account a
SET spent_nano = a.spent_nano + r.spent, held_nano = a.held_nano + r.held
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (kind text, key text, period text, spent bigint, held bigint)
WHERE a.tenant_id = :tenant AND a.kind = r.kind AND a.key = r.key AND a.period = r.period;

-- name: insert_slice
INSERT INTO proctor.budget_slice (tenant_id, id, process, host, pid, process_started, accounts, amount_nano)
VALUES (:tenant, :slice, :process, :host, :pid, :started, CAST(:accounts AS jsonb), :amount);

-- name: shrink_slices
-- To an amount, not by one, so that a repeat changes nothing; what each gave back.
WITH before AS (
    SELECT s.id, s.accounts, s.amount_nano, least(s.amount_nano, r.amount) AS left_nano
    FROM proctor.budget_slice s
    JOIN jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id uuid, amount bigint) ON s.id = r.id
    WHERE s.tenant_id = :tenant
    FOR UPDATE OF s
), changed AS (
    UPDATE proctor.budget_slice s SET amount_nano = b.left_nano FROM before b
    WHERE s.tenant_id = :tenant AND s.id = b.id AND s.amount_nano <> b.left_nano
)
SELECT accounts, amount_nano - left_nano AS freed FROM before WHERE amount_nano <> left_nano;

-- name: drop_slices
DELETE FROM proctor.budget_slice
WHERE tenant_id = :tenant AND id = ANY(CAST(:slices AS uuid[])) AND amount_nano = 0;

-- name: insert_calls
-- Those that are new: another row for the same call or the same reservation changes nothing.
INSERT INTO proctor.model_call (
    tenant_id, id, reservation, run_set_id, attempt_id, profile, user_id, purpose, wire, provider, model, answered, key,
    ended_as, http_status, code, tries, started_at, seconds, first_byte_sec, input_tokens, cache_read_tokens,
    cache_write_tokens, output_tokens, reasoning_tokens, cost_nano, reserved_nano, charged_nano, price_version, overrun)
SELECT :tenant, r.id, r.reservation, r.run_set_id, r.attempt_id, r.profile, r.user_id, r.purpose, r.wire, r.provider,
       r.model, r.answered, r.key, r.ended_as, r.http_status, r.code, r.tries, r.started_at, r.seconds,
       r.first_byte_sec, r.input_tokens, r.cache_read_tokens, r.cache_write_tokens, r.output_tokens, r.reasoning_tokens,
       r.cost_nano, r.reserved_nano, r.charged_nano, r.price_version, r.overrun
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
    id uuid, reservation uuid, run_set_id uuid, attempt_id uuid, profile text, user_id text, purpose text, wire text,
    provider text, model text, answered text, key text, ended_as text, http_status int, code text, tries int,
    started_at timestamptz, seconds float, first_byte_sec float, input_tokens bigint, cache_read_tokens bigint,
    cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, cost_nano bigint, reserved_nano bigint,
    charged_nano bigint, price_version text, overrun boolean)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: contradicted_calls
-- Calls that are written already, and otherwise.
SELECT r.id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
    id uuid, reservation uuid, attempt_id uuid, ended_as text, started_at timestamptz, charged_nano bigint)
LEFT JOIN proctor.model_call c ON c.tenant_id = :tenant AND c.id = r.id
WHERE r.id = ANY(CAST(:ids AS uuid[]))
  AND (c.reservation, c.attempt_id, c.ended_as, c.started_at, c.charged_nano)
      IS DISTINCT FROM (r.reservation, r.attempt_id, r.ended_as, r.started_at, r.charged_nano);

-- name: insert_call_money
-- What was charged, under the call's own id, within the month whose budgets paid; an attempt that is not there is none.
INSERT INTO proctor.ledger (tenant_id, id, run_set_id, attempt_id, price_version, nano, profile, user_id, created_at)
SELECT :tenant, r.id, r.run_set_id, a.id, r.price_version, r.charged_nano, r.profile, r.user_id,
       CASE WHEN r.period = '' THEN now() ELSE
           greatest((r.period || '-01 00:00:00+00')::timestamptz,
                    least(now(), (r.period || '-01 00:00:00+00')::timestamptz
                                 + interval '1 month' - interval '1 microsecond')) END
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
    id uuid, run_set_id uuid, attempt_id uuid, profile text, user_id text, charged_nano bigint, price_version text,
    period text)
LEFT JOIN proctor.attempt a ON a.tenant_id = :tenant AND a.id = r.attempt_id
WHERE r.charged_nano > 0 AND r.id = ANY(CAST(:ids AS uuid[]));

-- name: insert_reported
-- What an agent said that its attempt had cost, where none of its calls came by us; those that are new.
INSERT INTO proctor.ledger (tenant_id, id, run_set_id, attempt_id, price_version, nano, profile, user_id)
SELECT :tenant, r.id, r.run_set_id, r.attempt_id, 'reported', r.nano, r.profile, r.user_id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (
    id uuid, run_set_id uuid, attempt_id uuid, nano bigint, profile text, user_id text)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: slices_of_process
SELECT id, accounts, amount_nano FROM proctor.budget_slice WHERE tenant_id = :tenant AND process = :process;

-- name: open_slices
-- By process, the oldest first: an operator releases those of machines that will not come back.
SELECT process, host, pid, process_started, count(*) AS slices, sum(amount_nano)::bigint AS amount_nano,
       min(drawn_at) AS drawn_at
FROM proctor.budget_slice WHERE tenant_id = :tenant
GROUP BY process, host, pid, process_started
ORDER BY min(drawn_at), process;

-- name: called_lately
-- Calls that were written down within the window, of those that were begun within its reach: ids sort by their birth, so
-- the rest of a tenant's millions is not looked at.
SELECT provider, ended_as, purpose, count(*) AS calls,
       coalesce(sum(input_tokens), 0)::bigint AS input_tokens,
       coalesce(sum(cache_read_tokens), 0)::bigint AS cache_read_tokens,
       coalesce(sum(cache_write_tokens), 0)::bigint AS cache_write_tokens,
       coalesce(sum(output_tokens), 0)::bigint AS output_tokens,
       coalesce(sum(reasoning_tokens), 0)::bigint AS reasoning_tokens,
       coalesce(sum(cost_nano), 0)::bigint AS cost_nano,
       count(*) FILTER (WHERE cost_nano IS NULL) AS unpriced,
       count(*) FILTER (WHERE overrun) AS overruns
FROM proctor.model_call
WHERE tenant_id = :tenant
  AND id >= (lpad(to_hex(floor(extract(epoch FROM now() - make_interval(secs => :reach)) * 1000)::bigint), 12, '0')
             || repeat('0', 20))::uuid
  AND written_at > now() - make_interval(secs => :window)
GROUP BY provider, ended_as, purpose
ORDER BY provider, ended_as, purpose;
