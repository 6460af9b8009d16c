-- The queue's statements. Every one that changes a claimed row carries its id and its fencing token.

-- name: lock_claims
-- Claims of a kind are taken one at a time: the claimer is the planner, so counts it sees under READ COMMITTED
-- (statements after the lock) are exact and limits hold.
SELECT pg_advisory_xact_lock(hashtextextended('proctor.queue.' || :kind, 0));

-- name: promote
-- Rows whose time has come join the window of their lane.
UPDATE proctor.queue_item q SET state = 'pending'
FROM (SELECT tenant_id, id FROM proctor.queue_item
      WHERE kind = :kind AND state = 'waiting' AND run_at <= now()
      ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED) due
WHERE q.kind = :kind AND q.tenant_id = due.tenant_id AND q.id = due.id AND q.state = 'waiting';

-- name: claim_suspect
-- A row lost twice is a suspect: it runs alone on an idle worker, before anything else does.
UPDATE proctor.queue_item q
SET state = 'claimed', worker_id = :worker, token = nextval('proctor.queue_token'), picks = picks + 1, alone = true,
    lease_until = now() + make_interval(secs => :lease)
FROM (SELECT s.tenant_id, s.id FROM proctor.queue_item s
      JOIN proctor.queue_lane l ON (l.tenant_id, l.kind, l.provider) = (s.tenant_id, s.kind, s.provider)
      WHERE s.kind = :kind AND s.state = 'pending' AND s.losses >= 2
        AND (CAST(:scope AS text) IS NULL OR s.holders ? :scope)
        AND NOT l.paused AND (l.closed_until IS NULL OR l.closed_until <= now())
      ORDER BY s.enqueued_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED) suspect
WHERE q.kind = :kind AND q.tenant_id = suspect.tenant_id AND q.id = suspect.id AND q.state = 'pending'
RETURNING q.tenant_id, q.id, q.provider, q.band, q.token, q.payload, q.tries, q.picks, q.holders;

