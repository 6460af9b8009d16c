-- The engine's statements that are more than a plain Core expression. All run in a tenant's session.

-- name: lock_plan
-- Run sets of a tenant are planned one at a time, so trial numbers are allocated once.
SELECT pg_advisory_xact_lock(hashtextextended('proctor.plan.' || CAST(:tenant AS text), 0));

-- name: find_run_set
SELECT id, name, spec_digest, suite_id, continued, policy_version, state, reason, trace_id, reuse_sec, created_at,
       ended_at, running_since
FROM proctor.run_set
WHERE tenant_id = :tenant AND name = :name AND spec_digest = :spec_digest AND suite_id = :suite_id
ORDER BY continued DESC LIMIT 1;

-- name: last_of_name
SELECT spec_digest, suite_id FROM proctor.run_set
WHERE tenant_id = :tenant AND name = :name ORDER BY created_at DESC LIMIT 1;

-- name: existing_trials
-- Cells of a configuration on these tasks that this run set may ask for again, in the order of their trials: undecided
-- ones, and those whose verdict is young enough. What the verdict says is not looked at. Those that another profile of
-- the same configuration expects already are its own.
SELECT t.place, c.id, c.decided
FROM unnest(CAST(:agent_digests AS text[]), CAST(:verifier_digests AS text[]))
    WITH ORDINALITY AS t (agent_digest, verifier_digest, place)
CROSS JOIN LATERAL (
    SELECT c.id, c.trial, r.cell_id IS NOT NULL AS decided
    FROM proctor.cell c
    LEFT JOIN proctor.result r ON r.tenant_id = c.tenant_id AND r.cell_id = c.id AND r.policy_version = :policy
    WHERE c.tenant_id = :tenant AND c.configuration = :configuration AND c.agent_digest = t.agent_digest
      AND c.verifier_digest = t.verifier_digest
      AND (r.cell_id IS NULL OR r.decided_at >= now() - make_interval(secs => :reuse))
      AND NOT EXISTS (SELECT FROM proctor.expected_cell e
                      WHERE e.tenant_id = c.tenant_id AND e.run_set_id = :run_set AND e.cell_id = c.id)
    ORDER BY c.trial LIMIT :trials) c
ORDER BY t.place, c.trial;

-- name: last_trials
SELECT coalesce((SELECT max(c.trial) FROM proctor.cell c
                 WHERE c.tenant_id = :tenant AND c.configuration = :configuration
                   AND c.agent_digest = t.agent_digest AND c.verifier_digest = t.verifier_digest), 0) AS trial
FROM unnest(CAST(:agent_digests AS text[]), CAST(:verifier_digests AS text[]))
    WITH ORDINALITY AS t (agent_digest, verifier_digest, place)
ORDER BY t.place;

-- name: insert_cells
INSERT INTO proctor.cell (tenant_id, id, configuration, agent_digest, verifier_digest, trial)
SELECT :tenant, r.id, :configuration, r.agent_digest, r.verifier_digest, r.trial
FROM unnest(CAST(:ids AS uuid[]), CAST(:agent_digests AS text[]), CAST(:verifier_digests AS text[]),
            CAST(:trials AS int[])) AS r (id, agent_digest, verifier_digest, trial) ON CONFLICT DO NOTHING;

-- name: insert_expected
INSERT INTO proctor.expected_cell (tenant_id, run_set_id, cell_id, profile, content_digest, reused)
SELECT :tenant, :run_set, r.id, :profile, r.content_digest, r.reused
FROM unnest(CAST(:ids AS uuid[]), CAST(:content_digests AS text[]), CAST(:reused AS boolean[]))
    AS r (id, content_digest, reused) ON CONFLICT DO NOTHING;

-- name: undecided
-- Cells a run set still wants a verdict for, page by page in the order of their ids; not those that ended in a class
-- which trying again can't change.
SELECT e.cell_id, e.content_digest, e.profile FROM proctor.expected_cell e
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL AND r.cell_id IS NULL
  AND e.cell_id > :after
  AND (NOT :only_owed OR EXISTS (SELECT FROM proctor.attempt a
                                 WHERE a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id))
  AND NOT coalesce((SELECT o.class = ANY(CAST(:never AS text[])) FROM proctor.own_outcome o
                    WHERE o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
                    ORDER BY o.number DESC, o.grading DESC LIMIT 1), false)
ORDER BY e.cell_id LIMIT :page;

-- name: suite_images
-- What the sandboxes of a suite's tasks start from, where they start from images.
SELECT t.content_digest, coalesce(t.images, array_remove(ARRAY[t.config #>> '{environment,docker_image}',
                                                               t.config #>> '{verifier,environment,docker_image}'], NULL))
           AS images
FROM proctor.suite_task st
JOIN proctor.task t ON t.tenant_id = st.tenant_id AND t.content_digest = st.content_digest
WHERE st.tenant_id = :tenant AND st.suite_id = :suite_id AND t.config IS NOT NULL
  AND (t.images <> '{}' OR t.images IS NULL);

-- name: wanted_images
-- What the sandboxes of a run set's cells without a verdict start from.
SELECT DISTINCT image FROM proctor.expected_cell e
JOIN proctor.task t ON t.tenant_id = e.tenant_id AND t.content_digest = e.content_digest
CROSS JOIN unnest(t.images) image
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
  AND NOT EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
                  AND r.policy_version = :policy)
ORDER BY image;

-- name: assign
-- What a claimed cell is to run for: the live run set that asked first (the worker's own, where it has one), the
-- next attempt number, and whether a verdict is already there, after which no attempt starts.
SELECT q.id AS cell_id, q.token, w.run_set_id, w.profile, w.content_digest, w.policy_version, w.trace_id,
       coalesce((SELECT max(a.number) FROM proctor.attempt a WHERE a.tenant_id = :tenant AND a.cell_id = q.id), 0) + 1
           AS number,
       EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = :tenant AND r.cell_id = q.id
               AND r.policy_version = w.policy_version) AS decided
FROM unnest(CAST(:ids AS uuid[]), CAST(:tokens AS bigint[])) AS q (id, token)
LEFT JOIN LATERAL (
    SELECT e.run_set_id, e.profile, e.content_digest, s.policy_version, s.trace_id
    FROM proctor.expected_cell e
    JOIN proctor.run_set s ON s.tenant_id = e.tenant_id AND s.id = e.run_set_id
    WHERE e.tenant_id = :tenant AND e.cell_id = q.id AND e.withdrawn_at IS NULL AND s.state = 'running'
    ORDER BY (s.id = CAST(:scope AS uuid)) DESC NULLS LAST, s.created_at LIMIT 1
) w ON true;

-- name: start_attempts
INSERT INTO proctor.attempt
    (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id, backend, trace_id, waited_sec)
SELECT :tenant, r.id, r.cell_id, r.number, r.run_set_id, r.content_digest, r.token, :worker, :backend, r.trace_id,
       r.waited_sec
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, cell_id uuid, number int, run_set_id uuid, content_digest text, token bigint, trace_id text,
          waited_sec float);

-- name: end_attempts
UPDATE proctor.attempt a
SET ended_at = now(), last_segment = greatest(a.last_segment, r.last_segment), limits = r.limits, usage = r.usage, artifacts = r.artifacts
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, last_segment int, limits jsonb, usage jsonb, artifacts jsonb)
WHERE a.tenant_id = :tenant AND a.id = r.id AND a.ended_at IS NULL;

-- name: see_attempts
-- A progress signal with the heartbeat, of attempts that have come further: how far, and when that was seen.
UPDATE proctor.attempt a
SET last_segment = greatest(a.last_segment, r.segment), phase = r.phase, progressed_at = now()
FROM unnest(CAST(:ids AS uuid[]), CAST(:segments AS int[]), CAST(:phases AS text[])) AS r (id, segment, phase)
WHERE a.tenant_id = :tenant AND a.id = r.id AND a.ended_at IS NULL;

-- name: insert_evidence
INSERT INTO proctor.evidence (tenant_id, attempt_id, seq, phase, started_at, ended_at, detail)
SELECT :tenant, r.attempt_id, r.seq, r.phase, r.started_at, r.ended_at, r.detail
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (attempt_id uuid, seq int, phase text, started_at timestamptz, ended_at timestamptz, detail jsonb)
ON CONFLICT DO NOTHING;

-- name: evidence_differs
-- A repeat with other content under the same id is no repeat.
SELECT count(*) AS rows FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (attempt_id uuid, seq int, phase text, started_at timestamptz, ended_at timestamptz, detail jsonb)
JOIN proctor.evidence e ON e.tenant_id = :tenant AND e.attempt_id = r.attempt_id AND e.seq = r.seq
WHERE (e.phase, e.detail) IS DISTINCT FROM (r.phase, r.detail);

-- name: insert_gradings
INSERT INTO proctor.grading
    (tenant_id, attempt_id, verifier_digest, number, mode, backend, forgeable, rewards, detail, graded_at)
SELECT :tenant, r.attempt_id, r.verifier_digest, r.number, r.mode, r.backend, r.forgeable, r.rewards, r.detail,
       r.graded_at
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (attempt_id uuid, verifier_digest text, number int, mode text, backend text, forgeable boolean,
          rewards jsonb, detail jsonb, graded_at timestamptz)
ON CONFLICT DO NOTHING;

-- name: insert_outcomes
INSERT INTO proctor.outcome (tenant_id, attempt_id, grading, policy_version, class, owner, rule, verdict, "limit")
SELECT :tenant, r.attempt_id, r.grading, r.policy_version, r.class, r.owner, r.rule, r.verdict, r.limit
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (attempt_id uuid, grading int, policy_version text, class text, owner text, rule text, verdict boolean,
          "limit" text)
ON CONFLICT DO NOTHING;

-- name: insert_results
-- The first verdict of a cell is final.
INSERT INTO proctor.result (tenant_id, cell_id, policy_version, attempt_id, grading, class, verdict, reward)
SELECT :tenant, r.cell_id, r.policy_version, r.attempt_id, r.grading, r.class, r.verdict, r.reward
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (cell_id uuid, attempt_id uuid, grading int, policy_version text, class text, verdict boolean, reward float)
WHERE r.verdict IS NOT NULL
ON CONFLICT DO NOTHING;

