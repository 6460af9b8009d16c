-- The queue's statements. Every one that changes a claimed row carries its id and its fencing token. ``holders`` is
-- {holder id: band}, with null for a holder that does not want the row now: '$.* ? (@ != null)' says whether any does.

-- name: lock_claims
-- Claims of a kind are taken one at a time: the claimer is the planner, so counts it sees under READ COMMITTED
-- (statements after the lock) are exact and limits hold. Planning the claim anew would take longer than running it.
SELECT pg_advisory_xact_lock(hashtextextended('proctor.queue.' || :kind, 0)),
       set_config('plan_cache_mode', 'force_generic_plan', true);

-- name: standing
-- Rows whose time has come join the window of their lane; rows whose deadline has passed are dead. Then what the
-- worker may take: nothing beside a suspect, and a suspect only when it holds nothing. (What was promoted just now
-- still looks waiting to the last line.)
WITH promoted AS (
    UPDATE proctor.queue_item q SET state = 'pending'
    FROM (SELECT tenant_id, id FROM proctor.queue_item
          WHERE kind = :kind AND state = 'waiting' AND run_at <= now() AND (deadline IS NULL OR deadline >= now())
          ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED) due
    WHERE q.kind = :kind AND q.tenant_id = due.tenant_id AND q.id = due.id AND q.state = 'waiting'
), buried AS (
    UPDATE proctor.queue_item q SET state = 'dead', reason = 'deadline passed'
    FROM (SELECT tenant_id, id FROM proctor.queue_item
          WHERE kind = :kind AND state IN ('pending', 'waiting') AND deadline IS NOT NULL AND deadline < now()
          ORDER BY deadline LIMIT 1000 FOR UPDATE SKIP LOCKED) late
    WHERE q.kind = :kind AND q.tenant_id = late.tenant_id AND q.id = late.id AND q.state IN ('pending', 'waiting')
)
SELECT (SELECT split_part(host, '/', 1) FROM proctor.worker WHERE id = :worker) AS node,
       EXISTS (SELECT FROM proctor.queue_item WHERE worker_id = :worker AND state = 'claimed' AND alone) AS alone,
       NOT EXISTS (SELECT FROM proctor.queue_item WHERE worker_id = :worker AND state = 'claimed') AS idle,
       EXISTS (SELECT FROM proctor.queue_item
               WHERE kind = :kind AND state = 'pending' AND losses >= 2)
           OR EXISTS (SELECT FROM proctor.queue_item
                      WHERE kind = :kind AND state = 'waiting' AND run_at <= now() AND losses >= 2) AS suspects;

-- name: gates
-- What lets only some rows of a lane through, and how many: the lane's own row, the gates it shares with others, and
-- the node of the worker, of lanes with rows to serve. Closed: none. Half open: one probe at a time, of those claimed since it closed. Else what its
-- limits leave; starts are spread evenly over a minute, with a second's worth at once.
WITH gate AS MATERIALIZED (
    SELECT tenant_id, provider AS key, failures, coalesce(shut_token, 0) AS shut_token, per_minute,
           paused OR coalesce(closed_until > now(), false) AS shut,
           coalesce(max_running, CASE WHEN careful_until > now() THEN CAST(:careful AS int) END) AS most,
           floor(extract(epoch FROM now() - greatest(
               next_start, now() - make_interval(secs => (ceil(per_minute / 60.0) - 1) * 60.0 / per_minute)))
               * per_minute / 60.0) + 1 AS starts
    FROM proctor.queue_lane
    WHERE kind = :kind AND (paused OR failures > 0 OR closed_until > now() OR careful_until > now()
                            OR max_running IS NOT NULL OR per_minute IS NOT NULL)
), lane AS MATERIALIZED (
    SELECT l.tenant_id, l.provider, l.gates FROM proctor.queue_lane l
    CROSS JOIN LATERAL (
        SELECT FROM proctor.queue_item q
        WHERE q.kind = :kind AND q.tenant_id = l.tenant_id AND q.provider = l.provider AND q.state = 'pending'
        ORDER BY q.band, q.expected_sec DESC, q.run_at LIMIT 1
    ) first
    WHERE l.kind = :kind
), through AS MATERIALIZED (
    SELECT l.provider AS lane, g.* FROM lane l
    JOIN gate g ON g.tenant_id = l.tenant_id
         AND (g.key = l.provider OR g.key = ANY(l.gates) OR g.key = 'node/' || CAST(:node AS text))
), running AS MATERIALIZED (
    SELECT g.tenant_id, g.key, count(*) AS rows, count(*) FILTER (WHERE q.token > g.shut_token) AS since
    FROM proctor.queue_item q
    JOIN proctor.queue_lane l ON l.kind = :kind AND l.tenant_id = q.tenant_id AND l.provider = q.provider
    JOIN gate g ON g.tenant_id = q.tenant_id
         AND (g.key = l.provider OR g.key = ANY(l.gates)
              OR g.key = 'node/' || CAST(:node AS text)
                 AND q.worker_id IN (SELECT id FROM proctor.worker WHERE split_part(host, '/', 1) = :node))
    WHERE q.kind = :kind AND q.state = 'claimed' AND EXISTS (SELECT FROM through)
    GROUP BY g.tenant_id, g.key
)
SELECT t.tenant_id, t.lane, t.key AS gate, t.per_minute IS NOT NULL AS timed,
       greatest(0, least(CASE WHEN t.shut THEN 0 END, CASE WHEN t.failures > 0 THEN 1 - coalesce(r.since, 0) END,
                         t.most - coalesce(r.rows, 0), t.starts))::int AS room
FROM through t LEFT JOIN running r ON r.tenant_id = t.tenant_id AND r.key = t.key;

-- name: count_starts
-- What was claimed through gates that limit the starts a minute.
UPDATE proctor.queue_lane l
SET next_start = greatest(l.next_start, now() - make_interval(
        secs => (ceil(l.per_minute / 60.0) - 1) * 60.0 / l.per_minute)) + make_interval(secs => r.starts * 60.0 / l.per_minute)
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (tenant_id uuid, gate text, starts int)
WHERE l.kind = :kind AND l.tenant_id = r.tenant_id AND l.provider = r.gate;

