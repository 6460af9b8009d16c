-- The outbox's statements. A relay runs them as the scheduler, over every tenant's events.

-- name: read_publishable
-- Unpublished events in the order of their positions, below the oldest transaction that still runs: one that commits
-- late has its events above every event read here, so a position once passed never gets another event. A number that
-- this server has not come to is from before a restore.
SELECT tenant_id, txid, seq, id, name, subject, trace_id, payload, created_at
FROM proctor.event
WHERE published_at IS NULL AND (txid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
                                OR txid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
ORDER BY txid, seq LIMIT :limit;

-- name: mark_published
UPDATE proctor.event e SET published_at = now()
FROM unnest(CAST(:tenants AS uuid[]), CAST(:seqs AS bigint[])) AS r (tenant_id, seq)
WHERE e.tenant_id = r.tenant_id AND e.seq = r.seq AND e.published_at IS NULL;

-- name: prune
DELETE FROM proctor.event e
USING (SELECT tenant_id, seq FROM proctor.event
       WHERE published_at < now() - make_interval(secs => :age) ORDER BY published_at LIMIT :limit) old
WHERE e.tenant_id = old.tenant_id AND e.seq = old.seq;