-- name: insert_events
INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)
SELECT :tenant, r.id, r.name, r.subject, r.trace_id, r.payload
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id uuid, name text, subject uuid, trace_id text, payload jsonb)
ON CONFLICT (tenant_id, id) DO NOTHING;

-- name: count_ends
-- How attempts ended, by minute. Says for each row whether it is the first of its minute.
INSERT INTO proctor.recent_end AS e
    (tenant_id, minute, run_set_id, provider, registry, node, blame, class, attempts, task, several, tasks)
SELECT :tenant, date_trunc('minute', now()), r.run_set, r.provider, r.registry, r.node, r.blame, r.class, r.attempts,
       r.task, r.several, r.tasks
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (run_set uuid, provider text, registry text, node text, blame text, class text, attempts int, task text,
          several boolean, tasks text[])
ORDER BY r.run_set, r.provider, r.registry, r.node, r.blame, r.class
ON CONFLICT (tenant_id, minute, run_set_id, provider, registry, node, blame, class) DO UPDATE
SET attempts = e.attempts + EXCLUDED.attempts,
    several = e.several OR EXCLUDED.several OR e.task <> EXCLUDED.task,
    tasks = ARRAY(SELECT DISTINCT task FROM unnest(e.tasks || EXCLUDED.tasks) task ORDER BY task LIMIT :many)
RETURNING xmax = 0;

-- name: prune_ends
DELETE FROM proctor.recent_end e USING (
    SELECT ctid FROM proctor.recent_end WHERE tenant_id = :tenant AND minute < now() - interval '1 hour'
    FOR UPDATE SKIP LOCKED) old
WHERE e.ctid = old.ctid;

-- name: count_losses
-- Attempts whose lease was lost, among the ends: counted, and nothing is blamed for them.
INSERT INTO proctor.recent_end AS e
    (tenant_id, minute, run_set_id, provider, registry, node, blame, class, attempts, task, several)
SELECT :tenant, date_trunc('minute', now()), r.run_set, '', '', '', '', 'lease_lost', count(*), '', false
FROM unnest(CAST(:run_sets AS uuid[])) AS r (run_set) GROUP BY r.run_set ORDER BY r.run_set
ON CONFLICT (tenant_id, minute, run_set_id, provider, registry, node, blame, class) DO UPDATE
SET attempts = e.attempts + EXCLUDED.attempts;

-- name: ended_lately
-- By class, lost ones too.
SELECT class, sum(attempts)::int AS attempts FROM proctor.recent_end
WHERE tenant_id = :tenant AND minute > now() - make_interval(secs => :window) - interval '1 minute'
GROUP BY class ORDER BY class;

-- name: ended_between
-- By class, lost ones too, of whole minutes. Those that were forgotten meanwhile are no longer there.
SELECT class, sum(attempts)::int AS attempts FROM proctor.recent_end
WHERE tenant_id = :tenant AND minute >= :since AND minute < :until
GROUP BY class ORDER BY class;

-- name: recent_ends
-- Minutes as a whole: the oldest may have begun before the window did.
SELECT run_set_id AS run_set, provider, registry, node, blame, class AS outcome, sum(attempts)::int AS attempts,
       min(task) AS task, bool_or(several) OR count(DISTINCT task) > 1 AS several, jsonb_agg(to_jsonb(tasks)) AS tasks,
       extract(epoch FROM max(minute) - min(minute))::float AS lasted_sec
FROM proctor.recent_end
WHERE tenant_id = :tenant AND minute > now() - make_interval(secs => :window) - interval '1 minute'
  AND class <> 'lease_lost'
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6;

-- name: forget_ends
DELETE FROM proctor.recent_end
WHERE tenant_id = :tenant
  AND CAST(:name AS text) = CASE CAST(:scope AS text) WHEN 'provider' THEN provider WHEN 'registry' THEN registry
                                 WHEN 'node' THEN node ELSE run_set_id::text END;

-- name: lost_attempts
-- The attempts whose lease was lost, by their tokens.
SELECT a.id, a.cell_id, a.run_set_id, a.trace_id, s.policy_version,
       coalesce((SELECT max(e.seq) FROM proctor.evidence e WHERE e.tenant_id = a.tenant_id AND e.attempt_id = a.id), 0)
           AS seq, a.started_at
FROM proctor.attempt a JOIN proctor.run_set s ON s.tenant_id = a.tenant_id AND s.id = a.run_set_id
WHERE a.tenant_id = :tenant AND a.token = ANY(CAST(:tokens AS bigint[])) AND a.cell_id = ANY(CAST(:cells AS uuid[]))
  AND a.ended_at IS NULL;

-- name: recorded_attempts
-- Which of these attempts ended in an outcome of their own: that a lease was lost is said by another worker.
SELECT DISTINCT o.attempt_id FROM proctor.outcome o
WHERE o.tenant_id = :tenant AND o.attempt_id = ANY(CAST(:ids AS uuid[])) AND o.rule <> 'lease-lost';

-- name: run_set_context
-- What every attempt of a run set's profile shares.
SELECT p.position, p.name, p.series, p.configuration, p.routing, c.document
FROM proctor.run_set_profile p
JOIN proctor.configuration c ON c.tenant_id = p.tenant_id AND c.hash = p.configuration
WHERE p.tenant_id = :tenant AND p.run_set_id = :run_set ORDER BY p.position;

-- name: profile_names
SELECT position, name FROM proctor.run_set_profile
WHERE tenant_id = :tenant AND run_set_id = :run_set ORDER BY position;

-- name: read_widely
-- For statements over all of a run set's cells: hashes of a million rows in memory, on two processors.
SELECT set_config('work_mem', '256MB', true), set_config('max_parallel_workers_per_gather', '2', true);

-- name: read_in_one
-- The same, where the groups are as many as the rows: on one processor, since putting parts together takes longer than
-- two save; and no code is compiled, which takes longer than to run it.
SELECT set_config('work_mem', '256MB', true), set_config('max_parallel_workers_per_gather', '0', true),
       set_config('jit', 'off', true);

-- name: take_few_for_many
-- Of rows that were just written the planner knows no number, and takes them for few: whether it may join them row by row,
-- and sort them, which those that are only grouped need not be.
SELECT set_config('enable_nestloop', :loops, true), set_config('enable_sort', :sorts, true);

-- name: tallies
-- Expected, decided and passed cells by profile, task and the class of their verdict: the one source of every rate.
-- Rewards may be as large as a float can be, and their sum is not one then: it is taken over 2^64, which is exact.
SELECT e.profile, e.content_digest, r.class, count(*) FILTER (WHERE e.withdrawn_at IS NULL) AS expected,
       count(r.cell_id) FILTER (WHERE e.withdrawn_at IS NULL) AS decided,
       count(*) FILTER (WHERE e.withdrawn_at IS NULL AND r.verdict) AS passed,
       count(*) FILTER (WHERE e.withdrawn_at IS NOT NULL) AS withdrawn,
       sum(r.reward / 18446744073709551616.0::float) FILTER (WHERE e.withdrawn_at IS NULL) AS reward,
       count(r.reward) FILTER (WHERE e.withdrawn_at IS NULL) AS rewarded
FROM proctor.expected_cell e
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set
GROUP BY e.profile, e.content_digest, r.class ORDER BY e.profile, e.content_digest, r.class;

-- name: undecided_classes
-- Cells without a verdict by profile and the class of their last attempt.
SELECT e.profile, coalesce(last.class, 'not_started') AS class, coalesce(last.owner, 'nobody') AS owner,
       count(*) AS cells
FROM proctor.expected_cell e
LEFT JOIN LATERAL (
    SELECT o.class, o.owner FROM proctor.own_outcome o
    WHERE o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) last ON true
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
  AND NOT EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
                  AND r.policy_version = :policy)
GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC, 2;

-- name: usage_sums
-- Cost and tokens over all attempts behind a run set's cells, what of it this run set paid, and how many reported. A
-- verdict may rest on an attempt of another cell, whose verifier was an earlier one: then all of that cell's count too.
-- What is in the documents is taken out once, below the sums: that is most of the time over a million of them.
WITH behind AS (
    SELECT e.profile, a.run_set_id = :run_set AS own, a.usage AS reported, (a.usage->>'cost_nano')::bigint AS cost,
           (a.usage->>'input_tokens')::bigint + coalesce((a.usage->>'cache_read_tokens')::bigint, 0)
               + coalesce((a.usage->>'cache_write_tokens')::bigint, 0) AS input,
           (a.usage->>'output_tokens')::bigint AS output, a.ended_at - a.started_at AS took
    FROM proctor.expected_cell e
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id AND a.ended_at IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
    UNION ALL
    SELECT e.profile, a.run_set_id = :run_set, a.usage, (a.usage->>'cost_nano')::bigint,
           (a.usage->>'input_tokens')::bigint + coalesce((a.usage->>'cache_read_tokens')::bigint, 0)
               + coalesce((a.usage->>'cache_write_tokens')::bigint, 0),
           (a.usage->>'output_tokens')::bigint, a.ended_at - a.started_at
    FROM proctor.expected_cell e
    JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
    JOIN proctor.attempt graded ON graded.tenant_id = r.tenant_id AND graded.id = r.attempt_id
         AND graded.cell_id <> e.cell_id
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = graded.cell_id AND a.ended_at IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL AND e.reused
)
SELECT profile, count(*) AS attempts, count(reported) AS reported, count(cost) AS priced,
       count(*) FILTER (WHERE own) AS own_attempts, count(cost) FILTER (WHERE own) AS own_priced,
       sum(cost) AS cost, sum(cost) FILTER (WHERE own) AS own_cost, sum(input) AS input_tokens,
       sum(output) AS output_tokens, extract(epoch FROM avg(took)) AS seconds
FROM behind GROUP BY profile ORDER BY profile;

-- name: reused_summary
SELECT count(*) AS cells, min(r.decided_at) AS oldest
FROM proctor.expected_cell e
JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.reused AND e.withdrawn_at IS NULL;

-- name: progress
SELECT count(*) AS expected, count(r.cell_id) AS decided, count(*) FILTER (WHERE r.verdict) AS passed
FROM proctor.expected_cell e
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL;