-- name: find_suspect
-- The row lost twice that this worker is to run alone: one it put itself down for, else one that no live worker did,
-- else, for an idle worker, any. Its lane must be open and have room.
SELECT s.tenant_id, s.id, s.need FROM proctor.queue_item s
CROSS JOIN LATERAL (
    SELECT s.worker_id IS NOT NULL AND EXISTS (
        SELECT FROM proctor.worker w
        WHERE w.id = s.worker_id AND w.seen_at > now() - make_interval(secs => :lease)) AS taken
) other
WHERE s.kind = :kind AND s.state = 'pending' AND s.losses >= 2
  AND (CAST(:scope AS text) IS NULL OR s.holders ->> CAST(:scope AS text) IS NOT NULL)
  AND NOT EXISTS (SELECT FROM jsonb_to_recordset(CAST(:gates AS jsonb)) AS g (tenant_id uuid, lane text, room int)
                  WHERE g.tenant_id = s.tenant_id AND g.lane = s.provider AND g.room <= 0)
  AND (:idle OR s.worker_id = :worker OR NOT other.taken)
ORDER BY s.worker_id IS DISTINCT FROM :worker, other.taken, s.enqueued_at, s.id LIMIT 1
FOR UPDATE OF s SKIP LOCKED;

-- name: mark_suspect
-- A busy worker puts itself down for a suspect and takes nothing more, so that it comes to be idle: on a fleet that
-- is never idle a suspect would wait for ever.
UPDATE proctor.queue_item SET worker_id = :worker
WHERE kind = :kind AND tenant_id = :tenant AND id = :id AND worker_id IS DISTINCT FROM :worker;

-- name: claim_suspect
UPDATE proctor.queue_item
SET state = 'claimed', worker_id = :worker, token = nextval('proctor.queue_token'), picks = picks + 1, alone = true,
    begun = false, served_band = band, lease_until = now() + make_interval(secs => :lease)
WHERE kind = :kind AND tenant_id = :tenant AND id = :id
RETURNING tenant_id, id, provider, band, token, payload, tries, picks, holders;

-- name: reserved
-- What running rows were promised on this worker's machine, by whichever worker of it; of rows without a sandbox apart.
-- A machine is known by its boot: containers on it have other host names, and share its memory.
WITH promised AS (
    SELECT (q.need ->> 'memory_mb')::float AS memory, (q.need ->> 'cpus')::float AS cpus,
           (q.need ->> 'disk_mb')::float AS disk,
           NOT (q.begun OR (q.worker_id = :worker AND q.token = ANY(CAST(:begun AS bigint[])))) AS unbegun
    FROM proctor.queue_item q
    JOIN proctor.worker w ON w.id = q.worker_id
    JOIN proctor.worker mine ON mine.id = :worker AND mine.boot_id = w.boot_id
    WHERE q.state = 'claimed'
)
SELECT count(*) AS rows, coalesce(sum(memory), 0) AS memory_mb, coalesce(sum(cpus), 0) AS cpus,
       coalesce(sum(disk), 0) AS disk_mb,
       coalesce(sum(memory) FILTER (WHERE unbegun), 0) AS unbegun_memory_mb,
       coalesce(sum(cpus) FILTER (WHERE unbegun), 0) AS unbegun_cpus,
       coalesce(sum(disk) FILTER (WHERE unbegun), 0) AS unbegun_disk_mb
FROM promised;

-- name: held_back
-- Rows of a holder that need more than is left, how many of them more than this node could ever give, and the first in
-- the order of service.
WITH held AS (
    SELECT id, need, band, expected_sec, run_at,
           coalesce((need ->> 'memory_mb')::float > CAST(:ever_memory AS float)
                    OR (need ->> 'disk_mb')::float > CAST(:ever_disk AS float), false) AS never
    FROM proctor.queue_item
    WHERE kind = :kind AND state = 'pending' AND holders ->> CAST(:scope AS text) IS NOT NULL
      AND ((need ->> 'memory_mb')::float > :left_memory
           OR least(coalesce((need ->> 'cpus')::float, 0), :most_cpus) > :left_cpus
           OR (need ->> 'disk_mb')::float > :left_disk)
)
SELECT count(*) OVER () AS rows, count(*) FILTER (WHERE never) OVER () AS never, id, need
FROM held ORDER BY never DESC, band, expected_sec DESC, run_at, id LIMIT 1;

