-- Who started a run set, found without reading the whole audit log. Frozen: later revisions change it, this file never
-- does again.

CREATE INDEX ix_security_event_started ON proctor.security_event (tenant_id, target, seq)
    WHERE action = 'run-set.started';