-- name: cell_counts
SELECT count(*) AS expected, count(r.cell_id) AS decided, count(r.cell_id) FILTER (WHERE e.reused) AS reused,
       count(*) FILTER (WHERE r.cell_id IS NULL AND tried.ever) AS owed,
       count(*) FILTER (WHERE r.cell_id IS NULL AND NOT tried.ever) AS new
FROM proctor.expected_cell e
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
CROSS JOIN LATERAL (
    SELECT r.cell_id IS NULL AND EXISTS (SELECT FROM proctor.attempt a
                                         WHERE a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id) AS ever
) tried
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL;

-- name: cells
-- A page of a run set's cells with the state of each, after a cursor. In the order of an index as far as it goes, so
-- that a page is read and not sorted out of all.
SELECT e.cell_id, c.trial, e.profile, e.content_digest, e.reused, e.withdrawn_at, e.reason AS withdrawn_reason,
       r.verdict, r.reward, coalesce(r.class, last.class) AS class,
       CASE WHEN r.cell_id IS NULL THEN last.owner ELSE decided.owner END AS owner,
       coalesce(r.attempt_id, last.attempt_id) AS attempt_id, coalesce(decided.limit, last.limit, '') AS "limit",
       (SELECT count(*) FROM proctor.attempt a WHERE a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id) AS attempts
FROM proctor.expected_cell e
JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
LEFT JOIN proctor.outcome decided ON decided.tenant_id = e.tenant_id AND decided.attempt_id = r.attempt_id
      AND decided.grading = r.grading AND decided.policy_version = :policy
LEFT JOIN LATERAL (
    SELECT o.attempt_id, o.class, o.owner, o.limit FROM proctor.own_outcome o
    WHERE r.cell_id IS NULL AND o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) last ON true
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set
  AND (CAST(:profile AS int) IS NULL OR e.profile = :profile)
  AND (CAST(:tasks AS text[]) IS NULL OR e.content_digest = ANY(CAST(:tasks AS text[])))
  AND (e.profile, e.content_digest) >= (:after_profile, :after_task)
  AND (e.profile, e.content_digest, c.trial, e.cell_id) > (:after_profile, :after_task, :after_trial,
       CAST(:after_cell AS uuid))
ORDER BY e.profile, e.content_digest, c.trial, e.cell_id LIMIT :limit;

-- name: read_by_hash
-- For statements that put together a few lists which are as long as a run set: of two such the planner, which can't know
-- their lengths, may read one from its beginning for each row of the other.
SELECT set_config('enable_nestloop', 'off', true);

-- name: matrix
-- Every cell of a run set with its state, in the order of the pages of ``cells``. Each list is read by an index over the
-- cells' ids in their order, whatever is known of the tables' sizes; a tenant has many more cells than a run set. Most
-- cells are decided, and of an attempt at one of these only its limit is looked for.
WITH expected AS MATERIALIZED (
    SELECT e.cell_id, e.profile, e.content_digest, e.withdrawn_at IS NOT NULL AS withdrawn
    FROM proctor.expected_cell e WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set
), own AS MATERIALIZED (
    SELECT c.id, c.trial FROM proctor.cell c
    WHERE c.tenant_id = :tenant AND c.id = ANY(ARRAY(SELECT cell_id FROM expected))
), decided AS MATERIALIZED (
    SELECT r.cell_id, r.verdict, r.class, r.attempt_id, r.grading FROM proctor.result r
    WHERE r.tenant_id = :tenant AND r.cell_id = ANY(ARRAY(SELECT cell_id FROM expected)) AND r.policy_version = :policy
), limited AS MATERIALIZED (
    SELECT o.attempt_id, o.grading, o.limit FROM proctor.outcome o
    WHERE o.tenant_id = :tenant AND o.attempt_id = ANY(ARRAY(SELECT attempt_id FROM decided))
      AND o.policy_version = :policy AND o.limit <> ''
), tried AS MATERIALIZED (
    SELECT a.cell_id, count(*) AS attempts FROM proctor.attempt a
    WHERE a.tenant_id = :tenant AND a.cell_id = ANY(ARRAY(SELECT cell_id FROM expected)) GROUP BY a.cell_id
), owed AS MATERIALIZED (
    SELECT a.cell_id, a.id, a.number FROM proctor.attempt a
    WHERE a.tenant_id = :tenant AND a.cell_id = ANY(ARRAY(
        SELECT t.cell_id FROM tried t WHERE NOT EXISTS (SELECT FROM decided d WHERE d.cell_id = t.cell_id)))
), verified AS MATERIALIZED (
    SELECT c.id, c.verifier_digest FROM proctor.cell c
    WHERE c.tenant_id = :tenant AND c.id = ANY(ARRAY(SELECT cell_id FROM owed))
), regraded AS MATERIALIZED (
    SELECT g.attempt_id, g.number, g.verifier_digest FROM proctor.grading g
    WHERE g.tenant_id = :tenant AND g.attempt_id = ANY(ARRAY(SELECT id FROM owed))
), judged AS MATERIALIZED (
    SELECT o.attempt_id, o.grading, o.class, o.limit FROM proctor.outcome o
    WHERE o.tenant_id = :tenant AND o.attempt_id = ANY(ARRAY(SELECT id FROM owed)) AND o.policy_version = :policy
), last AS MATERIALIZED (
    SELECT DISTINCT ON (a.cell_id) a.cell_id, o.attempt_id, o.class, o.limit
    FROM judged o
    JOIN owed a ON a.id = o.attempt_id
    JOIN verified c ON c.id = a.cell_id
    LEFT JOIN regraded g ON g.attempt_id = o.attempt_id AND g.number = o.grading
         AND g.verifier_digest <> c.verifier_digest
    WHERE g.attempt_id IS NULL
    ORDER BY a.cell_id, a.number DESC, o.grading DESC
)
SELECT e.cell_id::text AS cell, e.profile, e.content_digest, c.trial, e.withdrawn, d.verdict,
       coalesce(d.class, l.class) AS class, coalesce(m.limit, nullif(l.limit, '')) AS "limit",
       coalesce(d.attempt_id, l.attempt_id)::text AS attempt, coalesce(t.attempts, 0) AS attempts
FROM expected e
JOIN own c ON c.id = e.cell_id
LEFT JOIN decided d ON d.cell_id = e.cell_id
LEFT JOIN limited m ON m.attempt_id = d.attempt_id AND m.grading = d.grading
LEFT JOIN tried t ON t.cell_id = e.cell_id
LEFT JOIN last l ON l.cell_id = e.cell_id
ORDER BY e.profile, e.content_digest COLLATE "C", c.trial, e.cell_id;

-- name: at_work
-- The attempts at a run set's cells that run now, whichever run set pays, with the phase that each has come to.
SELECT DISTINCT ON (a.cell_id) a.cell_id::text AS cell, a.id::text AS attempt, a.phase
FROM proctor.attempt a
JOIN proctor.expected_cell e ON e.tenant_id = a.tenant_id AND e.cell_id = a.cell_id
WHERE a.tenant_id = :tenant AND a.ended_at IS NULL AND e.run_set_id = :run_set
ORDER BY a.cell_id, a.number DESC;

-- name: tries_at
-- All attempts at a cell, the oldest first, and the one that its verdict rests on where that was at another cell; each
-- with its last outcome by the policy and by the cell's own verifier, the grading behind that, and its evidence.
SELECT a.id, a.number, a.run_set_id, a.cell_id, a.started_at, a.ended_at, a.phase, a.backend, a.usage,
       o.class, o.owner, o.rule, o.verdict, nullif(o.limit, '') AS "limit", g.rewards, g.detail AS graded,
       (SELECT jsonb_agg(jsonb_build_object('phase', v.phase, 'detail', v.detail) ORDER BY v.seq)
        FROM proctor.evidence v WHERE v.tenant_id = a.tenant_id AND v.attempt_id = a.id) AS evidence
FROM proctor.cell c
LEFT JOIN proctor.result r ON r.tenant_id = c.tenant_id AND r.cell_id = c.id AND r.policy_version = :policy
JOIN proctor.attempt a ON a.tenant_id = c.tenant_id AND (a.cell_id = c.id OR a.id = r.attempt_id)
LEFT JOIN LATERAL (
    SELECT x.* FROM proctor.outcome x
    WHERE x.tenant_id = a.tenant_id AND x.attempt_id = a.id AND x.policy_version = :policy
      AND (r.attempt_id IS DISTINCT FROM a.id OR x.grading = r.grading)
      AND NOT EXISTS (SELECT FROM proctor.grading w
                      WHERE w.tenant_id = a.tenant_id AND w.attempt_id = a.id AND w.number = x.grading
                        AND w.verifier_digest <> c.verifier_digest)
    ORDER BY x.grading DESC LIMIT 1
) o ON true
LEFT JOIN proctor.grading g ON g.tenant_id = a.tenant_id AND g.attempt_id = a.id AND g.number = o.grading
     AND g.verifier_digest = c.verifier_digest
WHERE c.tenant_id = :tenant AND c.id = :cell
ORDER BY a.started_at, a.number, a.id;

-- name: cells_begun
-- The cells of a run set whose ids are in a range, two at the most.
SELECT e.cell_id, e.profile, e.content_digest, c.trial
FROM proctor.expected_cell e JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.cell_id BETWEEN :low AND :high LIMIT 2;

-- name: cells_undecided
-- The same of cells without a verdict whose last attempt is of one class.
SELECT e.cell_id, c.trial, e.profile, e.content_digest, e.reused, e.withdrawn_at, e.reason AS withdrawn_reason,
       NULL AS verdict, NULL AS reward, last.class, last.owner, last.attempt_id, coalesce(last.limit, '') AS "limit",
       (SELECT count(*) FROM proctor.attempt a WHERE a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id) AS attempts
