-- name: record
-- Batches that count from this transaction on. A batch that is there already is the same.
INSERT INTO proctor.result_batch
    (tenant_id, id, job_id, chunk, path, staged, sha256, rows, bytes, min_time, max_time, schema_version, counts,
     sums, held)
SELECT :tenant, r.id, r.job, r.chunk, r.path, decode(r.staged, 'base64'), r.sha256, r.rows, r.bytes, r.min_time,
       r.max_time, :schema_version, r.counts, r.sums, :held
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id uuid, job uuid, chunk int, path text, staged text, sha256 text,
    rows bigint, bytes bigint, min_time timestamptz, max_time timestamptz, counts jsonb, sums jsonb)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: live
-- The batches that count, of one job or of all, whose times touch an interval; in the order of their rows.
SELECT id, job_id, chunk, path, staged, sha256, rows, bytes, min_time, max_time, counts, sums
FROM proctor.result_batch
WHERE tenant_id = :tenant AND state = 'live'
  AND (CAST(:jobs AS uuid[]) IS NULL OR job_id = ANY(CAST(:jobs AS uuid[])))
  AND (CAST(:since AS timestamptz) IS NULL OR max_time >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR min_time < :until)
ORDER BY job_id, chunk, min_time, id;

-- name: chunks_done
-- The chunks of a job that have results.
SELECT chunk FROM proctor.result_batch WHERE tenant_id = :tenant AND job_id = :job AND chunk IS NOT NULL ORDER BY chunk;

-- name: pace
-- Rows of a job in the last seconds, and how long ago the first of them came.
SELECT coalesce(sum(rows), 0)::bigint AS rows,
       coalesce(extract(epoch FROM now() - min(created_at)), 0)::float AS seconds
FROM proctor.result_batch
WHERE tenant_id = :tenant AND job_id = :job AND created_at > now() - make_interval(secs => :within);

-- name: mergeable
-- Jobs whose batches are worth merging: several small ones, the newest of which came a while ago or are large together;
-- or so many staged ones, as of a stream that never rests. Of those only what is staged is merged.
SELECT job_id, held, count(*) AS batches, sum(rows)::bigint AS rows, sum(bytes)::bigint AS bytes,
       max(created_at) >= now() - make_interval(secs => :rested) AND sum(bytes) < :large AS staged_only
FROM proctor.result_batch
WHERE tenant_id = :tenant AND state = 'live' AND bytes < :small
GROUP BY job_id, held
HAVING count(*) > 1 AND (max(created_at) < now() - make_interval(secs => :rested) OR sum(bytes) >= :large
                        OR count(*) FILTER (WHERE path IS NULL) >= :many)
ORDER BY sum(bytes) DESC LIMIT :limit;

-- name: merging
-- A job's small live batches of one legal-hold state, in the order of their rows; nobody else changes them meanwhile.
SELECT id, job_id, chunk, path, staged, sha256, rows, bytes, min_time, max_time, counts, sums
FROM proctor.result_batch
WHERE tenant_id = :tenant AND job_id = :job AND held = :held AND state = 'live' AND bytes < :small
  AND (path IS NULL OR NOT :staged_only)
ORDER BY chunk, min_time, id LIMIT :limit;

-- name: supersede
-- Of these those that still count, and are in that legal-hold state, stop counting.
UPDATE proctor.result_batch SET state = 'superseded', ended_at = now(), staged = NULL
WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND state = 'live' AND held = :held
RETURNING id;

-- name: outlived
-- Batches that were superseded long ago: no query that knew of them can still be reading. A legal hold keeps them.
SELECT id, path FROM proctor.result_batch
WHERE tenant_id = :tenant AND state = 'superseded' AND NOT held AND ended_at < now() - make_interval(secs => :after) LIMIT :limit;

-- name: delete
-- Their objects are gone.
UPDATE proctor.result_batch SET state = 'deleted', path = NULL, staged = NULL, sums = NULL, ended_at = coalesce(ended_at, now())
WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND NOT held;

-- name: hold
-- Put a job's results under a legal hold, or take it away.
UPDATE proctor.result_batch SET held = :held
WHERE tenant_id = :tenant AND job_id = :job AND held <> :held AND state <> 'deleted';

-- name: end_job
-- All of a job's batches stop counting, but for those under a legal hold.
UPDATE proctor.result_batch SET state = 'superseded', ended_at = now(), staged = NULL
WHERE tenant_id = :tenant AND job_id = :job AND state = 'live' AND NOT held;

-- name: ended_of
-- A job's batches that count no more and whose objects may still be there.
SELECT id, path FROM proctor.result_batch
WHERE tenant_id = :tenant AND job_id = :job AND state = 'superseded' AND NOT held LIMIT :limit;

-- name: known_paths
-- Which of these objects a row refers to.
SELECT path FROM proctor.result_batch WHERE tenant_id = :tenant AND path = ANY(CAST(:paths AS text[]));

-- name: retention
SELECT result_days, rollup_days FROM proctor.result_retention WHERE tenant_id = :tenant;

-- name: set_retention
INSERT INTO proctor.result_retention (tenant_id, result_days, rollup_days)
VALUES (:tenant, :result_days, :rollup_days)
ON CONFLICT (tenant_id) DO UPDATE
SET result_days = EXCLUDED.result_days, rollup_days = EXCLUDED.rollup_days, changed_at = now();

-- name: aged
-- Of these jobs the batches of which every result is older than so many days, the oldest first.
SELECT id, job_id, chunk, path, staged, sha256, rows, bytes, min_time, max_time, counts, sums
FROM proctor.result_batch
WHERE tenant_id = :tenant AND state = 'live' AND NOT held AND job_id = ANY(CAST(:jobs AS uuid[]))
  AND max_time < now() - make_interval(days => :days)
ORDER BY max_time, id LIMIT :limit;

-- name: add_rollups
-- Sums are added to those of the same day, evaluator, model and status.
INSERT INTO proctor.result_rollup AS r
    (tenant_id, id, day, evaluator, model, status, n, scored, score_sum, score_squares, score_min, score_max)
SELECT :tenant, a.id, a.day, a.evaluator, a.model, a.status, a.n, a.scored, a.score_sum, a.score_squares, a.score_min,
       a.score_max
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS a (id uuid, day date, evaluator text, model text, status text,
    n bigint, scored bigint, score_sum double precision, score_squares double precision, score_min double precision,
    score_max double precision)
ORDER BY a.id
ON CONFLICT (tenant_id, id) DO UPDATE
SET n = r.n + EXCLUDED.n, scored = r.scored + EXCLUDED.scored, score_sum = r.score_sum + EXCLUDED.score_sum,
    score_squares = r.score_squares + EXCLUDED.score_squares, score_min = least(r.score_min, EXCLUDED.score_min),
    score_max = greatest(r.score_max, EXCLUDED.score_max);

-- name: rollups
SELECT day, evaluator, model, status, n, scored, score_sum, score_squares, score_min, score_max
FROM proctor.result_rollup WHERE tenant_id = :tenant ORDER BY day, evaluator, model, status;

-- name: forget_rollups
DELETE FROM proctor.result_rollup
WHERE tenant_id = :tenant AND day < (now() AT TIME ZONE 'UTC')::date - CAST(:days AS int);

-- name: erase
-- Everything of a tenant.
WITH rollups AS (DELETE FROM proctor.result_rollup WHERE tenant_id = :tenant),
     retention AS (DELETE FROM proctor.result_retention WHERE tenant_id = :tenant)
DELETE FROM proctor.result_batch WHERE tenant_id = :tenant;
