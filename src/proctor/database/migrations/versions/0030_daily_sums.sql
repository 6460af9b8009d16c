-- Daily sums of merged results, kept beside them. Frozen: later revisions change it, this file never does again.

ALTER TABLE proctor.result_batch ADD COLUMN sums jsonb;
COMMENT ON COLUMN proctor.result_batch.sums IS
    'its rows added up by day, evaluator, model and status, as rollups are; NULL: nobody did';
