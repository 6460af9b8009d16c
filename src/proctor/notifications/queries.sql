-- The outbox's statements. A relay runs them as the scheduler, over every tenant's events.

-- name: lead
-- Held by the connection, so that it ends with the relay however that ends.
SELECT pg_try_advisory_lock(:lock);

-- name: publish
-- Number unpublished events in the order of their transactions, below the oldest transaction that still runs: one that
-- commits late has its events above every event numbered here, so nothing is ever published below what was. A
-- transaction that this server has not come to is from before a restore. Two ranges of one index: what a long
-- transaction holds back is not read again at each turn.
WITH due AS MATERIALIZED (
    SELECT tenant_id, seq FROM (
        (SELECT tenant_id, txid, seq FROM proctor.event
         WHERE published_at IS NULL AND txid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
         ORDER BY txid, seq LIMIT :limit)
        UNION ALL
        (SELECT tenant_id, txid, seq FROM proctor.event
         WHERE published_at IS NULL AND txid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
         ORDER BY txid, seq LIMIT :limit)
    ) either ORDER BY txid, seq LIMIT :limit
), numbered AS MATERIALIZED (
    SELECT tenant_id, seq, nextval('proctor.event_position') AS position FROM due
), marked AS (
    UPDATE proctor.event e SET published_at = now(), position = n.position
    FROM numbered n WHERE e.tenant_id = n.tenant_id AND e.seq = n.seq RETURNING 1
)
SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify(:channel, '') END FROM marked;

-- name: lag
SELECT greatest(0, coalesce(extract(epoch FROM now() - min(created_at)), 0))::float FROM proctor.event
WHERE published_at IS NULL;

-- name: published
SELECT tenant_id, position, id, name, subject, trace_id, payload, created_at
FROM proctor.event WHERE position > :after ORDER BY position LIMIT :limit;

-- name: published_of
SELECT tenant_id, position, id, name, subject, trace_id, payload, created_at
FROM proctor.event WHERE tenant_id = :tenant AND position > :after ORDER BY position LIMIT :limit;

-- name: newest
SELECT position FROM proctor.event WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1;

-- name: newest_of
SELECT position, id, created_at FROM proctor.event WHERE tenant_id = :tenant AND position IS NOT NULL
ORDER BY position DESC LIMIT 1;

-- name: position_of
SELECT position FROM proctor.event WHERE tenant_id = :tenant AND id = :id AND position IS NOT NULL;

-- name: prune
DELETE FROM proctor.event e
USING (SELECT tenant_id, seq, published_at FROM proctor.event WHERE position IS NOT NULL
       ORDER BY position LIMIT :limit) first
WHERE first.published_at < now() - make_interval(secs => :age)
  AND e.tenant_id = first.tenant_id AND e.seq = first.seq;