-- name: claim
-- Window first, lock second. Order of service: effective band (one lower when the tenant is over quota, one higher
-- when past its target wait, critical held to a share per tenant); inside a band the tenant with the least service
-- per weight (deficit round robin kept as virtual time; a tenant that was idle rejoins at the level of the busy
-- ones); inside a tenant longest expected first, then run_at. A closed lane is not read at all.
WITH running AS MATERIALIZED (
    SELECT tenant_id, provider, count(*) AS rows, count(*) FILTER (WHERE band = 0) AS critical
    FROM proctor.queue_item WHERE kind = :kind AND state = 'claimed' GROUP BY tenant_id, provider
), busy AS MATERIALIZED (
    SELECT r.tenant_id, sum(r.critical) AS critical, min(coalesce(s.served, 0)) AS served
    FROM running r LEFT JOIN proctor.queue_share s ON s.tenant_id = r.tenant_id AND s.kind = :kind
    GROUP BY r.tenant_id
), lane AS MATERIALIZED (
    SELECT l.tenant_id, l.provider,
           least(:limit, CASE WHEN l.failures > 0 THEN 1 - coalesce(r.rows, 0)
                              WHEN l.max_running IS NULL THEN :limit
                              ELSE l.max_running - coalesce(r.rows, 0) END) AS room
    FROM proctor.queue_lane l LEFT JOIN running r USING (tenant_id, provider)
    WHERE l.kind = :kind AND NOT l.paused AND (l.closed_until IS NULL OR l.closed_until <= now())
), windowed AS MATERIALIZED (
    SELECT l.tenant_id, l.provider, l.room, q.id, q.band, q.expected_sec, q.run_at, q.overdue
    FROM lane l
    CROSS JOIN (VALUES (0, interval '0'), (1, interval '1 hour'), (2, interval '8 hours'), (3, NULL)) b (band, target)
    CROSS JOIN LATERAL (
        (SELECT id, band, expected_sec, run_at, enqueued_at < now() - b.target AND b.band > 0 AS overdue
         FROM proctor.queue_item
         WHERE kind = :kind AND tenant_id = l.tenant_id AND provider = l.provider AND band = b.band
           AND state = 'pending' AND losses < 2 AND (CAST(:scope AS text) IS NULL OR holders ? :scope)
         ORDER BY expected_sec DESC, run_at LIMIT greatest(l.room, 0))
        UNION
        (SELECT id, band, expected_sec, run_at, true
         FROM proctor.queue_item
         WHERE kind = :kind AND tenant_id = l.tenant_id AND provider = l.provider AND band = b.band AND b.band > 0
           AND state = 'pending' AND losses < 2 AND (CAST(:scope AS text) IS NULL OR holders ? :scope)
           AND enqueued_at < now() - b.target
         ORDER BY enqueued_at LIMIT greatest(l.room, 0))
    ) q
), banded AS (
    SELECT w.*, coalesce(s.weight, 1) AS weight,
           greatest(coalesce(s.served, 0), CASE WHEN own.tenant_id IS NULL THEN (SELECT min(served) FROM busy)
                                           END) AS served,
           least(3, greatest(0, w.band + coalesce(s.over_quota, false)::int - w.overdue::int)) AS wanted,
           greatest(w.expected_sec, 1) AS cost, coalesce(own.critical, 0) AS critical
    FROM windowed w
    LEFT JOIN proctor.queue_share s ON s.tenant_id = w.tenant_id AND s.kind = :kind
    LEFT JOIN busy own ON own.tenant_id = w.tenant_id
), capped AS (
    SELECT b.*, CASE WHEN wanted = 0 AND critical + row_number() OVER (
                              PARTITION BY tenant_id, wanted ORDER BY expected_sec DESC, run_at, id)
                              > greatest(1, floor(:critical_share * :slots)) THEN 1 ELSE wanted END AS effective
    FROM banded b
), ordered AS (
    SELECT c.*,
           served + (sum(cost) OVER turn - cost) / weight AS virtual_start,
           row_number() OVER (PARTITION BY tenant_id, provider ORDER BY effective, expected_sec DESC, run_at, id) AS nth
    FROM capped c WINDOW turn AS (PARTITION BY tenant_id ORDER BY effective, expected_sec DESC, run_at, id)
), chosen AS MATERIALIZED (
    SELECT tenant_id, id, cost / weight AS service, served,
           row_number() OVER (ORDER BY effective, virtual_start, expected_sec DESC, run_at, id) AS place
    FROM ordered WHERE nth <= room
    ORDER BY effective, virtual_start, expected_sec DESC, run_at, id LIMIT :limit
), locked AS MATERIALIZED (
    SELECT q.tenant_id, q.id, c.service, c.served, c.place FROM proctor.queue_item q
    JOIN chosen c ON c.tenant_id = q.tenant_id AND c.id = q.id
    WHERE q.kind = :kind AND q.state = 'pending' FOR UPDATE OF q SKIP LOCKED
), charged AS (
    INSERT INTO proctor.queue_share AS s (tenant_id, kind, served)
    SELECT tenant_id, :kind, min(served) + sum(service) FROM locked GROUP BY tenant_id
    ON CONFLICT (tenant_id, kind) DO UPDATE SET served = EXCLUDED.served
), claimed AS (
    UPDATE proctor.queue_item q
    SET state = 'claimed', worker_id = :worker, token = nextval('proctor.queue_token'), picks = picks + 1,
        alone = false, lease_until = now() + make_interval(secs => :lease)
    FROM locked c WHERE q.kind = :kind AND q.tenant_id = c.tenant_id AND q.id = c.id
    RETURNING q.tenant_id, q.id, q.provider, q.band, q.token, q.payload, q.tries, q.picks, q.holders, c.place
)
SELECT tenant_id, id, provider, band, token, payload, tries, picks, holders FROM claimed ORDER BY place;

-- name: runs_alone
-- Whether the worker holds a suspect, beside which it takes nothing else.
SELECT EXISTS (SELECT FROM proctor.queue_item WHERE worker_id = :worker AND state = 'claimed' AND alone) AS alone,
       NOT EXISTS (SELECT FROM proctor.queue_item WHERE worker_id = :worker AND state = 'claimed') AS idle;

-- name: enqueue
-- Wanted again by another holder: the row stays one row, at the highest band among its holders. A paused row wakes.
INSERT INTO proctor.queue_item AS q
    (tenant_id, kind, id, provider, band, holders, expected_sec, payload, deadline)
