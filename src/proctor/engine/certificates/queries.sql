-- Statements over certificates, repeated verdicts and quarantine. All run in a tenant's session.

-- name: standings
-- The usable tasks of a suite with their last certificate on a ground, the last one there that decided anything, and
-- what quarantine says. A certificate holds where its environment is part of what is asked for: a suite's identity
-- names the tools of all its tasks.
SELECT t.content_digest, t.name, t.agent_digest, t.verifier_digest, last.verdict AS last_verdict, last.problems,
       last.snapshot, last.runs, last.checks, last.made_at, last.made_by, decided.verdict AS verdict,
       q.state = 'quarantined' AS quarantined, q.reason AS quarantine_reason
FROM proctor.suite_task st
JOIN proctor.task t ON t.tenant_id = st.tenant_id AND t.content_digest = st.content_digest
LEFT JOIN LATERAL (
    SELECT c.verdict, c.problems, c.snapshot, c.runs, c.checks, c.made_at, c.made_by FROM proctor.certificate c
    WHERE c.tenant_id = t.tenant_id AND c.agent_digest = t.agent_digest AND c.verifier_digest = t.verifier_digest
      AND c.backend = :backend AND c.environment <@ CAST(:environment AS jsonb)
    ORDER BY c.made_at DESC LIMIT 1) last ON true
LEFT JOIN LATERAL (
    SELECT c.verdict FROM proctor.certificate c
    WHERE c.tenant_id = t.tenant_id AND c.agent_digest = t.agent_digest AND c.verifier_digest = t.verifier_digest
      AND c.backend = :backend AND c.environment <@ CAST(:environment AS jsonb) AND c.verdict <> 'not_decided'
    ORDER BY c.made_at DESC LIMIT 1) decided ON true
LEFT JOIN LATERAL (
    SELECT q.state, q.reason FROM proctor.quarantine q
    WHERE q.tenant_id = t.tenant_id AND q.agent_digest = t.agent_digest AND q.verifier_digest = t.verifier_digest
    ORDER BY q.at DESC LIMIT 1) q ON true
WHERE st.tenant_id = :tenant AND st.suite_id = :suite_id AND t.problem IS NULL ORDER BY st.position;

-- name: baseline
-- The tasks of a suite that can't count, with why: quarantined, or without a certificate that holds on a ground.
SELECT t.name, coalesce(q.state = 'quarantined', false) AS quarantined, coalesce(q.reason, '') AS reason
FROM proctor.suite_task st
JOIN proctor.task t ON t.tenant_id = st.tenant_id AND t.content_digest = st.content_digest
LEFT JOIN LATERAL (
    SELECT c.verdict FROM proctor.certificate c
    WHERE c.tenant_id = t.tenant_id AND c.agent_digest = t.agent_digest AND c.verifier_digest = t.verifier_digest
      AND c.backend = :backend AND c.environment <@ CAST(:environment AS jsonb) AND c.verdict <> 'not_decided'
    ORDER BY c.made_at DESC LIMIT 1) decided ON true
LEFT JOIN LATERAL (
    SELECT q.state, q.reason FROM proctor.quarantine q
    WHERE q.tenant_id = t.tenant_id AND q.agent_digest = t.agent_digest AND q.verifier_digest = t.verifier_digest
    ORDER BY q.at DESC LIMIT 1) q ON true
WHERE st.tenant_id = :tenant AND st.suite_id = :suite_id AND t.problem IS NULL
  AND (decided.verdict IS DISTINCT FROM 'certified' OR q.state = 'quarantined')
ORDER BY st.position;

-- name: grounds
-- The backends and environments of a run set's profiles.
SELECT DISTINCT c.document->'sandbox'->>'backend' AS backend, c.document->'sandbox'->'environment' AS environment
FROM proctor.run_set_profile p
JOIN proctor.configuration c ON c.tenant_id = p.tenant_id AND c.hash = p.configuration
WHERE p.tenant_id = :tenant AND p.run_set_id = :run_set ORDER BY 1, 2;

-- name: quarantine_state
SELECT q.state, q.reason FROM proctor.quarantine q
WHERE q.tenant_id = :tenant AND q.agent_digest = :agent_digest AND q.verifier_digest = :verifier_digest
ORDER BY q.at DESC LIMIT 1;

-- name: lock_task
-- What is said of one task is said in turn.
SELECT pg_advisory_xact_lock(hashtextextended(
    'proctor.trust.' || CAST(:tenant AS text) || CAST(:agent_digest AS text) || CAST(:verifier_digest AS text), 0));
