-- The order in which events were published. Frozen: later revisions change it, this file never does again.

-- Transaction ids begin anew where a dump is restored, so that streams can't be resumed by them; this number goes on.
CREATE SEQUENCE proctor.event_position;
GRANT USAGE ON SEQUENCE proctor.event_position TO proctor_scheduler;
REVOKE USAGE ON SEQUENCE proctor.event_position FROM proctor_app;

ALTER TABLE proctor.event ADD COLUMN position BIGINT;
COMMENT ON COLUMN proctor.event.position IS 'in the order of publication; NULL: not published yet';
GRANT UPDATE (published_at, position) ON proctor.event TO proctor_scheduler;

DROP INDEX proctor.ix_event_published_at;
CREATE INDEX ix_event_position ON proctor.event (position) WHERE position IS NOT NULL;
CREATE INDEX ix_event_tenant_id_position ON proctor.event (tenant_id, position) WHERE position IS NOT NULL;