FROM proctor.expected_cell e
JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
LEFT JOIN LATERAL (
    SELECT o.attempt_id, o.class, o.owner, o.limit FROM proctor.own_outcome o
    WHERE o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) last ON true
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND coalesce(last.class, 'not_started') = :outcome
  AND NOT EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
                  AND r.policy_version = :policy)
  AND (CAST(:profile AS int) IS NULL OR e.profile = :profile)
  AND (CAST(:tasks AS text[]) IS NULL OR e.content_digest = ANY(CAST(:tasks AS text[])))
  AND (e.profile, e.content_digest) >= (:after_profile, :after_task)
  AND (e.profile, e.content_digest, c.trial, e.cell_id) > (:after_profile, :after_task, :after_trial,
       CAST(:after_cell AS uuid))
ORDER BY e.profile, e.content_digest, c.trial, e.cell_id LIMIT :limit;

-- name: cells_decided
-- The same of cells whose verdict is of one class.
SELECT e.cell_id, c.trial, e.profile, e.content_digest, e.reused, e.withdrawn_at, e.reason AS withdrawn_reason,
       r.verdict, r.reward, r.class, o.owner, r.attempt_id, o.limit,
       (SELECT count(*) FROM proctor.attempt a WHERE a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id) AS attempts
FROM proctor.expected_cell e
JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
JOIN proctor.outcome o ON o.tenant_id = e.tenant_id AND o.attempt_id = r.attempt_id AND o.grading = r.grading
     AND o.policy_version = :policy
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND r.class = :outcome
  AND (CAST(:profile AS int) IS NULL OR e.profile = :profile)
  AND (CAST(:tasks AS text[]) IS NULL OR e.content_digest = ANY(CAST(:tasks AS text[])))
  AND (e.profile, e.content_digest) >= (:after_profile, :after_task)
  AND (e.profile, e.content_digest, c.trial, e.cell_id) > (:after_profile, :after_task, :after_trial,
       CAST(:after_cell AS uuid))
ORDER BY e.profile, e.content_digest, c.trial, e.cell_id LIMIT :limit;

-- name: attempts_to_export
-- For cells and the attempt that each stands on: that attempt with its outcome, the grading behind it, its evidence,
-- and in a line each what all ended attempts of the cell came to.
SELECT q.cell_id, a.id, a.number, a.started_at, a.ended_at, a.backend, a.last_segment, a.limits, a.usage, a.artifacts,
       o.class, o.owner, o.rule, o.verdict, o.limit,
       g.number AS grading, g.mode, g.forgeable, g.rewards, g.detail, g.graded_at,
       (SELECT jsonb_agg(jsonb_build_object('phase', v.phase, 'seq', v.seq, 'started_at', v.started_at,
                                            'ended_at', v.ended_at, 'detail', v.detail) ORDER BY v.seq)::text
        FROM proctor.evidence v WHERE v.tenant_id = :tenant AND v.attempt_id = a.id) AS evidence,
       coalesce((SELECT jsonb_agg(jsonb_build_object('attempt', b.id, 'number', b.number, 'class', last.class,
                                                     'owner', last.owner, 'rule', last.rule) ORDER BY b.number)
                 FROM proctor.attempt b
                 LEFT JOIN LATERAL (
                     SELECT x.class, x.owner, x.rule FROM proctor.outcome x
                     WHERE x.tenant_id = :tenant AND x.attempt_id = b.id AND x.policy_version = :policy
                     ORDER BY x.grading DESC LIMIT 1
                 ) last ON true
                 WHERE b.tenant_id = :tenant AND b.cell_id = q.cell_id AND b.ended_at IS NOT NULL), '[]') AS tries
FROM unnest(CAST(:cells AS uuid[]), CAST(:attempts AS uuid[])) AS q (cell_id, attempt_id)
JOIN proctor.cell c ON c.tenant_id = :tenant AND c.id = q.cell_id
JOIN proctor.attempt a ON a.tenant_id = :tenant AND a.id = q.attempt_id AND a.ended_at IS NOT NULL
LEFT JOIN proctor.result r ON r.tenant_id = :tenant AND r.cell_id = q.cell_id AND r.policy_version = :policy
     AND r.attempt_id = a.id
CROSS JOIN LATERAL (
    SELECT o.class, o.owner, o.rule, o.verdict, o.limit, o.grading FROM proctor.outcome o
    WHERE o.tenant_id = :tenant AND o.attempt_id = a.id AND o.policy_version = :policy
      AND (r.cell_id IS NULL OR o.grading = r.grading)
      AND NOT EXISTS (SELECT FROM proctor.grading w  -- by another version of the verifier, for another cell
                      WHERE w.tenant_id = :tenant AND w.attempt_id = a.id AND w.number = o.grading
                        AND w.verifier_digest <> c.verifier_digest)
    ORDER BY o.grading DESC LIMIT 1
) o
LEFT JOIN proctor.grading g ON g.tenant_id = :tenant AND g.attempt_id = a.id AND g.number = o.grading
     AND g.verifier_digest = c.verifier_digest;

-- name: stalled
-- What runs and has shown nothing new for so long, the longest first.
SELECT a.id AS attempt, a.cell_id AS cell, t.name AS task, p.name AS profile, a.phase, a.progressed_at AS since
FROM proctor.attempt a
JOIN proctor.expected_cell e ON e.tenant_id = a.tenant_id AND e.run_set_id = a.run_set_id AND e.cell_id = a.cell_id
JOIN proctor.run_set_profile p ON p.tenant_id = a.tenant_id AND p.run_set_id = a.run_set_id AND p.position = e.profile
JOIN proctor.task t ON t.tenant_id = a.tenant_id AND t.content_digest = a.content_digest
WHERE a.tenant_id = :tenant AND a.run_set_id = :run_set AND a.ended_at IS NULL
  AND a.progressed_at < now() - make_interval(secs => :quiet)
ORDER BY a.progressed_at, a.id LIMIT :limit;

-- name: clocks
-- Waiting and working apart: how long a run set's cells were ready before their attempts began, and how long these ran.
SELECT now() AS counted_at, coalesce(sum(waited_sec), 0) AS waited_sec,
       coalesce(extract(epoch FROM sum(coalesce(ended_at, now()) - started_at)), 0)::float AS worked_sec
FROM proctor.attempt WHERE tenant_id = :tenant AND run_set_id = :run_set;

-- name: recent_verdicts
-- How many cells came to a verdict of late, and in how many seconds: ten minutes, or since the run set goes on.
SELECT count(*) AS cells, extract(epoch FROM now() - greatest(:since, now() - interval '10 minutes'))::float AS sec
FROM proctor.attempt a
JOIN proctor.result r ON r.tenant_id = a.tenant_id AND r.cell_id = a.cell_id AND r.policy_version = :policy
     AND r.attempt_id = a.id
WHERE a.tenant_id = :tenant AND a.run_set_id = :run_set
  AND a.ended_at > greatest(:since, now() - interval '10 minutes');

-- name: running_attempts
-- What runs now in a run set, and which phase it has come to.
SELECT a.id, a.cell_id, a.content_digest, a.started_at, a.phase, e.profile
FROM proctor.attempt a
JOIN proctor.expected_cell e ON e.tenant_id = a.tenant_id AND e.run_set_id = a.run_set_id AND e.cell_id = a.cell_id
WHERE a.tenant_id = :tenant AND a.run_set_id = :run_set AND a.ended_at IS NULL ORDER BY a.started_at LIMIT :limit;

-- name: add_leaderboard_entry
-- A revision is appended only where it says something new.
INSERT INTO proctor.leaderboard_entry
    (tenant_id, suite_id, configuration, revision, run_set_id, profile, series, policy_version, counts, comparable,
     reasons)
SELECT :tenant, :suite_id, :configuration, coalesce(last.revision, 0) + 1, :run_set, :profile, :series, :policy,
       CAST(:counts AS jsonb), :comparable, CAST(:reasons AS jsonb)
FROM (SELECT 1) one
LEFT JOIN LATERAL (SELECT revision, run_set_id, policy_version, counts, comparable, reasons FROM proctor.leaderboard_entry
                   WHERE tenant_id = :tenant AND suite_id = :suite_id AND configuration = :configuration
                   ORDER BY revision DESC LIMIT 1) last ON true
WHERE last.revision IS NULL OR (last.run_set_id, last.policy_version, last.counts, last.comparable, last.reasons)
      IS DISTINCT FROM (:run_set, :policy, CAST(:counts AS jsonb), :comparable, CAST(:reasons AS jsonb));

-- name: last_reasons
-- What the last revision of each of a run set's rows said against comparing it.
SELECT DISTINCT ON (configuration) reasons FROM proctor.leaderboard_entry
WHERE tenant_id = :tenant AND suite_id = :suite_id AND run_set_id = :run_set
ORDER BY configuration, revision DESC;

-- name: other_trials
-- Trials of the same configurations and suite that a run set does not show, so that nobody shows only the best; how
-- many of the suite's tasks each has decided.
SELECT c.configuration, c.trial, count(*) AS decided, count(*) FILTER (WHERE r.verdict) AS passed
FROM proctor.cell c
JOIN proctor.result r ON r.tenant_id = c.tenant_id AND r.cell_id = c.id AND r.policy_version = :policy
JOIN proctor.suite_task st ON st.tenant_id = c.tenant_id AND st.suite_id = :suite_id
JOIN proctor.task t ON t.tenant_id = c.tenant_id AND t.content_digest = st.content_digest
     AND t.agent_digest = c.agent_digest AND t.verifier_digest = c.verifier_digest
WHERE c.tenant_id = :tenant AND c.configuration = ANY(CAST(:configurations AS text[]))
  AND NOT EXISTS (SELECT FROM proctor.expected_cell e
                  WHERE e.tenant_id = c.tenant_id AND e.run_set_id = :run_set AND e.cell_id = c.id)
GROUP BY c.configuration, c.trial ORDER BY c.configuration, c.trial;

-- name: cells_of
-- How many cells these configurations have, whatever the tasks.
SELECT count(*) FROM proctor.cell WHERE tenant_id = :tenant AND configuration = ANY(CAST(:configurations AS text[]));

-- name: trials_of
-- How many cells these configurations have on a suite's tasks, whoever asked for them.
SELECT count(*) FROM proctor.cell c
JOIN proctor.suite_task st ON st.tenant_id = c.tenant_id AND st.suite_id = :suite_id
JOIN proctor.task t ON t.tenant_id = c.tenant_id AND t.content_digest = st.content_digest
     AND t.agent_digest = c.agent_digest AND t.verifier_digest = c.verifier_digest
