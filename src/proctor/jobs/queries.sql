-- name: insert_job
INSERT INTO proctor.evaluation_job
    (tenant_id, id, name, spec, dataset_version, sample_set, band, rows, repeats, chunk_rows, chunks, budget_nano,
     creator, trace_id, kept, stream, open)
VALUES (:tenant, :id, :name, CAST(:spec AS jsonb), :dataset_version, :sample_set, :band, :rows, :repeats, :chunk_rows,
        :chunks, :budget_nano, :creator, :trace_id, :kept, :stream, :stream);

-- name: find_jobs
-- A job by its id, the beginning of one, or its name: of those with the name the newest first. What was deleted has
-- given its name up.
SELECT * FROM proctor.evaluation_job
WHERE tenant_id = :tenant AND (id::text LIKE :beginning OR (name = :reference AND state <> 'deleted'))
ORDER BY (name = :reference) DESC, created_at DESC, id DESC LIMIT 2;

-- name: list_jobs
SELECT * FROM proctor.evaluation_job
WHERE tenant_id = :tenant AND CASE WHEN CAST(:state AS text) IS NULL THEN state <> 'deleted' ELSE state = :state END
  AND (CAST(:words AS text) IS NULL OR strpos(lower(name), lower(:words)) > 0)
  AND (CAST(:before AS uuid) IS NULL OR id < :before)
ORDER BY id DESC LIMIT :limit;

-- name: lock_job
SELECT * FROM proctor.evaluation_job WHERE tenant_id = :tenant AND id = :id FOR UPDATE;

-- name: set_state
UPDATE proctor.evaluation_job
SET state = :state, ended_at = CASE WHEN :ended THEN coalesce(ended_at, now()) END, open = open AND NOT :ended
WHERE tenant_id = :tenant AND id = :id;

-- name: begin_jobs
-- Their first chunks were claimed.
UPDATE proctor.evaluation_job SET state = 'running', started_at = coalesce(started_at, now())
WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND state = 'queued' RETURNING id;

-- name: jobs_of
-- What workers have to know of jobs to do their chunks.
SELECT id, state, spec, dataset_version, sample_set, rows, repeats, chunk_rows, chunks, stream, creator, trace_id
FROM proctor.evaluation_job WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[]));

-- name: advance
-- Chunks that are done, and what came of them: {evaluator: {status: rows}} is added up. A cancelled job stays so, and
-- an open stream goes on.
UPDATE proctor.evaluation_job j
SET chunks_done = j.chunks_done + :chunks,
    counts = (
        SELECT coalesce(jsonb_object_agg(evaluator, statuses), '{}') FROM (
            SELECT evaluator, jsonb_object_agg(status, rows) AS statuses FROM (
                SELECT e.key AS evaluator, s.key AS status, sum(s.value::bigint) AS rows
                FROM (VALUES (j.counts), (CAST(:counts AS jsonb))) AS both_of (counts),
                     jsonb_each(both_of.counts) e, jsonb_each_text(e.value) s
                GROUP BY e.key, s.key
            ) summed GROUP BY evaluator
        ) grouped
    ),
    started_at = coalesce(j.started_at, now()),
    state = CASE WHEN j.state IN ('queued', 'running', 'paused') AND j.chunks_done + :chunks = j.chunks AND NOT j.open
                 THEN 'complete'
                 WHEN j.state = 'queued' THEN 'running' ELSE j.state END,
    ended_at = CASE WHEN j.state IN ('queued', 'running', 'paused') AND j.chunks_done + :chunks = j.chunks AND NOT j.open
                    THEN now()
                    ELSE j.ended_at END
WHERE j.tenant_id = :tenant AND j.id = :id
RETURNING j.state, j.held_at IS NOT NULL AS held;

-- name: close_gaps
-- A job of which nothing is left but chunks that nobody will try again.
UPDATE proctor.evaluation_job SET state = 'complete_with_gaps', ended_at = now()
WHERE tenant_id = :tenant AND id = :id AND state IN ('queued', 'running') AND chunks_done < chunks AND NOT open
RETURNING id;

-- name: hold_job
-- A first hold stays as it was put.
UPDATE proctor.evaluation_job SET held_at = now(), held_by = :by, held_reason = :reason
WHERE tenant_id = :tenant AND id = :id AND held_at IS NULL;

-- name: release_job
UPDATE proctor.evaluation_job SET held_at = NULL, held_by = NULL, held_reason = NULL
WHERE tenant_id = :tenant AND id = :id;

-- name: delete_job
-- What it was stays, with who deleted it and when.
UPDATE proctor.evaluation_job SET state = 'deleted', deleted_at = now(), deleted_by = :by
WHERE tenant_id = :tenant AND id = :id AND state <> 'deleted';

-- name: unkept_jobs
-- Jobs whose results go when they are old enough; a deleted one has none.
SELECT id FROM proctor.evaluation_job
WHERE tenant_id = :tenant AND NOT kept AND held_at IS NULL AND state <> 'deleted' ORDER BY id;