-- name: claim
-- Window first, lock second. Order of service: effective band (one lower when the tenant is over quota, one higher
-- when past its target wait, critical held to a share per tenant); inside a band the tenant with the least service
-- per weight; inside a tenant longest expected first, then run_at. A closed lane is not read at all. Lanes that share
-- a gate may offer more than it lets through; what is beyond stays.
--
-- Deficit round robin is kept as virtual time for each tenant and band (start-time fair queueing): a tenant's next
-- row starts where its last ended, but never before the row that was served last, so that one which had nothing to
-- do can't save service up. A claim within a scope is of capacity that is not shared, and moves no virtual time.
--
-- A lane is read from its highest band down, as the steps say, until it has given its window. Windows are a few times
-- (:spread) what the lane can expect of the batch, so that a batch from many lanes reads hundreds of rows and not
-- thousands. What a lane holds beyond its window comes after the last row in it; so rows up to the first of these last
-- rows are in their right place, and later ones are left to another round with wider windows.
--
-- Where the worker's node has only so much left, rows are taken as far as they fit together: what does not fit is
-- waited for, and nothing passes it. A row that would not fit with nothing else running is not read.
WITH running AS MATERIALIZED (
    SELECT tenant_id, provider, count(*) AS rows, count(*) FILTER (WHERE served_band = 0) AS critical
    FROM proctor.queue_item WHERE kind = :kind AND state = 'claimed' GROUP BY tenant_id, provider
), critical AS MATERIALIZED (
    SELECT tenant_id, sum(critical)::bigint AS rows FROM running GROUP BY tenant_id
), gate AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(CAST(:gates AS jsonb)) AS g (tenant_id uuid, lane text, gate text, room int)
), narrow AS MATERIALIZED (
    SELECT tenant_id, lane, min(room) AS room FROM gate GROUP BY tenant_id, lane
), lane AS MATERIALIZED (
    SELECT row_number() OVER () AS number, l.tenant_id, l.provider, coalesce(s.weight, 1) AS weight, coalesce(s.over_quota, false)::int AS over_quota,
           least(:limit, n.room) AS room,
           CASE WHEN head.wanted = min(head.wanted) OVER ()
                THEN ceil(CAST(:spread AS float) * :limit * coalesce(s.weight, 1)
                          / sum(coalesce(s.weight, 1)) OVER (PARTITION BY head.wanted))
                ELSE ceil(CAST(:spread AS float) / 2 * :limit * coalesce(s.weight, 1)
                          / sum(coalesce(s.weight, 1)) OVER ()) END::bigint AS share,
           coalesce(c.rows, 0) AS critical, first.band AS first
    FROM proctor.queue_lane l
    LEFT JOIN narrow n ON n.tenant_id = l.tenant_id AND n.lane = l.provider
    LEFT JOIN critical c ON c.tenant_id = l.tenant_id
    LEFT JOIN proctor.queue_share s ON s.tenant_id = l.tenant_id AND s.kind = :kind
    CROSS JOIN LATERAL (
        SELECT q.band FROM proctor.queue_item q
        WHERE q.kind = :kind AND q.tenant_id = l.tenant_id AND q.provider = l.provider AND q.state = 'pending'
        ORDER BY q.band, q.expected_sec DESC, q.run_at LIMIT 1
    ) first
    CROSS JOIN LATERAL (
        SELECT least(3, coalesce(s.over_quota, false)::int + first.band - EXISTS (
            SELECT FROM proctor.queue_item q
            WHERE q.kind = :kind AND q.tenant_id = l.tenant_id AND q.provider = l.provider AND q.state = 'pending'
              AND q.band = first.band AND q.band IN (1, 2)
              AND q.enqueued_at < now() - CASE first.band WHEN 1 THEN interval '1 hour' ELSE interval '8 hours' END
        )::int) AS wanted OFFSET 0  -- computed once and not at each use
    ) head
    WHERE l.kind = :kind AND (n.room IS NULL OR n.room > 0)
), windowed AS MATERIALIZED (
    SELECT l.tenant_id, l.provider, l.weight, l.critical, q.place_in_table, q.id, q.band, q.expected_sec, q.run_at, q.need,
           least(3, q.target + l.over_quota) AS wanted,
           l.share < l.room AND row_number() OVER (
               PARTITION BY l.number ORDER BY q.target, q.band, q.expected_sec DESC, q.run_at, q.id) = l.share AS is_last
    FROM lane l CROSS JOIN LATERAL (
        SELECT step.target, r.* FROM (
            VALUES (0, 0, false, NULL), (0, 1, true, interval '1 hour'), (1, 1, false, interval '1 hour'),
                   (1, 2, true, interval '8 hours'), (2, 2, false, interval '8 hours'), (3, 3, false, NULL)
        ) step (target, band, overdue, wait)
        CROSS JOIN LATERAL (
            (SELECT ctid AS place_in_table, id, band, expected_sec, run_at, need FROM proctor.queue_item
             WHERE kind = :kind AND tenant_id = l.tenant_id AND provider = l.provider AND band = step.band
               AND step.overdue AND enqueued_at < now() - step.wait AND state = 'pending' AND losses < 2
               AND (CAST(:scope AS text) IS NULL OR holders ->> CAST(:scope AS text) IS NOT NULL)
               AND (CAST(:most_memory AS float) IS NULL OR coalesce((need ->> 'memory_mb')::float, 0) <= :most_memory
                    AND coalesce((need ->> 'disk_mb')::float, 0) <= :most_disk)
             ORDER BY enqueued_at LIMIT least(l.room, l.share))
            UNION ALL
            (SELECT ctid AS place_in_table, id, band, expected_sec, run_at, need FROM proctor.queue_item
             WHERE kind = :kind AND tenant_id = l.tenant_id AND provider = l.provider AND band = step.band
               AND NOT step.overdue AND (step.wait IS NULL OR enqueued_at >= now() - step.wait)
               AND state = 'pending' AND losses < 2
               AND (CAST(:scope AS text) IS NULL OR holders ->> CAST(:scope AS text) IS NOT NULL)
               AND (CAST(:most_memory AS float) IS NULL OR coalesce((need ->> 'memory_mb')::float, 0) <= :most_memory
                    AND coalesce((need ->> 'disk_mb')::float, 0) <= :most_disk)
             ORDER BY expected_sec DESC, run_at LIMIT least(l.room, l.share))
        ) r
        WHERE step.band >= l.first LIMIT least(l.room, l.share)
    ) q WHERE l.room > 0
), allowed AS MATERIALIZED (
    SELECT greatest(1, floor(:critical_share * greatest(:slots, (
        SELECT coalesce(sum(slots), 0) FROM proctor.worker
        WHERE seen_at > now() - make_interval(secs => :lease)))))::bigint AS rows
), capped AS (
    SELECT w.*, CASE WHEN w.wanted = 0 AND row_number() OVER (
                              PARTITION BY w.tenant_id, w.wanted ORDER BY w.band, w.expected_sec DESC, w.run_at, w.id)
                          + w.critical > (SELECT rows FROM allowed)
                     THEN 1 ELSE w.wanted END AS effective
    FROM windowed w
), level AS MATERIALIZED (
    SELECT band, max(started) AS started FROM proctor.queue_service WHERE kind = :kind GROUP BY band
), turned AS (
    SELECT c.*, greatest(c.expected_sec, 1) / c.weight AS service,
           greatest(coalesce(v.served, 0), coalesce(level.started, 0))
               + sum(greatest(c.expected_sec, 1) / c.weight) OVER turn - greatest(c.expected_sec, 1) / c.weight AS start
    FROM capped c
    LEFT JOIN proctor.queue_service v ON v.tenant_id = c.tenant_id AND v.kind = :kind AND v.band = c.effective
    LEFT JOIN level ON level.band = c.effective
    WINDOW turn AS (PARTITION BY c.tenant_id, c.effective
                    ORDER BY c.wanted, c.band, c.expected_sec DESC, c.run_at, c.id)
), placed AS MATERIALIZED (
    SELECT first.*, row_number() OVER so_far AS place,
           CAST(:left_memory AS float) IS NULL OR (
               sum((need ->> 'memory_mb')::float) OVER so_far > :left_memory
               OR sum(least(coalesce((need ->> 'cpus')::float, 0), :most_cpus)) OVER so_far > :left_cpus
               OR sum((need ->> 'disk_mb')::float) OVER so_far > :left_disk) IS NOT TRUE AS fits
    FROM (
        SELECT tenant_id, provider, place_in_table, effective, start, service, is_last, need FROM turned
        ORDER BY effective, start, wanted, band, expected_sec DESC, run_at, id LIMIT :limit
    ) first WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
), beyond AS (
    SELECT place FROM (
        SELECT p.place, g.room, row_number() OVER (PARTITION BY g.tenant_id, g.gate ORDER BY p.place) AS nth
        FROM placed p JOIN gate g ON g.tenant_id = p.tenant_id AND g.lane = p.provider
    ) turn WHERE nth > room
), chosen AS MATERIALIZED (
    SELECT * FROM placed WHERE place <= coalesce((SELECT min(place) FROM placed WHERE is_last), :limit) AND fits
                           AND place NOT IN (SELECT place FROM beyond)
), locked AS MATERIALIZED (
    SELECT c.* FROM proctor.queue_item q JOIN chosen c ON q.ctid = c.place_in_table
    WHERE q.kind = :kind AND q.state = 'pending' FOR UPDATE OF q SKIP LOCKED
), charged AS (
    INSERT INTO proctor.queue_service AS s (tenant_id, kind, band, served, started)
    SELECT tenant_id, :kind, effective, max(start + service), max(start) FROM locked
    WHERE CAST(:scope AS text) IS NULL GROUP BY tenant_id, effective
    ON CONFLICT (tenant_id, kind, band) DO UPDATE SET served = EXCLUDED.served, started = EXCLUDED.started
), claimed AS (
    UPDATE proctor.queue_item q
    SET state = 'claimed', worker_id = :worker, token = nextval('proctor.queue_token'), picks = picks + 1,
        alone = false, begun = false, served_band = c.effective, lease_until = now() + make_interval(secs => :lease)
    FROM locked c WHERE q.kind = :kind AND q.ctid = c.place_in_table
    RETURNING q.tenant_id, q.id, q.provider, q.band, q.token, q.payload, q.tries, q.picks, q.holders, c.place
)
SELECT tenant_id, id, provider, band, token, payload, tries, picks, holders FROM claimed ORDER BY place;