WHERE c.tenant_id = :tenant AND c.configuration = ANY(CAST(:configurations AS text[]));

-- name: history
SELECT e.created_at, e.profile, e.series, e.suite_id, e.configuration, e.revision, e.policy_version, e.counts,
       e.comparable, e.reasons, e.run_set_id, s.name AS run_set
FROM proctor.leaderboard_entry e JOIN proctor.run_set s ON s.tenant_id = e.tenant_id AND s.id = e.run_set_id
WHERE e.tenant_id = :tenant AND e.series = :series ORDER BY e.created_at, e.revision;

-- name: adopt
-- The attempts that claims of ours already have, where the answer to the claim was lost.
SELECT a.id AS attempt_id, a.cell_id, a.number, a.token, a.run_set_id, a.content_digest, a.trace_id, e.profile,
       s.policy_version
FROM proctor.attempt a
JOIN proctor.expected_cell e ON e.tenant_id = a.tenant_id AND e.run_set_id = a.run_set_id AND e.cell_id = a.cell_id
JOIN proctor.run_set s ON s.tenant_id = a.tenant_id AND s.id = a.run_set_id
WHERE a.tenant_id = :tenant AND a.cell_id = ANY(CAST(:ids AS uuid[])) AND a.token = ANY(CAST(:tokens AS bigint[]))
  AND a.ended_at IS NULL;

-- name: mean_seconds
SELECT avg(took) FROM (
    SELECT extract(epoch FROM a.ended_at - a.started_at) AS took
    FROM proctor.cell c JOIN proctor.result r ON r.tenant_id = c.tenant_id AND r.cell_id = c.id
    JOIN proctor.attempt a ON a.tenant_id = c.tenant_id AND a.id = r.attempt_id
    WHERE c.tenant_id = :tenant AND c.configuration = ANY(CAST(:configurations AS text[])) LIMIT 1000) sample;

-- name: last_configurations
-- Of a suite's last run sets, the newest first.
SELECT p.configuration FROM proctor.run_set s
JOIN proctor.run_set_profile p ON p.tenant_id = s.tenant_id AND p.run_set_id = s.id
WHERE s.tenant_id = :tenant AND s.suite_id = :suite_id
GROUP BY p.configuration ORDER BY max(s.created_at) DESC, p.configuration LIMIT :limit;

-- name: measured_seconds
-- How long the last attempts took that gave a cell of each configuration and task its verdict. The cells are read once
-- for all: for each pair apart it took minutes where the planner knew the tables as they were before a large plan.
SELECT configuration, agent_digest, seconds
FROM (
    SELECT l.configuration, l.agent_digest, extract(epoch FROM a.ended_at - a.started_at)::float AS seconds,
           row_number() OVER (PARTITION BY l.configuration, l.agent_digest ORDER BY l.trial DESC) AS place
    FROM proctor.cell l
    JOIN proctor.result r ON r.tenant_id = l.tenant_id AND r.cell_id = l.id
    JOIN proctor.attempt a ON a.tenant_id = l.tenant_id AND a.id = r.attempt_id AND a.ended_at IS NOT NULL
    WHERE l.tenant_id = :tenant AND l.configuration = ANY(CAST(:configurations AS text[]))
      AND l.agent_digest = ANY(CAST(:agent_digests AS text[]))
) ranked
WHERE place <= :sample;

-- name: regrade_attempts
-- Ended attempts of a run set's cells on these tasks, in order, each with its last outcome; a cell without one has a
-- row of NULLs. decided_anew: a verdict by the verifier that is asked for is there already.
SELECT e.cell_id, p.name AS profile, c.trial, e.content_digest, c.configuration, f.document, r.verdict AS before,
       c.verifier_digest <> t.verifier_digest AND EXISTS (
           SELECT FROM proctor.cell n JOIN proctor.result d ON d.tenant_id = n.tenant_id AND d.cell_id = n.id
           WHERE n.tenant_id = c.tenant_id AND n.configuration = c.configuration AND n.agent_digest = c.agent_digest
             AND n.verifier_digest = t.verifier_digest AND n.trial = c.trial AND d.policy_version = :policy
       ) AS decided_anew,
       a.id AS attempt_id, a.trace_id, a.artifacts, o.class, o.verdict,
       coalesce((SELECT max(g.number) FROM proctor.grading g
                 WHERE g.tenant_id = a.tenant_id AND g.attempt_id = a.id), 0) AS gradings
FROM proctor.expected_cell e
JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
JOIN proctor.configuration f ON f.tenant_id = c.tenant_id AND f.hash = c.configuration
JOIN proctor.run_set_profile p ON p.tenant_id = e.tenant_id AND p.run_set_id = e.run_set_id AND p.position = e.profile
JOIN unnest(CAST(:tasks AS text[]), CAST(:verifiers AS text[])) AS t (content_digest, verifier_digest)
     ON t.content_digest = e.content_digest
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
LEFT JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.ended_at IS NOT NULL
     AND (a.cell_id = e.cell_id OR a.id = r.attempt_id)
LEFT JOIN LATERAL (
    SELECT o.class, o.verdict FROM proctor.outcome o
    WHERE o.tenant_id = a.tenant_id AND o.attempt_id = a.id AND o.policy_version = :policy
    ORDER BY o.grading DESC LIMIT 1
) o ON true
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
ORDER BY e.profile, e.content_digest, c.trial, a.number;

-- name: stored_evidence
SELECT phase, seq, started_at, ended_at, detail FROM proctor.evidence
WHERE tenant_id = :tenant AND attempt_id = :attempt ORDER BY seq;

-- name: attempts_to_reclassify
-- A page of a run set's cells with every ended attempt behind each: its evidence as one text, without what programs
-- printed, and its gradings by the cell's own verifier. A verdict may rest on an attempt of another cell.
WITH page AS (
    SELECT e.cell_id FROM proctor.expected_cell e
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.cell_id > :after ORDER BY e.cell_id LIMIT :page
)
SELECT p.cell_id, a.id AS attempt_id, coalesce(f.document->'policies'->>'out_of_memory', 'model') AS memory,
       (SELECT jsonb_agg(jsonb_build_object('phase', v.phase, 'detail', v.detail - 'stderr_tail' - 'task')
                         ORDER BY v.seq)::text
        FROM proctor.evidence v WHERE v.tenant_id = :tenant AND v.attempt_id = a.id) AS evidence,
       (SELECT array_agg(jsonb_build_object(
                   'number', g.number, 'problem', g.detail->>'problem', 'primary', g.detail->'primary',
                   'passed', coalesce(g.detail->'passed', to_jsonb(o.verdict)))::text ORDER BY g.number)
        FROM proctor.grading g
        LEFT JOIN proctor.outcome o ON o.tenant_id = g.tenant_id AND o.attempt_id = g.attempt_id
             AND o.grading = g.number AND o.policy_version = :policy
        WHERE g.tenant_id = :tenant AND g.attempt_id = a.id AND g.verifier_digest = c.verifier_digest) AS gradings
FROM page p
JOIN proctor.cell c ON c.tenant_id = :tenant AND c.id = p.cell_id
JOIN proctor.configuration f ON f.tenant_id = :tenant AND f.hash = c.configuration
CROSS JOIN LATERAL (
    SELECT a.id, a.number FROM proctor.attempt a
    WHERE a.tenant_id = :tenant AND a.cell_id = p.cell_id AND a.ended_at IS NOT NULL
    UNION
    SELECT a.id, a.number FROM proctor.result r
    JOIN proctor.attempt a ON a.tenant_id = r.tenant_id AND a.id = r.attempt_id
    WHERE r.tenant_id = :tenant AND r.cell_id = p.cell_id AND r.policy_version = :policy
) a
ORDER BY p.cell_id, a.number;

-- name: class_moves
-- Cells that stand elsewhere under one policy than under another: in another class, or with another verdict or owner. It
-- is the result's, else the last attempt's.
SELECT p.name AS profile, b.class AS before, b.owner AS before_owner, b.verdict AS before_verdict,
       a.class AS after, a.owner AS after_owner, a.verdict AS after_verdict, count(*) AS cells
FROM proctor.expected_cell e
JOIN proctor.run_set_profile p ON p.tenant_id = e.tenant_id AND p.run_set_id = e.run_set_id AND p.position = e.profile
LEFT JOIN proctor.result rb ON rb.tenant_id = e.tenant_id AND rb.cell_id = e.cell_id AND rb.policy_version = :before
LEFT JOIN proctor.outcome ob ON ob.tenant_id = rb.tenant_id AND ob.attempt_id = rb.attempt_id
     AND ob.grading = rb.grading AND ob.policy_version = rb.policy_version
LEFT JOIN proctor.result ra ON ra.tenant_id = e.tenant_id AND ra.cell_id = e.cell_id AND ra.policy_version = :after
LEFT JOIN proctor.outcome oa ON oa.tenant_id = ra.tenant_id AND oa.attempt_id = ra.attempt_id
     AND oa.grading = ra.grading AND oa.policy_version = ra.policy_version
LEFT JOIN LATERAL (
    SELECT o.class, o.owner FROM proctor.own_outcome o
    WHERE rb.cell_id IS NULL AND o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :before
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) lb ON true
LEFT JOIN LATERAL (
    SELECT o.class, o.owner FROM proctor.own_outcome o
    WHERE ra.cell_id IS NULL AND o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :after
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) la ON true
CROSS JOIN LATERAL (SELECT coalesce(rb.class, lb.class, 'not_started') AS class,
                           coalesce(ob.owner, lb.owner, 'nobody') AS owner, rb.verdict) b
CROSS JOIN LATERAL (SELECT coalesce(ra.class, la.class, 'not_started') AS class,
                           coalesce(oa.owner, la.owner, 'nobody') AS owner, ra.verdict) a
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
  AND (b.class, b.owner, b.verdict) IS DISTINCT FROM (a.class, a.owner, a.verdict)
GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 8 DESC, 2, 5, 3, 6, 4, 7;