-- name: unkept_streams
SELECT id FROM proctor.evaluation_job
WHERE tenant_id = :tenant AND stream AND NOT kept AND held_at IS NULL AND state <> 'deleted' ORDER BY id;

-- name: lock_samples
-- Nobody submits a job that judges them before this transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended('proctor.samples ' || :tenant || ' ' || :id, 0));

-- name: keep_samples
-- Nobody deletes them before this transaction ends.
SELECT pg_advisory_xact_lock_shared(hashtextextended('proctor.samples ' || :tenant || ' ' || :id, 0));

-- name: jobs_on_samples
-- Jobs that judge these outputs.
SELECT name FROM proctor.evaluation_job
WHERE tenant_id = :tenant AND sample_set = :id AND state <> 'deleted' ORDER BY created_at DESC LIMIT 1;

-- name: delete_samples
DELETE FROM proctor.sample_set WHERE tenant_id = :tenant AND id = :id;

-- name: insert_samples
INSERT INTO proctor.sample_set
    (tenant_id, id, name, dataset_version, rows, repeats, outputs, parts, content_hash, model, source, creator,
     left_out, problems)
VALUES (:tenant, :id, :name, :dataset_version, :rows, :repeats, :outputs, CAST(:parts AS jsonb), :content_hash, :model,
        :source, :creator, :left_out, CAST(:problems AS jsonb))
ON CONFLICT (tenant_id, id) DO NOTHING RETURNING id;

-- name: find_samples
-- Outputs by their id, the beginning of one, or their name: of those with the name the newest first.
SELECT * FROM proctor.sample_set
WHERE tenant_id = :tenant AND (id::text LIKE :beginning OR name = :reference)
ORDER BY (name = :reference) DESC, created_at DESC, id DESC LIMIT 2;

-- name: samples_of
SELECT * FROM proctor.sample_set WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[]));

-- name: list_samples
SELECT * FROM proctor.sample_set
WHERE tenant_id = :tenant AND (CAST(:before AS uuid) IS NULL OR (created_at, id) < (
    SELECT s.created_at, s.id FROM proctor.sample_set s WHERE s.tenant_id = :tenant AND s.id = :before))
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: insert_event
-- What happened to a job, with how far it is; an event that is there already is the same.
INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)
SELECT tenant_id, :event, :name, id, trace_id,
       jsonb_build_object('name', name, 'state', state, 'chunks', chunks, 'chunks_done', chunks_done)
FROM proctor.evaluation_job WHERE tenant_id = :tenant AND id = :id
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: known_parts
-- Which of these objects are parts of outputs that are kept.
SELECT part ->> 'key' AS key FROM proctor.sample_set, jsonb_array_elements(parts) AS part
WHERE tenant_id = :tenant AND part ->> 'key' = ANY(CAST(:keys AS text[]));

-- name: budget_of
SELECT budget_nano FROM proctor.evaluation_job WHERE tenant_id = :tenant AND id = :id;

-- name: replies_of
-- What a target answered already, of these examples in one repeat.
SELECT example, output, status, error, model, seconds, cost_nano FROM proctor.target_output
WHERE tenant_id = :tenant AND target = :target AND repeat = :repeat AND example = ANY(CAST(:examples AS bytea[]));

-- name: keep_replies
-- Replies as they arrive. The first one of an example and repeat is the one that is judged.
INSERT INTO proctor.target_output
    (tenant_id, target, example, repeat, output, status, error, model, seconds, cost_nano, call_id, job_id)
SELECT :tenant, r.target, decode(r.example, 'hex'), r.repeat, r.output, r.status, r.error, r.model, r.seconds,
       r.cost_nano, r.call_id, r.job_id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (target text, example text, repeat int, output text, status text,
    error text, model text, seconds float, cost_nano bigint, call_id uuid, job_id uuid)
ORDER BY r.target, r.example, r.repeat
ON CONFLICT (tenant_id, target, example, repeat) DO NOTHING;

-- name: judgements_of
-- What an evaluator said already, of these outputs in one repeat.
SELECT sample, score, status, label, error FROM proctor.judgement
WHERE tenant_id = :tenant AND evaluator = :evaluator AND repeat = :repeat AND sample = ANY(CAST(:samples AS bytea[]));

-- name: keep_judgements
-- What models said, as it arrives. The first of an output and repeat is the one that counts.
INSERT INTO proctor.judgement
    (tenant_id, evaluator, sample, repeat, score, status, label, error, cost_nano, job_id)
SELECT :tenant, r.evaluator, decode(r.sample, 'hex'), r.repeat, r.score, r.status, r.label, r.error, r.cost_nano,
       r.job_id
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (evaluator text, sample text, repeat int, score float, status text,
    label text, error text, cost_nano bigint, job_id uuid)
ORDER BY r.evaluator, r.sample, r.repeat
ON CONFLICT (tenant_id, evaluator, sample, repeat) DO NOTHING;