SELECT :tenant, :kind, r.id, r.provider, r.band, jsonb_build_object(CAST(:holder AS text), r.band), r.expected_sec,
       r.payload, r.deadline
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, provider text, band smallint, expected_sec float, payload text, deadline timestamptz)
ON CONFLICT (tenant_id, kind, id) DO UPDATE
SET holders = q.holders || EXCLUDED.holders,
    band = least(q.band, EXCLUDED.band),
    state = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN 'pending' ELSE q.state END,
    tries = CASE WHEN q.state = 'dead' AND :revive THEN 0 ELSE q.tries END,
    losses = CASE WHEN q.state = 'dead' AND :revive THEN 0 ELSE q.losses END,
    losses_alone = CASE WHEN q.state = 'dead' AND :revive THEN 0 ELSE q.losses_alone END,
    reason = CASE WHEN q.state = 'dead' AND :revive THEN '' ELSE q.reason END
WHERE NOT q.holders @> EXCLUDED.holders OR q.state = 'paused' OR (q.state = 'dead' AND :revive);

-- name: open_lanes
-- The lanes that rows wait in exist before the rows do; those of the payload's providers.
INSERT INTO proctor.queue_lane (tenant_id, kind, provider)
SELECT :tenant, :kind, unnest(CAST(:providers AS text[]))
ON CONFLICT DO NOTHING;

-- name: held
-- Which of these claims are still ours, locked until the transaction ends.
SELECT q.id, q.token FROM proctor.queue_item q
JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (id, token) ON q.id = r.id AND q.token = r.token
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'claimed'
ORDER BY q.id FOR UPDATE OF q;

-- name: complete
-- Work done: the row is gone. A lost lease matches nothing.
DELETE FROM proctor.queue_item q
USING unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (id, token)
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.id = r.id AND q.token = r.token AND q.state = 'claimed'
RETURNING q.id;

-- name: put_back
-- A claim that goes back: to wait, to the dead letters, or to its lane, with or without a try used up.
UPDATE proctor.queue_item q
SET state = CASE WHEN r.dead THEN 'dead' WHEN q.holders = '{}' THEN 'paused'
                 WHEN r.delay > 0 THEN 'waiting' ELSE 'pending' END,
    run_at = CASE WHEN r.delay > 0 THEN now() + make_interval(secs => r.delay) ELSE q.run_at END,
    tries = q.tries + r.used, reason = r.reason, losses = 0, losses_alone = 0,
    worker_id = NULL, token = NULL, lease_until = NULL, alone = false
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, token bigint, dead boolean, delay float, used int, reason text)
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.id = r.id AND q.token = r.token AND q.state = 'claimed'
RETURNING q.id;

-- name: heartbeat
-- Every claim of the worker at once; a token that does not come back was lost.
UPDATE proctor.queue_item SET lease_until = now() + make_interval(secs => :lease)
WHERE worker_id = :worker AND state = 'claimed' AND token = ANY(CAST(:tokens AS bigint[]))
RETURNING token;

-- name: register_worker
INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots)
VALUES (:worker, :host, :boot_id, :pid, :process_started, :slots);

-- name: see_worker
UPDATE proctor.worker SET seen_at = now() WHERE id = :worker;

-- name: forget_worker
DELETE FROM proctor.worker w WHERE id = ANY(CAST(:workers AS uuid[]))
AND NOT EXISTS (SELECT FROM proctor.queue_item q WHERE q.worker_id = w.id AND q.state = 'claimed');

-- name: local_workers
SELECT id, pid, process_started FROM proctor.worker WHERE host = :host AND boot_id = :boot_id;

-- name: rebooted_workers
SELECT id FROM proctor.worker WHERE host = :host AND boot_id <> :boot_id;

-- name: reap
-- Leases that ended, or whose worker is known dead, go back; the whole predicate is repeated at the update, so a
-- heartbeat in between saves the row. The third loss alone makes it poison. Recovery ignores limits and pauses.
UPDATE proctor.queue_item q
SET state = CASE WHEN q.losses_alone + q.alone::int >= 3 THEN 'dead' WHEN q.holders = '{}' THEN 'paused'
                 ELSE 'pending' END,
    reason = CASE WHEN q.losses_alone + q.alone::int >= 3 THEN 'poison: lost 3 times while alone' ELSE q.reason END,
    losses = q.losses + 1, losses_alone = q.losses_alone + q.alone::int,
    worker_id = NULL, token = NULL, lease_until = NULL, alone = false
