-- Samples of the installation's health, as the scheduler.

-- name: keep
-- Two servers that look in the same minute keep one sample.
INSERT INTO proctor.health_sample (at, oldest_critical, oldest_high, oldest_normal, oldest_low, pending, waiting, claimed,
                                   paused, dead, sandboxes, infrastructure, provider, relay_lag, ended)
VALUES (date_trunc('minute', now()), :oldest_critical, :oldest_high, :oldest_normal, :oldest_low, :pending, :waiting,
        :claimed, :paused, :dead, :sandboxes, :infrastructure, :provider, :relay_lag, :ended)
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
