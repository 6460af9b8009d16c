-- Lanes wait for gates together: a gate is a row of the same table that no queue row names.
ALTER TABLE proctor.queue_lane
    ADD COLUMN gates TEXT[] DEFAULT '{}' NOT NULL,
    ADD COLUMN counts JSONB DEFAULT '{}' NOT NULL,
    ADD COLUMN shut_token BIGINT,
    ADD COLUMN careful_until TIMESTAMP WITH TIME ZONE,
    ADD COLUMN per_minute INTEGER,
    ADD COLUMN next_start TIMESTAMP WITH TIME ZONE;
COMMENT ON COLUMN proctor.queue_lane.gates IS 'other rows that its rows wait for too';
COMMENT ON COLUMN proctor.queue_lane.counts IS 'failures by class since it last worked';
COMMENT ON COLUMN proctor.queue_lane.shut_token IS 'the last token given before its breaker opened';
COMMENT ON COLUMN proctor.queue_lane.careful_until IS 'it limited our rate: few at once until then';
COMMENT ON COLUMN proctor.queue_lane.per_minute IS 'starts a minute at most; NULL: no limit';
COMMENT ON COLUMN proctor.queue_lane.next_start IS 'when per_minute allows the next start';

ALTER TABLE proctor.queue_item ADD COLUMN ready_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL;
COMMENT ON COLUMN proctor.queue_item.ready_at IS 'since when it only waits for its turn';
ALTER TABLE proctor.attempt ADD COLUMN waited_sec FLOAT;
COMMENT ON COLUMN proctor.attempt.waited_sec IS 'its cell was ready so long before it started; NULL: unknown';

-- What recent attempts ended in, by minute, to find the smallest scope that explains failures. Pruned after an hour.
CREATE TABLE proctor.recent_end (
    tenant_id UUID NOT NULL,
    minute TIMESTAMP WITH TIME ZONE NOT NULL,
    run_set_id UUID NOT NULL,
    provider TEXT NOT NULL,
    registry TEXT NOT NULL,
    node TEXT NOT NULL,
    blame TEXT NOT NULL,
    class TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    task TEXT NOT NULL,
    several BOOLEAN NOT NULL,
    CONSTRAINT pk_recent_end PRIMARY KEY (tenant_id, minute, run_set_id, provider, registry, node, blame, class)
);
COMMENT ON COLUMN proctor.recent_end.registry IS 'empty: none was asked';
COMMENT ON COLUMN proctor.recent_end.blame IS 'the narrowest scope that it may be laid on; empty: none';
COMMENT ON COLUMN proctor.recent_end.task IS 'content digest of the first';
COMMENT ON COLUMN proctor.recent_end.several IS 'whether there were other tasks too';
ALTER TABLE proctor.recent_end ENABLE ROW LEVEL SECURITY;
ALTER TABLE proctor.recent_end FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON proctor.recent_end USING (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid)
    WITH CHECK (tenant_id = nullif(current_setting('proctor.tenant', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON proctor.recent_end TO proctor_app, proctor_scheduler;

ALTER TABLE proctor.task ADD COLUMN images TEXT[];
COMMENT ON COLUMN proctor.task.images IS 'what its sandboxes start from, as its files say; NULL: nobody looked';

-- A queue that has run empty is truncated by vacuum under a lock that nobody else may be beside. Its pages are used again
-- at once, so there is nothing to be won by it.
ALTER TABLE proctor.queue_item_cell SET (vacuum_truncate = false);
ALTER TABLE proctor.queue_item_chunk SET (vacuum_truncate = false);
ALTER TABLE proctor.queue_item_delivery SET (vacuum_truncate = false);
ALTER TABLE proctor.queue_item_step SET (vacuum_truncate = false);