-- name: jobs_named
-- All jobs of a name, the newest first.
SELECT * FROM proctor.evaluation_job WHERE tenant_id = :tenant AND name = :name
ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: held_jobs
SELECT name FROM proctor.evaluation_job WHERE tenant_id = :tenant AND held_at IS NOT NULL ORDER BY name LIMIT 1;

-- name: erase
-- Everything of a tenant.
WITH jobs AS (DELETE FROM proctor.evaluation_job WHERE tenant_id = :tenant),
     replies AS (DELETE FROM proctor.target_output WHERE tenant_id = :tenant),
     judgements AS (DELETE FROM proctor.judgement WHERE tenant_id = :tenant),
     prompts AS (DELETE FROM proctor.prompt_version WHERE tenant_id = :tenant),
     pieces AS (DELETE FROM proctor.job_piece WHERE tenant_id = :tenant)
DELETE FROM proctor.sample_set WHERE tenant_id = :tenant;

-- name: lock_prompts
-- Versions of a tenant's prompts are numbered one after the other.
SELECT pg_advisory_xact_lock(hashtextextended('proctor.prompts ' || :tenant, 0));

-- name: prompt_of_digest
SELECT * FROM proctor.prompt_version WHERE tenant_id = :tenant AND name = :name AND digest = :digest;

-- name: count_prompts
SELECT count(*) FROM proctor.prompt_version WHERE tenant_id = :tenant;

-- name: insert_prompt
INSERT INTO proctor.prompt_version (tenant_id, name, version, system, prompt, digest, description, creator)
SELECT :tenant, :name, coalesce(max(version), 0) + 1, :system, :prompt, :digest, :description, :creator
FROM proctor.prompt_version WHERE tenant_id = :tenant AND name = :name
RETURNING *;

-- name: find_prompt
SELECT * FROM proctor.prompt_version
WHERE tenant_id = :tenant AND name = :name AND (CAST(:version AS int) IS NULL OR version = :version)
ORDER BY version DESC LIMIT 1;

-- name: list_prompts
-- Without their texts.
SELECT name, version, digest, description, creator, created_at FROM proctor.prompt_version
WHERE tenant_id = :tenant ORDER BY name, version DESC;

-- name: pieces_of
-- Where the rows of these chunks of streams are.
SELECT p.job_id, p.chunk, p.start, p.rows, p.examples, p.outputs
FROM proctor.job_piece p
JOIN unnest(CAST(:jobs AS uuid[]), CAST(:chunks AS int[])) AS w (job, chunk) ON w.job = p.job_id AND w.chunk = p.chunk
WHERE p.tenant_id = :tenant;

-- name: insert_pieces
INSERT INTO proctor.job_piece (tenant_id, job_id, chunk, start, rows, examples, outputs)
SELECT :tenant, :id, r.chunk, r.start, r.rows, r.examples, r.outputs
FROM jsonb_to_recordset(CAST(:pieces AS jsonb)) AS r (chunk int, start bigint, rows int, examples jsonb, outputs jsonb);

-- name: grow_job
UPDATE proctor.evaluation_job SET rows = rows + :rows, chunks = chunks + :chunks
WHERE tenant_id = :tenant AND id = :id;

-- name: close_stream
-- No more rows; where all that came has its results, that is the end.
UPDATE proctor.evaluation_job
SET open = false,
    state = CASE WHEN chunks_done = chunks THEN 'complete' ELSE state END,
    ended_at = CASE WHEN chunks_done = chunks THEN now() ELSE ended_at END
WHERE tenant_id = :tenant AND id = :id AND open;

-- name: wake_workers
SELECT pg_notify(:channel, '');

-- name: named_pieces
-- Which of these objects hold rows of streams.
SELECT o.key FROM proctor.job_piece p, LATERAL (VALUES (p.examples ->> 'key'), (p.outputs ->> 'key')) AS o (key)
WHERE p.tenant_id = :tenant AND p.job_id = ANY(CAST(:jobs AS uuid[])) AND o.key = ANY(CAST(:keys AS text[]));

-- name: aged_pieces
-- Of these streams what came so many days ago, the oldest first.
SELECT job_id, chunk, created_at, examples ->> 'key' AS examples, outputs ->> 'key' AS outputs FROM proctor.job_piece
WHERE tenant_id = :tenant AND job_id = ANY(CAST(:jobs AS uuid[])) AND created_at < now() - make_interval(days => :days)
  AND (created_at, job_id, chunk) > (CAST(:since AS timestamptz), CAST(:job AS uuid), CAST(:chunk AS int))
ORDER BY created_at, job_id, chunk LIMIT :limit;

-- name: drop_pieces
DELETE FROM proctor.job_piece p
USING unnest(CAST(:jobs AS uuid[]), CAST(:chunks AS int[])) AS w (job, chunk)
WHERE p.tenant_id = :tenant AND p.job_id = w.job AND p.chunk = w.chunk;

-- name: drop_stream
DELETE FROM proctor.job_piece WHERE tenant_id = :tenant AND job_id = :id;