-- name: task_classes
-- Cells by profile and task, those that ended alike together; withdrawn ones with their reason.
SELECT e.profile, e.content_digest, r.verdict, CASE WHEN e.withdrawn_at IS NOT NULL THEN e.reason END AS withdrawn,
       coalesce(r.class, last.class, 'not_started') AS class,
       coalesce(last.owner, CASE WHEN r.cell_id IS NULL THEN 'nobody' ELSE 'model' END) AS owner, count(*) AS cells
FROM proctor.expected_cell e
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
LEFT JOIN LATERAL (
    SELECT o.class, o.owner FROM proctor.own_outcome o
    WHERE r.cell_id IS NULL AND o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) last ON true
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 7 DESC, 5;

-- name: usage_by_task
-- The same attempts as usage_sums, by task: how many there are, how many say what they cost, and how long they took.
WITH behind AS (
    SELECT e.profile, e.content_digest AS task, a.usage, a.started_at, a.ended_at FROM proctor.expected_cell e
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id AND a.ended_at IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
    UNION ALL
    SELECT e.profile, e.content_digest, a.usage, a.started_at, a.ended_at FROM proctor.expected_cell e
    JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
    JOIN proctor.attempt graded ON graded.tenant_id = r.tenant_id AND graded.id = r.attempt_id
         AND graded.cell_id <> e.cell_id
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = graded.cell_id AND a.ended_at IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL AND e.reused
)
SELECT profile, task, count(*) AS attempts, count(usage->>'cost_nano') AS priced,
       sum((usage->>'cost_nano')::bigint) AS cost, sum(extract(epoch FROM ended_at - started_at)) AS seconds
FROM behind GROUP BY profile, task;

-- name: find_kept_side
-- The last that was kept of a profile under a policy, unless something under it was written since.
SELECT k.id, k.cells, k.priced, k.unpriced, k.cost_nano, k.cost_squares
FROM proctor.kept_side k
WHERE k.tenant_id = :tenant AND k.run_set_id = :run_set AND k.profile = :profile AND k.policy_version = :policy AND k.kept
  AND NOT EXISTS (SELECT FROM proctor.side_change c WHERE c.tenant_id = k.tenant_id AND c.side_id = k.id)
ORDER BY k.used_at DESC LIMIT 1;

-- name: use_kept_side
UPDATE proctor.kept_side SET used_at = now()
WHERE tenant_id = :tenant AND id = :side AND used_at < now() - interval '1 minute';

-- name: begin_kept_side
INSERT INTO proctor.kept_side (tenant_id, id, run_set_id, profile, policy_version)
VALUES (:tenant, :side, :run_set, :profile, :policy) ON CONFLICT DO NOTHING;

-- name: drop_kept_side
DELETE FROM proctor.kept_side WHERE tenant_id = :tenant AND id = :side;

-- name: sweep_kept_sides
-- Those that nobody can find any more, once nobody reads them; and those that nobody asked for in a month.
WITH old AS (
    SELECT k.id FROM proctor.kept_side k
    WHERE k.tenant_id = :tenant AND (
        k.used_at < now() - interval '31 days'
        OR k.used_at < now() - interval '10 minutes' AND (NOT k.kept OR EXISTS (
            SELECT FROM proctor.side_change c WHERE c.tenant_id = k.tenant_id AND c.side_id = k.id)))
    FOR UPDATE SKIP LOCKED
), sides AS (
    DELETE FROM proctor.kept_side k USING old WHERE k.tenant_id = :tenant AND k.id = old.id
), tasks AS (
    DELETE FROM proctor.side_task s USING old WHERE s.tenant_id = :tenant AND s.side_id = old.id
)
DELETE FROM proctor.side_change c USING old WHERE c.tenant_id = :tenant AND c.side_id = old.id;

-- name: only_one_keeps
-- Of a tenant's, one after the other: who waits here for the same side finds it kept, and none is in the way of another as
-- a transaction that began before.
SELECT pg_advisory_xact_lock(hashtextextended('kept sides of ' || CAST(:tenant AS text), 0));

-- name: older_at_work
-- Whether a transaction is under way that began to write before this one did: it may not have seen which sides are kept.
SELECT pg_snapshot_xmin(pg_current_snapshot()) < pg_current_xact_id();

-- name: count_side
-- What a side's tasks come to: their cells, and the attempts behind these as in usage_by_task.
WITH counted AS (
    SELECT e.content_digest, count(*) AS cells, count(*) FILTER (WHERE e.withdrawn_at IS NULL) AS expected,
           count(r.verdict) FILTER (WHERE e.withdrawn_at IS NULL) AS decided,
           count(*) FILTER (WHERE e.withdrawn_at IS NULL AND r.verdict) AS passed
    FROM proctor.expected_cell e
    LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.profile = :profile
    GROUP BY e.content_digest
), behind AS (
    SELECT e.content_digest, a.usage, a.started_at, a.ended_at FROM proctor.expected_cell e
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id AND a.ended_at IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL AND e.profile = :profile
    UNION ALL
    SELECT e.content_digest, a.usage, a.started_at, a.ended_at FROM proctor.expected_cell e
    JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
    JOIN proctor.attempt graded ON graded.tenant_id = r.tenant_id AND graded.id = r.attempt_id
         AND graded.cell_id <> e.cell_id
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = graded.cell_id AND a.ended_at IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL AND e.reused
      AND e.profile = :profile
), spent AS (
    SELECT content_digest, count(*) AS attempts, count(usage->>'cost_nano') AS priced,
           sum((usage->>'cost_nano')::bigint) AS cost_nano, sum(extract(epoch FROM ended_at - started_at)) AS seconds
    FROM behind GROUP BY content_digest
)
INSERT INTO proctor.side_task (tenant_id, side_id, place, key, content_digest, name, difficulty, category, cells,
                               expected, decided, passed, attempts, priced, cost_nano, seconds)
SELECT :tenant, :side, row_number() OVER (ORDER BY t.agent_digest COLLATE "C", t.verifier_digest COLLATE "C"),
       CAST(encode(substring(sha256(convert_to(t.agent_digest || t.verifier_digest, 'UTF8')) FOR 16), 'hex') AS uuid),
       t.content_digest, t.name,
       CASE WHEN jsonb_typeof(t.config->'metadata'->'difficulty') = 'string'
             AND length(t.config->'metadata'->>'difficulty') BETWEEN 1 AND :longest THEN t.config->'metadata'->>'difficulty' END,
       CASE WHEN jsonb_typeof(t.config->'metadata'->'category') = 'string'
             AND length(t.config->'metadata'->>'category') BETWEEN 1 AND :longest THEN t.config->'metadata'->>'category' END,
       c.cells, c.expected, c.decided, c.passed, coalesce(s.attempts, 0), coalesce(s.priced, 0), s.cost_nano, s.seconds
FROM counted c
JOIN proctor.task t ON t.tenant_id = :tenant AND t.content_digest = c.content_digest
LEFT JOIN spent s ON s.content_digest = c.content_digest
ON CONFLICT DO NOTHING;

-- name: end_kept_side
-- A side's cells as in cell_marks, and what its tasks cost.
UPDATE proctor.kept_side k
SET kept = :kept, cells = c.cells, priced = s.priced, unpriced = s.unpriced, cost_nano = s.cost_nano,
    cost_squares = s.cost_squares
FROM (
    SELECT count(*) || ':' || coalesce(sum(hashtextextended(CAST(e.cell_id AS text), 0)), 0) AS cells
    FROM proctor.expected_cell e
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.profile = :profile AND e.withdrawn_at IS NULL
) c, (
    SELECT count(*) FILTER (WHERE attempts > 0 AND priced = attempts) AS priced,
           count(*) FILTER (WHERE priced < attempts) AS unpriced,
           coalesce(sum(cost_nano) FILTER (WHERE priced = attempts), 0) AS cost_nano,
           coalesce(sum(CAST(cost_nano AS numeric) * cost_nano) FILTER (WHERE priced = attempts), 0) AS cost_squares
    FROM proctor.side_task WHERE tenant_id = :tenant AND side_id = :side
) s
WHERE k.tenant_id = :tenant AND k.id = :side
RETURNING k.id, k.cells, k.priced, k.unpriced, k.cost_nano, k.cost_squares;

-- name: tasks_of_sides
-- The tasks of two sides, as they are kept, put together: the beginning of the statements below. A task is one on both
-- sides where the agent sees the same and the same verifier judges; no side has two of them, which would share their cells.
WITH task AS (
    SELECT a.place, coalesce(a.name, b.name) AS name, coalesce(a.content_digest, b.content_digest) AS content,
           coalesce(a.difficulty, b.difficulty) AS difficulty, coalesce(a.category, b.category) AS category,
           a.cells AS cells_a, a.expected AS expected_a, a.decided AS decided_a, a.passed AS passed_a, a.attempts AS attempts_a,
           a.priced AS priced_a, a.cost_nano AS cost_a, a.seconds AS seconds_a,
           b.cells AS cells_b, b.expected AS expected_b, b.decided AS decided_b, b.passed AS passed_b,
           b.attempts AS attempts_b, b.priced AS priced_b, b.cost_nano AS cost_b, b.seconds AS seconds_b
    FROM (SELECT * FROM proctor.side_task WHERE tenant_id = :tenant AND side_id = :side_a) a
    FULL JOIN (SELECT * FROM proctor.side_task WHERE tenant_id = :tenant AND side_id = :side_b) b ON b.key = a.key
)

-- name: paired_groups
-- Two sides' tasks, those together whose counts are the same on both. `names`: of those that one side solves, and not the
-- other; `contents`: of those that one side has, and not the other.
-- include: tasks_of_sides

SELECT expected_a, decided_a, passed_a, expected_b, decided_b, passed_b, count(*) AS tasks,
       sum(CASE WHEN expected_a IS NULL THEN expected_b WHEN expected_b IS NULL THEN expected_a
                ELSE cells_a - decided_a + cells_b - decided_b END) AS left_out,
       sum(attempts_a) AS attempts_a, sum(priced_a) AS priced_a, sum(cost_a) AS cost_a,
       sum(attempts_b) AS attempts_b, sum(priced_b) AS priced_b, sum(cost_b) AS cost_b,
       array_agg(name) FILTER (WHERE decided_a > 0 AND decided_b > 0
                               AND (2 * passed_a > decided_a) <> (2 * passed_b > decided_b)) AS names,
       array_agg(content) FILTER (WHERE expected_a IS NULL OR expected_b IS NULL) AS contents
