-- Over proctor.spend: calls of models, and attempts none of whose calls came by us.

-- name: starters
-- Who first started each run set through a server: the user of what agents report, which came by no call of a user's.
-- One value, made once and only if it is asked for: a join's cost would hang on how many entries the planner expects.
WITH starter AS MATERIALIZED (
    SELECT jsonb_object_agg(k.target, k.actor) AS users
    FROM (
        SELECT DISTINCT ON (e.target) e.target, e.actor FROM proctor.security_event e
        WHERE e.tenant_id = :tenant AND e.action = 'run-set.started' AND e.actor IS NOT NULL
        ORDER BY e.target, e.seq
    ) k
)

-- name: spent_by
-- The dearest first, and all of it in the row without a key.
-- include: starters
SELECT k.key, grouping(k.key) = 1 AS whole, coalesce(sum(k.cost_nano), 0)::bigint AS cost_nano,
       coalesce(sum(k.assumed_nano), 0)::bigint AS assumed_nano, count(*) AS entries,
       count(*) FILTER (WHERE k.cost_nano IS NULL) AS unpriced
FROM (
    SELECT CASE CAST(:by AS text)
               WHEN 'run_set' THEN coalesce(s.run_set_id::text, '') WHEN 'profile' THEN s.profile WHEN 'model' THEN s.model
               WHEN 'provider' THEN split_part(s.model, '/', 1) WHEN 'kind' THEN s.kind
               WHEN 'user' THEN coalesce(
                   nullif(s.user_id, ''),
                   CASE WHEN s.kind = 'reported' THEN (SELECT f.users FROM starter f) ->> s.run_set_id::text END, '')
               ELSE '' END AS key, s.cost_nano, s.assumed_nano
    FROM proctor.spend s
    WHERE s.tenant_id = :tenant AND s.at >= :since AND s.at < :until
) k
GROUP BY GROUPING SETS ((k.key), ())
ORDER BY whole DESC, cost_nano DESC, entries DESC, k.key
LIMIT :limit;

-- name: spent_days
-- By day of UTC; keys that are not among those named are one.
-- include: starters
SELECT k.day, k.key, coalesce(sum(k.cost_nano), 0)::bigint AS cost_nano,
       coalesce(sum(k.assumed_nano), 0)::bigint AS assumed_nano, count(*) AS entries,
       count(*) FILTER (WHERE k.cost_nano IS NULL) AS unpriced
FROM (
    SELECT i.day, CASE WHEN i.key = ANY(CAST(:keys AS text[])) THEN i.key END AS key, i.cost_nano, i.assumed_nano
    FROM (
        SELECT date_trunc('day', s.at, 'UTC') AS day, CASE CAST(:by AS text)
                   WHEN 'run_set' THEN coalesce(s.run_set_id::text, '') WHEN 'profile' THEN s.profile
                   WHEN 'model' THEN s.model WHEN 'provider' THEN split_part(s.model, '/', 1) WHEN 'kind' THEN s.kind
                   WHEN 'user' THEN coalesce(
                       nullif(s.user_id, ''),
                       CASE WHEN s.kind = 'reported' THEN (SELECT f.users FROM starter f) ->> s.run_set_id::text END, '')
                   ELSE '' END AS key,
               s.cost_nano, s.assumed_nano
        FROM proctor.spend s
        WHERE s.tenant_id = :tenant AND s.at >= :since AND s.at < :until
    ) i
) k
GROUP BY k.day, k.key ORDER BY k.day, k.key;

-- name: spent_unpriced
-- Of what nobody knows the cost, by model: those with the most first.
SELECT split_part(s.model, '/', 1) AS provider, s.model, count(*) AS entries
FROM proctor.spend s
WHERE s.tenant_id = :tenant AND s.at >= :since AND s.at < :until AND s.cost_nano IS NULL
GROUP BY s.model ORDER BY entries DESC, s.model LIMIT :limit;

-- name: spent_undecided
-- On attempts that ended without a verdict, by whose it is, under the policy of the run set that paid. Each attempt is
-- looked up once, however many calls it made.
WITH spent AS MATERIALIZED (
    SELECT s.run_set_id, s.attempt_id, sum(s.cost_nano) AS cost_nano, sum(s.assumed_nano) AS assumed_nano,
           count(*) AS entries, count(*) FILTER (WHERE s.cost_nano IS NULL) AS unpriced
    FROM proctor.spend s
    WHERE s.tenant_id = :tenant AND s.at >= :since AND s.at < :until AND s.attempt_id IS NOT NULL
    GROUP BY s.run_set_id, s.attempt_id
)
SELECT o.owner, count(*) AS attempts, coalesce(sum(p.cost_nano), 0)::bigint AS cost_nano,
       coalesce(sum(p.assumed_nano), 0)::bigint AS assumed_nano, sum(p.entries)::bigint AS entries,
       sum(p.unpriced)::bigint AS unpriced