FROM (SELECT tenant_id, kind, id, token, worker_id FROM proctor.queue_item
      WHERE state = 'claimed' AND (lease_until < now() OR worker_id = ANY(CAST(:dead AS uuid[])))
      ORDER BY lease_until LIMIT :page FOR UPDATE SKIP LOCKED) lost
WHERE q.tenant_id = lost.tenant_id AND q.kind = lost.kind AND q.id = lost.id AND q.token = lost.token
  AND q.state = 'claimed' AND (q.lease_until < now() OR q.worker_id = ANY(CAST(:dead AS uuid[])))
RETURNING q.tenant_id, q.kind, q.id, lost.token, lost.worker_id, q.state, q.reason;

-- name: pass_deadline
-- Rows that nobody needs any more after their deadline.
UPDATE proctor.queue_item SET state = 'dead', reason = 'deadline passed'
WHERE kind = :kind AND state IN ('pending', 'waiting') AND deadline < now();

-- name: let_go
-- A holder no longer wants its rows: those nobody else wants are paused; the band is the highest of the rest.
UPDATE proctor.queue_item q
SET holders = q.holders - CAST(:holder AS text),
    state = CASE WHEN q.holders - CAST(:holder AS text) = '{}' AND q.state IN ('pending', 'waiting') THEN 'paused'
                 ELSE q.state END,
    band = coalesce((SELECT min(value::smallint) FROM jsonb_each_text(q.holders - CAST(:holder AS text))), q.band)
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.holders ? CAST(:holder AS text);

-- name: drop_unwanted
-- Rows of a cancelled holder that nobody else wants and nobody runs.
DELETE FROM proctor.queue_item q
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'paused' AND q.holders = '{}';

-- name: counts
-- How many rows of a holder are in each state.
SELECT state, count(*) AS rows FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND holders ? CAST(:holder AS text) GROUP BY state;

-- name: lane_failed
-- A provider's failure opens the lane's breaker: until retry-after, else 30 s doubling to 15 min. A failure that
-- was already on its way when the breaker opened does not open it further.
UPDATE proctor.queue_lane
SET failures = CASE WHEN closed_until > now() THEN failures ELSE failures + 1 END,
    closed_until = CASE WHEN closed_until > now() AND CAST(:retry_after AS float) IS NULL THEN closed_until
                   ELSE now() + make_interval(secs => coalesce(
                       CAST(:retry_after AS float), least(900, 30 * power(2, least(failures, 10))))) END,
    reason = :reason
WHERE tenant_id = :tenant AND kind = :kind AND provider = :provider;

-- name: lane_worked
UPDATE proctor.queue_lane SET failures = 0, closed_until = NULL, reason = ''
WHERE tenant_id = :tenant AND kind = :kind AND provider = :provider AND failures > 0;

-- name: set_lane
UPDATE proctor.queue_lane SET paused = :paused, reason = :reason, max_running = :max_running
WHERE tenant_id = :tenant AND kind = :kind AND provider = :provider;

-- name: lanes
SELECT provider, paused, reason, closed_until, failures, max_running FROM proctor.queue_lane
WHERE tenant_id = :tenant AND kind = :kind ORDER BY provider;

-- name: dead_letters
SELECT id, provider, reason, picks, tries, losses, enqueued_at, payload FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND state = 'dead' AND (CAST(:holder AS text) IS NULL OR holders ? :holder)
ORDER BY id LIMIT :limit;

-- name: requeue_dead
UPDATE proctor.queue_item SET state = 'pending', tries = 0, losses = 0, losses_alone = 0, reason = '', run_at = now()
WHERE tenant_id = :tenant AND kind = :kind AND state = 'dead'
  AND (CAST(:holder AS text) IS NULL OR holders ? :holder)
  AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY(CAST(:ids AS uuid[])))
RETURNING id;

-- name: purge_dead
DELETE FROM proctor.queue_item WHERE tenant_id = :tenant AND kind = :kind AND state = 'dead'
  AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY(CAST(:ids AS uuid[]))) RETURNING id;

-- name: held_by
-- Claims of a worker beyond those it knows: a claim was committed and its answer lost on the way.
SELECT tenant_id, id, provider, band, token, payload, tries, picks, holders FROM proctor.queue_item
WHERE kind = :kind AND worker_id = :worker AND state = 'claimed' AND NOT token = ANY(CAST(:known AS bigint[]))
ORDER BY token;