FROM task
GROUP BY 1, 2, 3, 4, 5, 6;

-- name: paired_by_field
-- Two sides' tasks by what their authors say of them, those together whose counts are the same on both.
-- include: tasks_of_sides

SELECT s.field, s.label, expected_a, decided_a, passed_a, expected_b, decided_b, passed_b, count(*) AS tasks
FROM task k CROSS JOIN LATERAL (VALUES ('difficulty', k.difficulty), ('category', k.category)) AS s (field, label)
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;

-- name: tasks_by_key
-- The counts of the tasks of two sides in the order of what the agent sees and what judges.
-- include: tasks_of_sides

SELECT expected_a, decided_a, passed_a, expected_b, decided_b, passed_b
FROM task WHERE expected_a IS NOT NULL AND expected_b IS NOT NULL ORDER BY place;

-- name: paired_tasks
-- The tasks of two sides one by one; those that flipped first, the largest first, then by name.
-- include: tasks_of_sides
, told AS (
    SELECT k.*,
           CASE WHEN decided_a = expected_a AND decided_b = expected_b AND expected_a > 0 AND expected_b > 0
                THEN (passed_b * expected_a - passed_a * expected_b)::float / (expected_a * expected_b) END AS difference
    FROM task k
), kinds AS (
    SELECT k.*, abs(coalesce(difference, 0)) AS size,
           CASE WHEN difference IS NULL THEN 'owed' WHEN difference <> 0 THEN 'flips' WHEN passed_a = 0 THEN 'both_fail'
                WHEN passed_a = expected_a THEN 'both_pass' ELSE 'mixed' END AS kind
    FROM told k
)
SELECT k.*
FROM kinds k
WHERE (CAST(:kind AS text) IS NULL OR k.kind = :kind)
  AND (CAST(:field AS text) IS NULL
       OR CASE CAST(:field AS text) WHEN 'difficulty' THEN k.difficulty ELSE k.category END = :label)
  AND (CAST(:size AS float) IS NULL OR k.size < :size
       OR k.size = :size AND (k.name COLLATE "C", k.content) > (:title, :content))
ORDER BY k.size DESC, k.name COLLATE "C", k.content LIMIT :limit;

-- name: gaps_by_task
-- Of a side as it is kept: cells without a verdict, and withdrawn ones, by task and how they ended, as task_classes. Of its
-- first tasks by name, without those that the other side does not have.
SELECT e.content_digest, s.name, CASE WHEN e.withdrawn_at IS NOT NULL THEN e.reason END AS withdrawn,
       r.verdict, coalesce(r.class, last.class, 'not_started') AS class,
       coalesce(last.owner, CASE WHEN r.cell_id IS NULL THEN 'nobody' ELSE 'model' END) AS owner, count(*) AS cells
FROM (
    SELECT t.tenant_id, t.name, t.content_digest FROM proctor.side_task t
    WHERE t.tenant_id = :tenant AND t.side_id = :side AND t.decided < t.cells
      AND t.content_digest <> ALL (CAST(:without AS text[]))
    ORDER BY t.name COLLATE "C", t.content_digest LIMIT :listed
) s
JOIN proctor.expected_cell e ON e.tenant_id = s.tenant_id AND e.run_set_id = :run_set AND e.profile = :profile
     AND e.content_digest = s.content_digest
LEFT JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id AND r.policy_version = :policy
LEFT JOIN LATERAL (
    SELECT o.class, o.owner FROM proctor.own_outcome o
    WHERE r.cell_id IS NULL AND o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) last ON true
WHERE r.cell_id IS NULL OR e.withdrawn_at IS NOT NULL
GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY s.name COLLATE "C", e.content_digest, 7 DESC, 5;

-- name: keys_of_tasks
-- What pairs the tasks of a side that have these contents or these names.
SELECT s.content_digest, s.name, t.agent_digest, t.verifier_digest, s.expected AS cells
FROM proctor.side_task s
JOIN proctor.task t ON t.tenant_id = s.tenant_id AND t.content_digest = s.content_digest
WHERE s.tenant_id = :tenant AND s.side_id = :side
  AND (s.content_digest = ANY(CAST(:contents AS text[])) OR s.name = ANY(CAST(:names AS text[])))
ORDER BY s.name COLLATE "C", s.content_digest;

-- name: cell_marks
-- A mark of which cells each profile of a run set stands for, whatever their order.
SELECT e.profile, count(*) AS cells, sum(hashtextextended(CAST(e.cell_id AS text), 0)) AS mark
FROM proctor.expected_cell e
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
GROUP BY e.profile;

-- name: refresh_statistics
SELECT proctor.refresh_statistics();

-- name: insert_imported_attempts
INSERT INTO proctor.attempt
    (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id, backend, trace_id, started_at,
     ended_at, usage)
SELECT :tenant, r.id, r.cell_id, r.number, r.run_set_id, r.content_digest, 0,
       '00000000-0000-0000-0000-000000000000', r.backend, r.trace_id, r.started_at, r.ended_at, r.usage
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, cell_id uuid, number int, run_set_id uuid, content_digest text, backend text, trace_id text,
          started_at timestamptz, ended_at timestamptz, usage jsonb)
ON CONFLICT DO NOTHING;

-- name: insert_unlinked
INSERT INTO proctor.unlinked (tenant_id, id, run_set_id, suite, profile, task, trial, number, record, reason)
SELECT :tenant, r.id, :run_set, r.suite, r.profile, r.task, r.trial, r.number, r.record, r.reason
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, suite text, profile text, task text, trial int, number int, record jsonb, reason text)
ON CONFLICT DO NOTHING;

-- name: unlinked_page
SELECT id, record FROM proctor.unlinked
WHERE tenant_id = :tenant AND run_set_id = :run_set AND linked_at IS NULL AND id > :after ORDER BY id LIMIT :page;

-- name: attempts_at
-- Which of these imported attempts are there, with all that was imported of each.
SELECT a.id, a.started_at, a.ended_at, a.usage,
       (SELECT jsonb_agg(jsonb_build_array(v.phase, v.detail) ORDER BY v.seq) FROM proctor.evidence v
        WHERE v.tenant_id = a.tenant_id AND v.attempt_id = a.id) AS evidence,
       (SELECT jsonb_build_array(g.rewards, g.detail->'problem') FROM proctor.grading g
        WHERE g.tenant_id = a.tenant_id AND g.attempt_id = a.id ORDER BY g.number LIMIT 1) AS grading
FROM proctor.attempt a WHERE a.tenant_id = :tenant AND a.id = ANY(CAST(:ids AS uuid[]));

-- name: unlinked_counts
-- Cells, not attempts: what of a run set can't be linked, by the names it came under.
SELECT suite, profile, reason, count(*) AS attempts, count(DISTINCT (profile, task, trial)) AS cells
FROM proctor.unlinked WHERE tenant_id = :tenant AND run_set_id = :run_set AND linked_at IS NULL
GROUP BY suite, profile, reason ORDER BY suite, profile, reason;

-- name: link
UPDATE proctor.unlinked SET linked_at = now(), linked_by = :how
WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[])) AND linked_at IS NULL;

-- name: link_results
-- The first verdict of each cell that has none on record, by attempt and grading, of its own verifier.
INSERT INTO proctor.result (tenant_id, cell_id, policy_version, attempt_id, grading, class, verdict, reward)
SELECT DISTINCT ON (e.cell_id) e.tenant_id, e.cell_id, o.policy_version, o.attempt_id, o.grading, o.class, o.verdict,
       CAST(g.detail->>'primary' AS float)
FROM proctor.expected_cell e
JOIN proctor.own_outcome o ON o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
     AND o.verdict IS NOT NULL
LEFT JOIN proctor.grading g ON g.tenant_id = o.tenant_id AND g.attempt_id = o.attempt_id AND g.number = o.grading
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set
  AND NOT EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
                  AND r.policy_version = :policy)
ORDER BY e.cell_id, o.number, o.grading
ON CONFLICT DO NOTHING;

-- name: terminal_not_linked
-- Cells with a verdict among their outcomes and none on record, by what the first of them says.
SELECT class, count(*) AS cells FROM (
    SELECT DISTINCT ON (e.cell_id) o.class
    FROM proctor.expected_cell e
    JOIN proctor.own_outcome o ON o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
         AND o.verdict IS NOT NULL
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set
      AND NOT EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
                      AND r.policy_version = :policy)
    ORDER BY e.cell_id, o.number, o.grading
) first GROUP BY class ORDER BY class;

-- name: owed_by_class
-- Cells with no verdict among their outcomes, by their last attempt's class; 'never_attempted' has none.
SELECT coalesce(last.class, 'never_attempted') AS class, count(*) AS cells
FROM proctor.expected_cell e
LEFT JOIN LATERAL (
    SELECT o.class FROM proctor.own_outcome o
    WHERE o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
    ORDER BY o.number DESC, o.grading DESC LIMIT 1
) last ON true
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.withdrawn_at IS NULL
  AND NOT EXISTS (SELECT FROM proctor.result r WHERE r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
                  AND r.policy_version = :policy)
  AND NOT EXISTS (SELECT FROM proctor.own_outcome o
                  WHERE o.tenant_id = e.tenant_id AND o.cell_id = e.cell_id AND o.policy_version = :policy
                    AND o.verdict IS NOT NULL)
GROUP BY 1 ORDER BY 2 DESC, 1;

-- name: stale_revisions
SELECT count(*) FROM proctor.run_set_profile p
JOIN LATERAL (
    SELECT l.counts FROM proctor.leaderboard_entry l
    WHERE l.tenant_id = p.tenant_id AND l.run_set_id = p.run_set_id AND l.configuration = p.configuration
      AND l.profile = p.name
    ORDER BY l.revision DESC LIMIT 1
) last ON true
WHERE p.tenant_id = :tenant AND p.run_set_id = :run_set AND (last.counts->>'expected')::bigint <> (
    SELECT count(*) FROM proctor.expected_cell e
    WHERE e.tenant_id = p.tenant_id AND e.run_set_id = p.run_set_id AND e.profile = p.position
      AND e.withdrawn_at IS NULL);

