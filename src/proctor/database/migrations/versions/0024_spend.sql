-- What was spent, entry by entry, and how the installation was, minute by minute. Frozen: later revisions change it, this
-- file never does again.

-- By when they were written: calls without money are in no ledger.
CREATE INDEX ix_model_call_written ON proctor.model_call USING brin (written_at);

-- An entry is a call of a model, or an attempt none of whose calls came by us. What it costs is in ``cost_nano``, which is
-- NULL where nobody knows; what the budgets count for it then is in ``assumed_nano``. Both together are the ledger.
CREATE VIEW proctor.spend WITH (security_invoker = true) AS
SELECT l.tenant_id, l.id, l.created_at AS at, coalesce(c.purpose, 'reported') AS kind, l.run_set_id,
       coalesce(l.attempt_id, c.attempt_id) AS attempt_id, coalesce(l.profile, '') AS profile,
       coalesce(l.user_id, '') AS user_id,
       coalesce(c.model, (SELECT k.document ->> 'model' FROM proctor.attempt a
                          JOIN proctor.cell e ON e.tenant_id = a.tenant_id AND e.id = a.cell_id
                          JOIN proctor.configuration k ON k.tenant_id = e.tenant_id AND k.hash = e.configuration
                          WHERE a.tenant_id = l.tenant_id AND a.id = l.attempt_id), '') AS model,
       CASE WHEN c.id IS NULL OR c.cost_nano IS NOT NULL THEN l.nano END AS cost_nano,
       CASE WHEN c.id IS NOT NULL AND c.cost_nano IS NULL THEN l.nano ELSE 0 END AS assumed_nano
FROM proctor.ledger l
LEFT JOIN proctor.model_call c ON c.tenant_id = l.tenant_id AND c.id = l.id
UNION ALL
SELECT c.tenant_id, c.id, c.written_at, c.purpose, c.run_set_id, c.attempt_id, c.profile, c.user_id, c.model,
       c.cost_nano, 0
FROM proctor.model_call c
WHERE coalesce(c.charged_nano, 0) = 0
UNION ALL
SELECT a.tenant_id, a.id, a.started_at, 'reported', a.run_set_id, a.id,
       coalesce((SELECT p.name FROM proctor.expected_cell x
                 JOIN proctor.run_set_profile p
                   ON p.tenant_id = x.tenant_id AND p.run_set_id = x.run_set_id AND p.position = x.profile
                 WHERE x.tenant_id = a.tenant_id AND x.run_set_id = a.run_set_id AND x.cell_id = a.cell_id), ''),
       '',
       coalesce((SELECT k.document ->> 'model' FROM proctor.cell e
                 JOIN proctor.configuration k ON k.tenant_id = e.tenant_id AND k.hash = e.configuration
                 WHERE e.tenant_id = a.tenant_id AND e.id = a.cell_id), ''),
       (a.usage ->> 'cost_nano')::bigint, 0
FROM proctor.attempt a
WHERE a.ended_at IS NOT NULL AND coalesce((a.usage ->> 'cost_nano')::bigint, 0) = 0
  AND a.worker_id <> '00000000-0000-0000-0000-000000000000'  -- what was run elsewhere was paid elsewhere
  AND NOT EXISTS (SELECT FROM proctor.model_call c WHERE c.tenant_id = a.tenant_id AND c.attempt_id = a.id);
GRANT SELECT ON proctor.spend TO proctor_app;

-- How the installation was: one row a minute, of no tenant. NULL is not known.
CREATE TABLE proctor.health_sample (
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    oldest_critical FLOAT NOT NULL,
    oldest_high FLOAT NOT NULL,
    oldest_normal FLOAT NOT NULL,
    oldest_low FLOAT NOT NULL,
    pending BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    claimed BIGINT NOT NULL,
    paused BIGINT NOT NULL,
    dead BIGINT NOT NULL,
    sandboxes BIGINT NOT NULL,
    infrastructure FLOAT,
    provider FLOAT,
    relay_lag FLOAT NOT NULL,
    CONSTRAINT pk_health_sample PRIMARY KEY (at)
);
COMMENT ON COLUMN proctor.health_sample.at IS 'the minute';
COMMENT ON COLUMN proctor.health_sample.oldest_critical IS 'seconds since the first ready row of that band is ready; 0: none';
COMMENT ON COLUMN proctor.health_sample.infrastructure IS 'its share of the attempts that ended lately; NULL: none did';
COMMENT ON COLUMN proctor.health_sample.provider IS 'providers'' share of the same';
COMMENT ON COLUMN proctor.health_sample.relay_lag IS 'seconds since the first event that is not published';
GRANT SELECT, INSERT, DELETE ON proctor.health_sample TO proctor_scheduler;