-- name: enqueue
-- Wanted again by another holder: the row stays one row, at the highest band among its holders, with the last of
-- their deadlines. A paused row wakes as the newcomer describes it, but not before the time it has to wait for.
INSERT INTO proctor.queue_item AS q
    (tenant_id, kind, id, provider, band, state, holders, expected_sec, run_at, ready_at, payload, deadline, need)
SELECT :tenant, :kind, r.id, r.provider, r.band, CASE WHEN r.delay > 0 THEN 'waiting' ELSE 'pending' END,
       jsonb_build_object(CAST(:holder AS text), r.band), r.expected_sec, now() + make_interval(secs => r.delay),
       now() + make_interval(secs => r.delay), r.payload, r.deadline, coalesce(r.need, '{}')
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, provider text, band smallint, expected_sec float, payload text, deadline timestamptz, delay float,
          need jsonb)
ORDER BY r.id
ON CONFLICT (tenant_id, kind, id) DO UPDATE
SET holders = q.holders || EXCLUDED.holders,
    band = (SELECT min(value::smallint) FROM jsonb_each_text(q.holders || EXCLUDED.holders)),
    state = CASE WHEN q.state = 'paused' AND greatest(q.run_at, EXCLUDED.run_at) > now() THEN 'waiting'
                 WHEN q.state = 'dead' AND :revive THEN EXCLUDED.state
                 WHEN q.state = 'paused' THEN 'pending' ELSE q.state END,
    run_at = CASE WHEN q.state = 'paused' THEN greatest(q.run_at, EXCLUDED.run_at)
                  WHEN q.state = 'dead' AND :revive THEN EXCLUDED.run_at ELSE q.run_at END,
    enqueued_at = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN now() ELSE q.enqueued_at END,
    ready_at = CASE WHEN q.state = 'paused' THEN greatest(q.run_at, EXCLUDED.run_at)
                    WHEN q.state = 'dead' AND :revive THEN EXCLUDED.run_at ELSE q.ready_at END,
    provider = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN EXCLUDED.provider
                    ELSE q.provider END,
    expected_sec = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN EXCLUDED.expected_sec
                        ELSE q.expected_sec END,
    need = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN EXCLUDED.need ELSE q.need END,
    payload = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN EXCLUDED.payload ELSE q.payload END,
    deadline = CASE WHEN q.state = 'paused' OR (q.state = 'dead' AND :revive) THEN EXCLUDED.deadline
                    WHEN q.deadline IS NULL OR EXCLUDED.deadline IS NULL THEN NULL
                    ELSE greatest(q.deadline, EXCLUDED.deadline) END,
    worker_id = CASE WHEN q.state = 'claimed' THEN q.worker_id END,
    tries = CASE WHEN q.state = 'dead' AND :revive THEN 0 ELSE q.tries END,
    losses = CASE WHEN q.state = 'dead' AND :revive THEN 0 ELSE q.losses END,
    losses_alone = CASE WHEN q.state = 'dead' AND :revive THEN 0 ELSE q.losses_alone END,
    reason = CASE WHEN q.state = 'dead' AND :revive THEN '' ELSE q.reason END
WHERE NOT q.holders @> EXCLUDED.holders OR q.state = 'paused' OR (q.state = 'dead' AND :revive);

-- name: open_lanes
-- The lanes that rows wait in exist before the rows do, and the gates before the lanes.
INSERT INTO proctor.queue_lane (tenant_id, kind, provider, gates)
SELECT :tenant, :kind, r.name, r.gates
FROM jsonb_to_recordset(CAST(:lanes AS jsonb)) AS r (name text, gates text[]) ORDER BY r.name
ON CONFLICT DO NOTHING;

-- name: keep_lanes
-- Nobody removes lanes before this transaction ends.
SELECT pg_advisory_xact_lock_shared(hashtextextended('proctor.queue.lanes.' || :kind || CAST(:tenant AS text), 0));

-- name: lanes_are_idle
-- Whether nobody queues rows now; then nobody begins to before this transaction ends.
SELECT pg_try_advisory_xact_lock(hashtextextended('proctor.queue.lanes.' || :kind || CAST(:tenant AS text), 0));