-- name: named_artifacts
-- Reads every attempt of the tenant: only for a sweep, in large batches.
SELECT DISTINCT f->>'key' AS key
FROM proctor.attempt a CROSS JOIN LATERAL jsonb_array_elements(a.artifacts) f
WHERE a.tenant_id = :tenant AND f->>'key' = ANY(CAST(:keys AS text[]));

-- name: attempts_of_ids
SELECT id FROM proctor.attempt WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[]));

-- name: stored_objects
-- Every object that a row refers to: attempts' artifacts and tasks' archives.
SELECT DISTINCT f->>'key' AS key, f->>'sha256' AS sha256, CAST(f->>'size' AS bigint) AS size
FROM proctor.attempt a CROSS JOIN LATERAL jsonb_array_elements(a.artifacts) f WHERE a.tenant_id = :tenant
UNION
SELECT archive_key, archive_sha256, archive_size FROM proctor.task
WHERE tenant_id = :tenant AND archive_key IS NOT NULL;

-- name: repeated_verdicts
-- What one verifier has said of one attempt's final state, time after time.
SELECT g.number, o.verdict FROM proctor.grading g
JOIN proctor.outcome o ON o.tenant_id = g.tenant_id AND o.attempt_id = g.attempt_id AND o.grading = g.number
     AND o.policy_version = :policy
WHERE g.tenant_id = :tenant AND g.attempt_id = :attempt AND g.verifier_digest = :verifier_digest ORDER BY g.number;

-- name: digests_of
SELECT content_digest, agent_digest, verifier_digest FROM proctor.task
WHERE tenant_id = :tenant AND content_digest = ANY(CAST(:content_digests AS text[]));

-- name: used_now
SELECT (SELECT count(*) FROM proctor.attempt
        WHERE tenant_id = :tenant AND started_at >= date_trunc('day', now(), 'UTC')) AS evaluations_today,
       (SELECT coalesce(sum(nano), 0)::bigint FROM proctor.ledger
        WHERE tenant_id = :tenant AND created_at >= date_trunc('month', now(), 'UTC')) AS cost_month_nano,
       (SELECT count(*) FROM proctor.attempt WHERE tenant_id = :tenant AND ended_at IS NULL) AS sandboxes;

-- name: this_month
SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM');

-- name: run_set_budgets
-- What its file says that it, and one of its profiles, may spend.
SELECT r.spec -> 'budget' ->> 'cost' AS whole,
       (SELECT p ->> 'budget' FROM jsonb_array_elements(r.spec -> 'profiles') p WHERE p ->> 'name' = :profile) AS profile
FROM proctor.run_set r WHERE r.tenant_id = :tenant AND r.id = :run_set;

-- name: usage_by_tenant
SELECT '' AS key, '' AS name, count(*) AS attempts,
       coalesce(sum(extract(epoch FROM a.ended_at - a.started_at)), 0)::float AS sandbox_sec,
       coalesce(sum((a.usage ->> 'cost_nano')::bigint), 0)::bigint AS cost_nano,
       count(*) FILTER (WHERE a.usage ->> 'cost_nano' IS NULL) AS unpriced
FROM proctor.attempt a
WHERE a.tenant_id = :tenant AND a.started_at >= :since AND a.started_at < :until
LIMIT :limit;

-- name: usage_by_run_set
SELECT r.id::text AS key, r.name AS name, count(*) AS attempts,
       coalesce(sum(extract(epoch FROM a.ended_at - a.started_at)), 0)::float AS sandbox_sec,
       coalesce(sum((a.usage ->> 'cost_nano')::bigint), 0)::bigint AS cost_nano,
       count(*) FILTER (WHERE a.usage ->> 'cost_nano' IS NULL) AS unpriced
FROM proctor.attempt a JOIN proctor.run_set r ON r.tenant_id = a.tenant_id AND r.id = a.run_set_id
WHERE a.tenant_id = :tenant AND a.started_at >= :since AND a.started_at < :until
GROUP BY r.id, r.name
ORDER BY cost_nano DESC, attempts DESC, key
LIMIT :limit;

-- name: usage_by_profile
SELECT p.name AS key, p.name AS name, count(*) AS attempts,
       coalesce(sum(extract(epoch FROM a.ended_at - a.started_at)), 0)::float AS sandbox_sec,
       coalesce(sum((a.usage ->> 'cost_nano')::bigint), 0)::bigint AS cost_nano,
       count(*) FILTER (WHERE a.usage ->> 'cost_nano' IS NULL) AS unpriced
FROM proctor.attempt a
JOIN proctor.expected_cell e ON e.tenant_id = a.tenant_id AND e.run_set_id = a.run_set_id AND e.cell_id = a.cell_id
JOIN proctor.run_set_profile p
  ON p.tenant_id = e.tenant_id AND p.run_set_id = e.run_set_id AND p.position = e.profile
WHERE a.tenant_id = :tenant AND a.started_at >= :since AND a.started_at < :until
GROUP BY p.name
ORDER BY cost_nano DESC, attempts DESC, key
LIMIT :limit;

-- name: usage_by_model
SELECT coalesce(c.document ->> 'model', '') AS key, coalesce(c.document ->> 'model', 'no model') AS name,
       count(*) AS attempts,
       coalesce(sum(extract(epoch FROM a.ended_at - a.started_at)), 0)::float AS sandbox_sec,
       coalesce(sum((a.usage ->> 'cost_nano')::bigint), 0)::bigint AS cost_nano,
       count(*) FILTER (WHERE a.usage ->> 'cost_nano' IS NULL) AS unpriced
FROM proctor.attempt a
JOIN proctor.cell l ON l.tenant_id = a.tenant_id AND l.id = a.cell_id
JOIN proctor.configuration c ON c.tenant_id = l.tenant_id AND c.hash = l.configuration
WHERE a.tenant_id = :tenant AND a.started_at >= :since AND a.started_at < :until
GROUP BY c.document ->> 'model'
ORDER BY cost_nano DESC, attempts DESC, key
LIMIT :limit;

-- name: cells_to_push
-- Cells with attempts that ended, each attempt whole: what another installation needs to derive its class again.
SELECT p.profile, p.content_digest, p.place,
       (SELECT jsonb_agg(jsonb_build_object(
            'id', a.id, 'number', a.number, 'started_at', a.started_at, 'ended_at', a.ended_at, 'backend', a.backend,
            'limits', a.limits, 'usage', a.usage, 'last_segment', a.last_segment, 'artifacts', a.artifacts,
            'evidence', coalesce((
                SELECT jsonb_agg(jsonb_build_object('phase', v.phase, 'seq', v.seq, 'started_at', v.started_at,
                                                    'ended_at', v.ended_at, 'detail', v.detail) ORDER BY v.seq)
                FROM proctor.evidence v WHERE v.tenant_id = :tenant AND v.attempt_id = a.id), '[]'),
            'gradings', coalesce((
                SELECT jsonb_agg(jsonb_build_object('number', g.number, 'mode', g.mode, 'backend', g.backend,
                                                    'forgeable', g.forgeable, 'rewards', g.rewards,
                                                    'detail', g.detail, 'graded_at', g.graded_at) ORDER BY g.number)
                FROM proctor.grading g WHERE g.tenant_id = :tenant AND g.attempt_id = a.id
                  AND g.verifier_digest = p.verifier_digest), '[]'),
            'outcomes', coalesce((
                SELECT jsonb_agg(jsonb_build_object('grading', o.grading, 'outcome', o.class, 'owner', o.owner,
                                                    'verdict', o.verdict) ORDER BY o.grading)
                FROM proctor.outcome o WHERE o.tenant_id = :tenant AND o.attempt_id = a.id
                  AND o.policy_version = :policy), '[]')
        ) ORDER BY a.number)
        FROM proctor.attempt a
        WHERE a.tenant_id = :tenant AND a.cell_id = p.cell_id AND a.ended_at IS NOT NULL) AS attempts
FROM (SELECT e.profile, e.content_digest, e.cell_id, c.verifier_digest,
             row_number() OVER (PARTITION BY e.profile, e.content_digest ORDER BY c.trial) AS place
      FROM proctor.expected_cell e JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
      WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set) p
WHERE (p.profile, p.content_digest, p.place) > (:profile, :task, :place)
  AND EXISTS (SELECT FROM proctor.attempt a WHERE a.tenant_id = :tenant AND a.cell_id = p.cell_id
              AND a.ended_at IS NOT NULL)
ORDER BY p.profile, p.content_digest, p.place LIMIT :page;

-- name: places_of
-- The cells of some profiles and tasks of a run set, by their place among the trials of both.
SELECT e.profile, e.content_digest, e.cell_id, row_number() OVER (PARTITION BY e.profile, e.content_digest
                                                                  ORDER BY c.trial) AS place
FROM proctor.expected_cell e JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.content_digest = ANY(CAST(:tasks AS text[]));

-- name: attempts_there
SELECT id FROM proctor.attempt WHERE tenant_id = :tenant AND id = ANY(CAST(:ids AS uuid[]));

-- name: insert_pushed_attempts
-- Says which are new: what hangs on an attempt that was there already is not touched.
INSERT INTO proctor.attempt
    (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id, backend, trace_id, started_at,
     ended_at, usage, limits, artifacts, last_segment)
SELECT :tenant, r.id, r.cell_id, r.number, r.run_set_id, r.content_digest, 0,
       '00000000-0000-0000-0000-000000000000', r.backend, r.trace_id, r.started_at, r.ended_at, r.usage, r.limits,
       r.artifacts, r.last_segment
FROM jsonb_to_recordset(CAST(:rows AS jsonb))
    AS r (id uuid, cell_id uuid, number int, run_set_id uuid, content_digest text, backend text, trace_id text,
          started_at timestamptz, ended_at timestamptz, usage jsonb, limits jsonb, artifacts jsonb, last_segment int)
ON CONFLICT DO NOTHING RETURNING id;
