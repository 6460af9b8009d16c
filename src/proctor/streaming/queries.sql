-- name: keys_of
-- What was sent under these keys, where something was.
SELECT key, digest FROM proctor.stream_key
WHERE tenant_id = :tenant AND job_id = :job AND key = ANY(CAST(:keys AS bytea[]));

-- name: insert_keys
INSERT INTO proctor.stream_key (tenant_id, job_id, key, digest)
SELECT :tenant, :job, k.key, k.digest FROM unnest(CAST(:keys AS bytea[]), CAST(:digests AS bytea[])) AS k (key, digest);

-- name: refused
-- How many rows were refused, and how many of them are kept to be listed.
SELECT coalesce((SELECT refused FROM proctor.stream_tally WHERE tenant_id = :tenant AND job_id = :job), 0) AS refused;

-- name: insert_refusals
INSERT INTO proctor.stream_refusal (tenant_id, id, job_id, row, field, reason, said)
SELECT :tenant, r.id, :job, r.row, r.field, r.reason, r.said
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id uuid, row int, field text, reason text, said text);

-- name: add_refused
INSERT INTO proctor.stream_tally AS t (tenant_id, job_id, refused) VALUES (:tenant, :job, :refused)
ON CONFLICT (tenant_id, job_id) DO UPDATE SET refused = t.refused + EXCLUDED.refused;

-- name: list_refusals
-- A page, the newest first.
SELECT id, created_at AS at, row, field, reason, said FROM proctor.stream_refusal
WHERE tenant_id = :tenant AND job_id = :job AND (CAST(:before AS uuid) IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit;

-- name: let_keys_go
-- Of these streams what nobody sends again after so many days.
DELETE FROM proctor.stream_key
WHERE tenant_id = :tenant AND job_id = ANY(CAST(:jobs AS uuid[])) AND created_at < now() - make_interval(days => :days);

-- name: let_refusals_go
DELETE FROM proctor.stream_refusal
WHERE tenant_id = :tenant AND job_id = ANY(CAST(:jobs AS uuid[])) AND created_at < now() - make_interval(days => :days);

-- name: forget
-- What is known of a stream that was deleted.
WITH keys AS (DELETE FROM proctor.stream_key WHERE tenant_id = :tenant AND job_id = :job),
     refusals AS (DELETE FROM proctor.stream_refusal WHERE tenant_id = :tenant AND job_id = :job)
DELETE FROM proctor.stream_tally WHERE tenant_id = :tenant AND job_id = :job;

-- name: erase
-- Everything of a tenant.
WITH keys AS (DELETE FROM proctor.stream_key WHERE tenant_id = :tenant),
     refusals AS (DELETE FROM proctor.stream_refusal WHERE tenant_id = :tenant)
DELETE FROM proctor.stream_tally WHERE tenant_id = :tenant;