-- name: drop_lanes
-- Lanes made of gates that have no row of any state, and the limits of run sets that no other lane names.
WITH unused AS MATERIALIZED (
    SELECT l.provider FROM proctor.queue_lane l
    WHERE l.tenant_id = :tenant AND l.kind = :kind AND l.provider LIKE 'lane/%'
      AND NOT EXISTS (SELECT FROM proctor.queue_item q
                      WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.provider = l.provider)
    FOR UPDATE OF l SKIP LOCKED
)
DELETE FROM proctor.queue_lane d
WHERE d.tenant_id = :tenant AND d.kind = :kind
  AND (d.provider IN (SELECT provider FROM unused)
       OR d.provider LIKE 'limit/%'
          AND NOT EXISTS (SELECT FROM proctor.queue_lane l
                          WHERE l.tenant_id = :tenant AND l.kind = :kind AND d.provider = ANY(l.gates)
                            AND l.provider NOT IN (SELECT provider FROM unused)));

-- name: held
-- Which of these claims are still ours, locked until the transaction ends. Late: claimed since something closed.
SELECT q.token, coalesce(q.token > (SELECT min(coalesce(shut_token, 0)) FROM proctor.queue_lane
                                    WHERE tenant_id = :tenant AND kind = :kind AND failures > 0), false) AS late
FROM proctor.queue_item q
JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (id, token) ON q.id = r.id AND q.token = r.token
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'claimed'
ORDER BY q.id FOR UPDATE OF q;

-- name: complete
-- Work done: the row is gone. A lost lease matches nothing.
DELETE FROM proctor.queue_item q
USING unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (id, token)
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.id = r.id AND q.token = r.token AND q.state = 'claimed'
RETURNING q.id;

-- name: complete_all
-- The same for claims of any tenants, by the scheduler.
DELETE FROM proctor.queue_item q
USING unnest(CAST(:tenants AS uuid[]), CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (tenant_id, id, token)
WHERE q.kind = :kind AND q.tenant_id = r.tenant_id AND q.id = r.id AND q.token = r.token AND q.state = 'claimed'
RETURNING q.token;

-- name: put_back
-- A claim that goes back: to wait, to the dead letters, or to its lane, with or without a try used up. A row that
-- every holder gave up while it ran is gone.
WITH given AS MATERIALIZED (
    SELECT r.*, q.holders = '{}' AND NOT r.dead AS unwanted FROM proctor.queue_item q
    JOIN jsonb_to_recordset(CAST(:rows AS jsonb))
        AS r (id uuid, token bigint, dead boolean, delay float, used int, reason text)
      ON q.id = r.id AND q.token = r.token
    WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'claimed'
    ORDER BY q.id FOR UPDATE OF q
), dropped AS (
    DELETE FROM proctor.queue_item q USING given r
    WHERE r.unwanted AND q.tenant_id = :tenant AND q.kind = :kind AND q.id = r.id AND q.token = r.token
    RETURNING q.id
), kept AS (
    UPDATE proctor.queue_item q
    SET state = CASE WHEN r.dead THEN 'dead' WHEN NOT q.holders @? '$.* ? (@ != null)' THEN 'paused'
                     WHEN r.delay > 0 THEN 'waiting' ELSE 'pending' END,
        run_at = CASE WHEN r.delay > 0 THEN now() + make_interval(secs => r.delay) ELSE q.run_at END,
        ready_at = now() + make_interval(secs => r.delay),
        tries = q.tries + r.used, reason = r.reason, losses = 0, losses_alone = 0,
        worker_id = NULL, token = NULL, lease_until = NULL, alone = false, served_band = NULL
    FROM given r
    WHERE NOT r.unwanted AND q.tenant_id = :tenant AND q.kind = :kind AND q.id = r.id AND q.token = r.token
    RETURNING q.id
)
SELECT id FROM dropped UNION ALL SELECT id FROM kept;

-- name: heartbeat
-- Every claim of the worker at once; a token that does not come back was lost. Of those that have begun it is noted.
UPDATE proctor.queue_item SET lease_until = now() + make_interval(secs => :lease),
       begun = begun OR token = ANY(CAST(:begun AS bigint[]))
WHERE worker_id = :worker AND state = 'claimed' AND token = ANY(CAST(:tokens AS bigint[]))
RETURNING token;

-- name: unwanted
-- Claims of a worker that nobody wants any more.
SELECT token FROM proctor.queue_item
WHERE worker_id = :worker AND state = 'claimed' AND token = ANY(CAST(:tokens AS bigint[])) AND holders = '{}';

-- name: held_by
-- Claims of a worker beyond those it knows: a claim was committed and its answer lost on the way.
SELECT tenant_id, id, provider, band, token, payload, tries, picks, holders FROM proctor.queue_item
WHERE kind = :kind AND worker_id = :worker AND state = 'claimed' AND NOT token = ANY(CAST(:known AS bigint[]))
ORDER BY token;

-- name: register_worker
INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots)
VALUES (:worker, :host, :boot_id, :pid, :process_started, :slots)
ON CONFLICT (id) DO UPDATE SET slots = EXCLUDED.slots, seen_at = now();

-- name: see_worker
UPDATE proctor.worker SET seen_at = now() WHERE id = :worker;

-- name: forget_worker
-- Also those of other hosts that nobody heard of for a day: their hosts may never come back to say so.
DELETE FROM proctor.worker w
WHERE (id = ANY(CAST(:workers AS uuid[])) OR seen_at < now() - interval '1 day')
  AND NOT EXISTS (SELECT FROM proctor.queue_item q WHERE q.worker_id = w.id AND q.state = 'claimed');

-- name: living_workers
SELECT split_part(host, '/', 1) AS node, pid FROM proctor.worker
WHERE seen_at > now() - make_interval(secs => :within);

-- name: local_workers
SELECT id, pid, process_started FROM proctor.worker WHERE host = :host AND boot_id = :boot_id;

-- name: rebooted_workers
SELECT id FROM proctor.worker WHERE host = :host AND boot_id <> :boot_id;

