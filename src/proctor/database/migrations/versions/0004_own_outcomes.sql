-- An attempt that was graded again by a later version of its verifier has outcomes that belong to another cell.
CREATE VIEW proctor.own_outcome WITH (security_invoker = true) AS
SELECT a.tenant_id, a.cell_id, a.id AS attempt_id, a.number, o.grading, o.policy_version, o.class, o.owner, o.rule,
       o.verdict, o."limit", o.decided_at
FROM proctor.attempt a
JOIN proctor.cell c ON c.tenant_id = a.tenant_id AND c.id = a.cell_id
JOIN proctor.outcome o ON o.tenant_id = a.tenant_id AND o.attempt_id = a.id
WHERE NOT EXISTS (SELECT FROM proctor.grading g
                  WHERE g.tenant_id = o.tenant_id AND g.attempt_id = o.attempt_id AND g.number = o.grading
                    AND g.verifier_digest <> c.verifier_digest);
GRANT SELECT ON proctor.own_outcome TO proctor_app, proctor_scheduler;
