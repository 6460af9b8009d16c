"""Two profiles with as many tasks as are wanted, put into the database as rows: no agent is needed to compare them."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL

from proctor.engine.planning import RunSetRow

__all__ = ["multiply"]


def multiply(owner: URL, tenant: UUID, run_set: RunSetRow, tasks: int, *, owed_every: int = 50) -> None:
    """Give a run set of two profiles, one task and one trial this many tasks more, each decided or owed.

    Of ten the first profile passes seven, the second six; each owes one of ``owed_every``, at other tasks.
    """
    values = {
        "tenant": tenant,
        "run_set": run_set.id,
        "policy": run_set.policy_version,
        "tasks": tasks,
        "owed": owed_every,
    }
    engine = create_engine(owner)
    with engine.begin() as connection:
        connection.execute(text("SELECT set_config('proctor.tenant', CAST(:tenant AS text), true)"), values)
        for statement in _STATEMENTS:
            connection.execute(text(statement), values)
    engine.dispose()


_STATEMENTS = (
    """
    CREATE TEMPORARY TABLE more ON COMMIT DROP AS
    SELECT n, encode(sha256(convert_to('content ' || CAST(:run_set AS text) || n, 'UTF8')), 'hex') AS content,
           encode(sha256(convert_to('agent ' || CAST(:run_set AS text) || n, 'UTF8')), 'hex') AS agent,
           encode(sha256(convert_to('verifier ' || CAST(:run_set AS text) || n, 'UTF8')), 'hex') AS verifier
    FROM generate_series(1, CAST(:tasks AS int)) AS n
    """,
    """
    INSERT INTO proctor.task (tenant_id, content_digest, agent_digest, verifier_digest, name, config, images,
                              archive_key, archive_sha256, archive_size)
    SELECT t.tenant_id, m.content, m.agent, m.verifier, 'item-' || lpad(CAST(m.n AS text), 6, '0'), t.config, t.images,
           t.archive_key, t.archive_sha256, t.archive_size
    FROM more m, (SELECT * FROM proctor.task WHERE tenant_id = :tenant AND config IS NOT NULL
                  ORDER BY name LIMIT 1) t
    """,
    """
    INSERT INTO proctor.suite_task (tenant_id, suite_id, content_digest, position)
    SELECT r.tenant_id, r.suite_id, m.content, m.n FROM more m, proctor.run_set r WHERE r.id = :run_set
    """,
    "SELECT proctor.refresh_statistics()",
    """
    CREATE TEMPORARY TABLE many ON COMMIT DROP AS
    SELECT gen_random_uuid() AS cell, gen_random_uuid() AS attempt, p.position, p.configuration, m.*,
           (m.n + p.position * 7) % CAST(:owed AS int) <> 0 AS decided,
           (m.n * 7919 + p.position * 3) % 10 < 7 - p.position AS passed
    FROM more m, proctor.run_set_profile p WHERE p.run_set_id = :run_set
    """,
    """
    INSERT INTO proctor.cell (tenant_id, id, configuration, agent_digest, verifier_digest, trial)
    SELECT :tenant, cell, configuration, agent, verifier, 1 FROM many
    """,
    """
    INSERT INTO proctor.expected_cell (tenant_id, run_set_id, cell_id, profile, content_digest, reused)
    SELECT :tenant, :run_set, cell, position, content, false FROM many
    """,
    "SELECT proctor.refresh_statistics()",
    """
    INSERT INTO proctor.attempt (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id, backend,
                                 trace_id, started_at, ended_at, usage)
    SELECT :tenant, attempt, cell, 1, :run_set, content, 0, gen_random_uuid(), 'fake', '',
           now() - make_interval(secs => 60 + n % 40), now(),
           jsonb_build_object('cost_nano', 1000000 * (1 + n % 9), 'input_tokens', n, 'output_tokens', 7)
    FROM many
    """,
    "SELECT proctor.refresh_statistics()",
    """
    INSERT INTO proctor.outcome (tenant_id, attempt_id, grading, policy_version, class, owner, rule, verdict)
    SELECT :tenant, attempt, 0, :policy, CASE WHEN NOT decided THEN 'node_lost' WHEN passed THEN 'passed'
           ELSE 'failed' END, CASE WHEN decided THEN 'model' ELSE 'infrastructure' END, 'test-01',
           CASE WHEN decided THEN passed END
    FROM many
    """,
    """
    INSERT INTO proctor.result (tenant_id, cell_id, policy_version, attempt_id, grading, class, verdict)
    SELECT :tenant, cell, :policy, attempt, 0, CASE WHEN passed THEN 'passed' ELSE 'failed' END, passed
    FROM many WHERE decided
    """,
    "SELECT proctor.refresh_statistics()",
)
"""Tasks, cells, attempts, outcomes and results; and what the database learns of its tables meanwhile."""
