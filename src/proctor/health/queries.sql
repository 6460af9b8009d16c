-- Samples of the installation's health and its backups, as the scheduler.

-- name: uncounted
-- From which minute on nothing is counted by a sample yet, and this minute, before which all has ended.
SELECT greatest(coalesce(max(at), '-infinity'), date_trunc('minute', now()) - make_interval(secs => :longest)) AS since,
       date_trunc('minute', now()) AS until
FROM proctor.health_sample WHERE at < date_trunc('minute', now());

-- name: keep
-- Two servers that look in the same minute keep one sample.
INSERT INTO proctor.health_sample (at, oldest_critical, oldest_high, oldest_normal, oldest_low, pending, waiting, claimed,
                                   paused, dead, sandboxes, infrastructure, provider, relay_lag, ended, since,
                                   ended_since, lost_since)
VALUES (:at, :oldest_critical, :oldest_high, :oldest_normal, :oldest_low, :pending, :waiting,
        :claimed, :paused, :dead, :sandboxes, :infrastructure, :provider, :relay_lag, :ended, :since, :ended_since, :lost_since)
ON CONFLICT DO NOTHING;

-- name: forget
DELETE FROM proctor.health_sample WHERE at < now() - make_interval(days => :days);

-- name: history
-- Equal steps; what is an age shows its worst, what is a level its mean, and a step without a sample is NULL.
SELECT max(s.oldest_critical) AS oldest_critical, max(s.oldest_high) AS oldest_high,
       max(s.oldest_normal) AS oldest_normal, max(s.oldest_low) AS oldest_low, avg(s.pending)::float AS pending,
       avg(s.waiting)::float AS waiting, avg(s.claimed)::float AS claimed, avg(s.paused)::float AS paused,
       max(s.dead)::float AS dead, avg(s.sandboxes)::float AS sandboxes, avg(s.infrastructure) AS infrastructure,
       avg(s.provider) AS provider, max(s.relay_lag) AS relay_lag, max(s.ended)::float AS ended
FROM generate_series(CAST(:since AS timestamptz), CAST(:until AS timestamptz) - CAST(:step AS interval),
                     CAST(:step AS interval)) g (at)
LEFT JOIN proctor.health_sample s ON s.at >= g.at AND s.at < g.at + CAST(:step AS interval)
GROUP BY g.at ORDER BY g.at;

-- name: burnt
-- What samples counted between two moments: each attempt once, and of how long.
SELECT coalesce(sum(ended_since), 0)::bigint AS attempts, coalesce(sum(lost_since), 0)::bigint AS lost,
       coalesce(sum(extract(epoch FROM at - greatest(since, CAST(:since AS timestamptz)))), 0)::float AS sampled_sec
FROM proctor.health_sample WHERE at > :since AND at <= :until AND since IS NOT NULL;

-- name: record_backup
INSERT INTO proctor.backup (digest, made_at, bytes, host, folder)
VALUES (:digest, :made_at, :bytes, :host, :folder)
ON CONFLICT DO NOTHING;

-- name: judge_backup
-- Only one that this installation made is found.
UPDATE proctor.backup SET verified_at = CASE WHEN :whole THEN now() END WHERE digest = :digest RETURNING digest;

-- name: known_backup
SELECT digest FROM proctor.backup WHERE digest = :digest;

-- name: lose_backups
UPDATE proctor.backup SET verified_at = NULL WHERE host = :host AND folder = :folder;

-- name: newest_backup
SELECT digest, made_at, bytes, host, folder, verified_at, greatest(extract(epoch FROM now() - made_at), 0)::float AS age_sec
FROM proctor.backup WHERE verified_at IS NOT NULL OR NOT :verified ORDER BY made_at DESC, digest LIMIT 1;

-- name: forget_backups
DELETE FROM proctor.backup WHERE made_at < now() - make_interval(days => :days);

-- name: count_backups
SELECT count(*) FROM proctor.backup;

-- name: age
-- Since the first tenant was made: the installation's age. NULL: there is none yet.
SELECT extract(epoch FROM now() - min(created_at))::float FROM proctor.tenant;
