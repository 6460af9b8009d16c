-- Long work goes on under the trace of the request that asked for it. Frozen: later revisions change it, this file never
-- does again.

ALTER TABLE proctor.operation ADD COLUMN traceparent TEXT;
COMMENT ON COLUMN proctor.operation.traceparent IS 'the trace and the span that asked; NULL: none';