-- name: reap
-- A page of leases that ended, or whose worker is known dead, go back; the whole predicate is repeated at the update,
-- so a heartbeat in between saves the row. The third loss alone makes it poison. Recovery ignores limits and pauses.
WITH lost AS MATERIALIZED (
    SELECT tenant_id, kind, id, token, worker_id, losses_alone + alone::int >= 3 AS poison,
           holders = '{}' AND losses_alone + alone::int < 3 AS unwanted
    FROM proctor.queue_item
    WHERE state = 'claimed' AND (lease_until < now() OR worker_id = ANY(CAST(:dead AS uuid[])))
    ORDER BY lease_until LIMIT :page FOR UPDATE SKIP LOCKED
), dropped AS (
    DELETE FROM proctor.queue_item q USING lost l
    WHERE l.unwanted AND q.tenant_id = l.tenant_id AND q.kind = l.kind AND q.id = l.id AND q.token = l.token
      AND q.state = 'claimed' AND (q.lease_until < now() OR q.worker_id = ANY(CAST(:dead AS uuid[])))
    RETURNING q.tenant_id, q.kind, q.id, q.token, q.worker_id, 'dropped' AS state, 'lease ended' AS reason
), kept AS (
    UPDATE proctor.queue_item q
    SET state = CASE WHEN l.poison THEN 'dead' WHEN NOT q.holders @? '$.* ? (@ != null)' THEN 'paused'
                     ELSE 'pending' END,
        reason = CASE WHEN l.poison THEN 'poison: lost 3 times while alone' ELSE q.reason END,
        losses = q.losses + 1, losses_alone = q.losses_alone + q.alone::int, ready_at = now(),
        worker_id = NULL, token = NULL, lease_until = NULL, alone = false, served_band = NULL
    FROM lost l
    WHERE NOT l.unwanted AND q.tenant_id = l.tenant_id AND q.kind = l.kind AND q.id = l.id AND q.token = l.token
      AND q.state = 'claimed' AND (q.lease_until < now() OR q.worker_id = ANY(CAST(:dead AS uuid[])))
    RETURNING q.tenant_id, q.kind, q.id, l.token, l.worker_id, q.state, q.reason
)
SELECT * FROM dropped UNION ALL SELECT * FROM kept;

-- name: let_go
-- A holder wants none of its rows now (:gone: and never will): those nobody else wants are paused, and the band is
-- the highest of the rest.
UPDATE proctor.queue_item q
SET holders = CASE WHEN :gone THEN q.holders - CAST(:holder AS text)
                   ELSE jsonb_set(q.holders, ARRAY[CAST(:holder AS text)], 'null') END,
    state = CASE WHEN q.state IN ('pending', 'waiting')
                      AND NOT (q.holders - CAST(:holder AS text)) @? '$.* ? (@ != null)' THEN 'paused'
                 ELSE q.state END,
    band = coalesce((SELECT min(value::smallint) FROM jsonb_each_text(q.holders - CAST(:holder AS text))), q.band)
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.holders ? CAST(:holder AS text)
  AND (:gone OR q.holders ->> CAST(:holder AS text) IS NOT NULL);

-- name: drop_unwanted
-- Rows that every holder gave up and nobody runs; dead letters stay as evidence.
DELETE FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND state = 'paused' AND holders = '{}';

-- name: drop_rows
-- Of these rows those that nobody runs, dead letters among them.
DELETE FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND id = ANY(CAST(:ids AS uuid[])) AND state <> 'claimed';

-- name: claimed_of
-- How many of these rows somebody runs.
SELECT count(*) FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND id = ANY(CAST(:ids AS uuid[])) AND state = 'claimed';

-- name: queued
-- Which of these rows there are.
SELECT id FROM proctor.queue_item WHERE tenant_id = :tenant AND kind = :kind AND id = ANY(CAST(:ids AS uuid[]));

-- name: counts
-- How many rows of a holder are in each state; paused for it is what it does not want now, whoever else does.
SELECT CASE WHEN holders ->> CAST(:holder AS text) IS NULL AND state <> 'dead' THEN 'paused' ELSE state END AS state,
       count(*) AS rows
FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND holders ? CAST(:holder AS text) GROUP BY 1;

-- name: rows_of
-- The rows of a holder, and until when each waits: for its own time, or for the last of its closed gates to open. Those
-- of which the same is to be told come together: of a hundred thousand that wait for their turn that is one row.
WITH shut AS MATERIALIZED (
    SELECT l.provider, max(g.closed_until) AS until FROM proctor.queue_lane l
    JOIN proctor.queue_lane g ON g.tenant_id = l.tenant_id AND g.kind = l.kind
         AND (g.provider = l.provider OR g.provider = ANY(l.gates))
    WHERE l.tenant_id = :tenant AND l.kind = :kind AND g.closed_until > now() AND g.failures > 0 GROUP BY l.provider
)
SELECT CASE WHEN q.holders ->> CAST(:holder AS text) IS NULL AND q.state <> 'dead' THEN 'paused'
            ELSE q.state END AS state,
       CASE q.state WHEN 'waiting' THEN q.run_at WHEN 'pending' THEN s.until END AS until, q.reason,
       array_agg(q.id::text) AS ids
FROM proctor.queue_item q LEFT JOIN shut s ON s.provider = q.provider
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.holders ? CAST(:holder AS text)
  AND (CAST(:id AS uuid) IS NULL OR q.id = :id)
GROUP BY 1, 2, 3;

-- name: lane_failed
-- A failure opens a breaker: until retry-after, else 30 s doubling to 15 min. A failure that was already on its way
-- when the breaker opened does not open it further. (:careful_sec: so long only few at once, once it is open again.)
WITH lane AS (
    SELECT provider, coalesce(closed_until > now(), false) AS shut,
           CASE WHEN closed_until > now() AND CAST(:retry_after AS float) IS NULL THEN closed_until
                ELSE greatest(closed_until, now() + make_interval(secs => coalesce(
                    CAST(:retry_after AS float), least(900, 30 * power(2, least(failures, 10)))))) END AS until
    FROM proctor.queue_lane WHERE tenant_id = :tenant AND kind = :kind AND provider = :provider FOR UPDATE
)
UPDATE proctor.queue_lane l
SET failures = l.failures + (NOT lane.shut)::int, closed_until = lane.until,
    shut_token = CASE WHEN lane.shut THEN l.shut_token
                      ELSE coalesce(pg_sequence_last_value('proctor.queue_token'), 0) END,
    careful_until = greatest(l.careful_until, lane.until + make_interval(secs => CAST(:careful_sec AS float))),
    counts = coalesce((SELECT jsonb_object_agg(class, rows) FROM (
                           SELECT key AS class, sum(value::int) AS rows FROM (
                               SELECT * FROM jsonb_each_text(l.counts) UNION ALL
                               SELECT * FROM jsonb_each_text(CAST(:counts AS jsonb))) each GROUP BY key) summed), '{}'),
    reason = CASE WHEN l.paused THEN l.reason ELSE :reason END
