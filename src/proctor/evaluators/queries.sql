-- Versions of one name are numbered one after the other, whoever registers at the same moment.

-- name: lock_name
SELECT pg_advisory_xact_lock(hashtextextended('proctor.evaluator ' || :tenant || ' ' || :name, 0))

-- A running mean: the sums of it are kept, so that it is the same in whichever order batches end.
-- name: note_latency
INSERT INTO proctor.evaluator_measure AS m (tenant_id, digest, evaluations, seconds)
VALUES (:tenant, :digest, :evaluations, :seconds)
ON CONFLICT (tenant_id, digest) DO UPDATE
SET evaluations = m.evaluations + excluded.evaluations, seconds = m.seconds + excluded.seconds, changed_at = now()

-- name: note_accuracy
INSERT INTO proctor.evaluator_measure (tenant_id, digest, evaluations, seconds, accuracy, accuracy_source)
VALUES (:tenant, :digest, 0, 0, :accuracy, :source)
ON CONFLICT (tenant_id, digest) DO UPDATE
SET accuracy = excluded.accuracy, accuracy_source = excluded.accuracy_source, changed_at = now()