FROM spent p
JOIN proctor.run_set r ON r.tenant_id = :tenant AND r.id = p.run_set_id
CROSS JOIN LATERAL (
    SELECT x.owner, x.verdict FROM proctor.own_outcome x
    WHERE x.tenant_id = :tenant AND x.attempt_id = p.attempt_id AND x.policy_version = r.policy_version
    ORDER BY x.grading DESC LIMIT 1
) o
WHERE o.verdict IS NULL
GROUP BY o.owner ORDER BY cost_nano DESC, attempts DESC, o.owner;

-- name: spent_entries
-- A page, the newest first; what else is told is looked up for its entries alone. ``owner``: only of attempts that ended
-- without a verdict, and whose that is.
-- include: starters
, page AS MATERIALIZED (
    SELECT s.* FROM proctor.spend s
    WHERE s.tenant_id = :tenant AND s.at >= :since AND s.at < :until
      AND (CAST(:run_set AS text) IS NULL OR coalesce(s.run_set_id::text, '') = :run_set)
      AND (CAST(:profile AS text) IS NULL OR s.profile = :profile)
      AND (CAST(:model AS text) IS NULL OR s.model = :model)
      AND (CAST(:provider AS text) IS NULL OR split_part(s.model, '/', 1) = :provider)
      AND (CAST(:kind AS text) IS NULL OR s.kind = :kind)
      AND (CAST(:user AS text) IS NULL OR :user = coalesce(
          nullif(s.user_id, ''),
          CASE WHEN s.kind = 'reported' THEN (SELECT f.users FROM starter f) ->> s.run_set_id::text END, ''))
      AND (CAST(:unpriced AS boolean) IS NULL OR (s.cost_nano IS NULL) = :unpriced)
      AND (CAST(:owner AS text) IS NULL OR :owner = (
          SELECT CASE WHEN x.verdict IS NULL THEN x.owner END
          FROM proctor.own_outcome x
          JOIN proctor.run_set r ON r.tenant_id = x.tenant_id AND r.policy_version = x.policy_version
          WHERE x.tenant_id = s.tenant_id AND x.attempt_id = s.attempt_id AND r.id = s.run_set_id
          ORDER BY x.grading DESC LIMIT 1))
      AND (CAST(:before_at AS timestamptz) IS NULL OR (s.at, s.id) < (:before_at, CAST(:before_id AS uuid)))
    ORDER BY s.at DESC, s.id DESC LIMIT :limit
)
SELECT s.id, s.at, s.kind, s.run_set_id, r.name AS run_set, s.attempt_id, s.profile, s.model, s.cost_nano,
       s.assumed_nano, c.ended_as, c.http_status, c.seconds,
       c.input_tokens + coalesce(c.cache_read_tokens, 0) + coalesce(c.cache_write_tokens, 0) AS input_tokens,
       c.output_tokens, o.class AS outcome, o.owner
FROM page s
LEFT JOIN proctor.model_call c ON c.tenant_id = s.tenant_id AND c.id = s.id
LEFT JOIN proctor.run_set r ON r.tenant_id = s.tenant_id AND r.id = s.run_set_id
LEFT JOIN LATERAL (
    SELECT x.class, x.owner FROM proctor.own_outcome x
    WHERE x.tenant_id = s.tenant_id AND x.attempt_id = s.attempt_id AND x.policy_version = r.policy_version
    ORDER BY x.grading DESC LIMIT 1
) o ON true
ORDER BY s.at DESC, s.id DESC;

-- name: counted_days
-- What the budgets count, by day of UTC.
SELECT date_trunc('day', l.created_at, 'UTC') AS day, sum(l.nano)::bigint AS nano
FROM proctor.ledger l
WHERE l.tenant_id = :tenant AND l.created_at >= :since AND l.created_at < :until
GROUP BY 1 ORDER BY 1;

-- name: uncounted
-- Of this month (UTC), what cost something that nobody knows and that the budgets count nothing for.
SELECT count(*) FROM proctor.spend s
WHERE s.tenant_id = :tenant AND s.at >= date_trunc('month', now(), 'UTC') AND s.cost_nano IS NULL AND s.assumed_nano = 0;

-- name: run_set_names
SELECT r.id::text AS key, r.name FROM proctor.run_set r
WHERE r.tenant_id = :tenant AND r.id::text = ANY(CAST(:keys AS text[]));