FROM lane WHERE l.tenant_id = :tenant AND l.kind = :kind AND l.provider = lane.provider;

-- name: lanes_worked
-- What was claimed before trouble began says nothing of now; without a token it is known otherwise.
WITH worked AS (
    SELECT l.provider FROM proctor.queue_lane l
    JOIN unnest(CAST(:names AS text[]), CAST(:tokens AS bigint[])) AS r (name, token) ON r.name = l.provider
    WHERE l.tenant_id = :tenant AND l.kind = :kind AND (l.failures > 0 OR l.counts <> '{}')
      AND (r.token IS NULL OR l.shut_token IS NULL OR l.shut_token < r.token)
    ORDER BY l.provider FOR UPDATE OF l
), closed AS (
    SELECT l.provider FROM proctor.queue_lane l JOIN worked w ON w.provider = l.provider
    WHERE l.tenant_id = :tenant AND l.kind = :kind AND l.failures > 0
), healed AS (
    UPDATE proctor.queue_lane l
    SET failures = 0, closed_until = NULL, counts = '{}', reason = CASE WHEN paused THEN reason ELSE '' END
    FROM worked w WHERE l.tenant_id = :tenant AND l.kind = :kind AND l.provider = w.provider
)
SELECT provider FROM closed;

-- name: gates_of
-- What the lanes of claims wait for.
SELECT q.token, l.gates || l.provider AS keys FROM proctor.queue_item q
JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (id, token) ON q.id = r.id AND q.token = r.token
JOIN proctor.queue_lane l ON l.tenant_id = q.tenant_id AND l.kind = q.kind AND l.provider = q.provider
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'claimed';

-- name: probed
-- The failing gates that claims were let through as probes, each with the last token.
SELECT g.provider, max(q.token) AS token FROM proctor.queue_lane g
JOIN proctor.queue_lane l ON l.tenant_id = g.tenant_id AND l.kind = g.kind
     AND (l.provider = g.provider OR g.provider = ANY(l.gates))
JOIN proctor.queue_item q ON q.tenant_id = l.tenant_id AND q.kind = l.kind AND q.provider = l.provider
JOIN unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS r (id, token) ON q.id = r.id AND q.token = r.token
WHERE g.tenant_id = :tenant AND g.kind = :kind AND g.failures > 0 AND q.state = 'claimed'
  AND coalesce(g.shut_token, 0) < q.token
GROUP BY g.provider;

-- name: failing
-- Which of these are failing already; all stay locked to the end of the transaction, in the order of their names.
SELECT provider, failures, coalesce(shut_token, 0) AS shut_token FROM proctor.queue_lane
WHERE tenant_id = :tenant AND kind = :kind AND provider = ANY(CAST(:names AS text[])) ORDER BY provider FOR UPDATE;

-- name: lane_strained
-- Failures that close nothing yet, and how many there are now without a success in between.
UPDATE proctor.queue_lane l
SET shut_token = CASE WHEN l.counts = '{}' THEN coalesce(pg_sequence_last_value('proctor.queue_token'), 0)
                      ELSE l.shut_token END,
    counts = (SELECT jsonb_object_agg(class, rows) FROM (
                  SELECT key AS class, sum(value::int) AS rows FROM (
                      SELECT * FROM jsonb_each_text(l.counts) UNION ALL
                      SELECT * FROM jsonb_each_text(CAST(:counts AS jsonb))) each GROUP BY key) summed)
WHERE tenant_id = :tenant AND kind = :kind AND provider = :provider
RETURNING (SELECT sum(value::int) FROM jsonb_each_text(counts)) AS in_a_row;

-- name: pause_lane
INSERT INTO proctor.queue_lane (tenant_id, kind, provider, paused, reason)
VALUES (:tenant, :kind, :provider, true, :reason)
ON CONFLICT (tenant_id, kind, provider) DO UPDATE SET paused = true, reason = EXCLUDED.reason;

-- name: open_lane
UPDATE proctor.queue_lane
SET paused = false, failures = 0, closed_until = NULL, careful_until = NULL, counts = '{}', reason = ''
WHERE tenant_id = :tenant AND kind = :kind AND provider = :provider
  AND (paused OR failures > 0 OR closed_until > now() OR careful_until > now())
RETURNING provider;

-- name: limit_lane
INSERT INTO proctor.queue_lane AS l (tenant_id, kind, provider, max_running, per_minute)
VALUES (:tenant, :kind, :provider, :max_running, :per_minute)
ON CONFLICT (tenant_id, kind, provider) DO UPDATE
SET max_running = EXCLUDED.max_running, per_minute = EXCLUDED.per_minute
WHERE (l.max_running, l.per_minute) IS DISTINCT FROM (EXCLUDED.max_running, EXCLUDED.per_minute);

-- name: lock_turns
-- Turns of a name are given one at a time, to whichever tenant: what the next statement sees is what the last one left.
SELECT pg_advisory_xact_lock(hashtextextended('proctor.queue.turns.' || :kind || '/' || CAST(:name AS text), 0));

-- name: take_turn
-- The next turn, if it is due, or when to ask again. Turns come one every :every seconds, :at_once of them together
-- after a while without. Nothing is kept for who is turned away, only that somebody was: he may be dead by then.
WITH clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now, make_interval(secs => :every) AS every
), due AS MATERIALIZED (
    SELECT now, every, greatest(now, max(l.next_start)) AS next,
           greatest(0, extract(epoch FROM max(l.next_start) - (:at_once - 1) * every - now)) AS wait
    FROM clock LEFT JOIN proctor.queue_lane l ON l.kind = :kind AND l.provider = :name GROUP BY now, every
)
INSERT INTO proctor.queue_lane AS mine (tenant_id, kind, provider, per_minute, next_start, closed_until)
SELECT :tenant, :kind, :name, :per_minute, CASE WHEN wait > 0 THEN next ELSE next + every END,
       CASE WHEN wait > 0 THEN now + make_interval(secs => wait) + every END
FROM due
ON CONFLICT (tenant_id, kind, provider) DO UPDATE
SET per_minute = EXCLUDED.per_minute, next_start = EXCLUDED.next_start,
    closed_until = greatest(mine.closed_until, EXCLUDED.closed_until)
RETURNING (SELECT coalesce(wait, 0) FROM due)::float AS wait;

-- name: lanes
SELECT provider, paused, reason, closed_until, failures, max_running, per_minute, counts FROM proctor.queue_lane
WHERE tenant_id = :tenant AND kind = :kind ORDER BY provider;

-- name: blocked
-- Which gates are closed or full that a holder's rows wait for; a node's is told whoever waits. Full: what the limit
-- allows runs. And turns at registries of its rows, running ones too, that somebody was told to wait for.
WITH lane AS MATERIALIZED (
    SELECT l.provider, l.gates || l.provider AS keys, q.rows FROM proctor.queue_lane l
    JOIN (SELECT provider, count(*) AS rows FROM proctor.queue_item
          WHERE tenant_id = :tenant AND kind = :kind AND state = 'pending'
            AND holders ->> CAST(:holder AS text) IS NOT NULL GROUP BY provider) q ON q.provider = l.provider
    WHERE l.tenant_id = :tenant AND l.kind = :kind
), running AS MATERIALIZED (
    SELECT key, count(*) AS rows FROM proctor.queue_item q
    JOIN proctor.queue_lane l ON l.tenant_id = q.tenant_id AND l.kind = q.kind AND l.provider = q.provider
    CROSS JOIN unnest(l.gates || l.provider) key
    WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'claimed' GROUP BY key
)
SELECT g.provider AS key, g.paused, g.reason, g.failures, g.counts, g.per_minute,
       CASE WHEN g.closed_until > now() AND g.failures > 0 THEN g.closed_until END AS until,
       coalesce(r.rows, 0) AS running,
       coalesce((SELECT sum(lane.rows) FROM lane WHERE g.provider = ANY(lane.keys)), 0)::int AS pending,
       coalesce(g.max_running, CASE WHEN g.careful_until > now() THEN CAST(:careful AS int) END) AS most
FROM proctor.queue_lane g LEFT JOIN running r ON r.key = g.provider
WHERE g.tenant_id = :tenant AND g.kind = :kind
  AND (g.paused OR g.closed_until > now() OR g.failures > 0 OR g.next_start > now()
       OR coalesce(g.max_running, CASE WHEN g.careful_until > now() THEN CAST(:careful AS int) END)
          <= coalesce(r.rows, 0))
  AND (EXISTS (SELECT FROM lane WHERE g.provider = ANY(lane.keys)) OR g.provider LIKE 'node/%'
       OR g.provider LIKE 'pulls/%' AND g.closed_until > now() AND EXISTS (
           SELECT FROM proctor.queue_lane l
           JOIN proctor.queue_item q ON q.tenant_id = l.tenant_id AND q.kind = l.kind AND q.provider = l.provider
           WHERE l.tenant_id = :tenant AND l.kind = :kind AND 'registry/' || substr(g.provider, 7) = ANY(l.gates)
             AND q.state IN ('pending', 'claimed') AND q.holders ->> CAST(:holder AS text) IS NOT NULL))
ORDER BY g.provider;

-- name: waited
-- How long these rows were ready before they were claimed just now, in seconds.
SELECT id, extract(epoch FROM now() - ready_at)::float AS seconds FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND id = ANY(CAST(:ids AS uuid[]));

-- name: set_share
INSERT INTO proctor.queue_share (tenant_id, kind, weight, over_quota) VALUES (:tenant, :kind, :weight, :over_quota)
ON CONFLICT (tenant_id, kind) DO UPDATE SET weight = EXCLUDED.weight, over_quota = EXCLUDED.over_quota;

-- name: set_over_quota
INSERT INTO proctor.queue_share AS s (tenant_id, kind, over_quota) VALUES (:tenant, :kind, :over_quota)
ON CONFLICT (tenant_id, kind) DO UPDATE SET over_quota = EXCLUDED.over_quota
WHERE s.over_quota <> EXCLUDED.over_quota;

-- name: dead_letters
SELECT id, provider, reason, picks, tries, losses, enqueued_at, payload FROM proctor.queue_item
WHERE tenant_id = :tenant AND kind = :kind AND state = 'dead'
  AND (CAST(:holder AS text) IS NULL OR holders ? CAST(:holder AS text))
ORDER BY id LIMIT :limit;

-- name: requeue_dead
-- A row of a paused holder comes back paused. A row that nobody will ever want again stays where it is.
UPDATE proctor.queue_item q
SET state = CASE WHEN q.holders @? '$.* ? (@ != null)' THEN 'pending' ELSE 'paused' END,
    tries = 0, losses = 0, losses_alone = 0, reason = '', run_at = now(), ready_at = now(), enqueued_at = now(),
    deadline = NULL
WHERE q.tenant_id = :tenant AND q.kind = :kind AND q.state = 'dead' AND q.holders <> '{}'
  AND (CAST(:holder AS text) IS NULL OR q.holders ? CAST(:holder AS text))
  AND (CAST(:ids AS uuid[]) IS NULL OR q.id = ANY(CAST(:ids AS uuid[])))
RETURNING q.id;

-- name: purge_dead
DELETE FROM proctor.queue_item WHERE tenant_id = :tenant AND kind = :kind AND state = 'dead'
  AND (CAST(:ids AS uuid[]) IS NULL OR id = ANY(CAST(:ids AS uuid[]))) RETURNING id;

-- name: depths
-- By lane, of all tenants together. Providers are named by users: those beyond the hundred with the most rows are one.
WITH many AS (
    SELECT provider FROM proctor.queue_item GROUP BY provider ORDER BY count(*) DESC, provider LIMIT 100
)
SELECT q.kind, coalesce(m.provider, '(others)') AS provider, q.band, q.state, count(*) AS rows,
       greatest(0, extract(epoch FROM now() - min(q.ready_at)))::float AS oldest_sec
FROM proctor.queue_item q LEFT JOIN many m ON m.provider = q.provider GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- name: erase
-- A tenant's rows of a kind, whoever runs them.
DELETE FROM proctor.queue_item WHERE tenant_id = :tenant AND kind = :kind;
