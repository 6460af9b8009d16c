-- What each sample counts of its own, for the service-level objective; and the backups that were made. Frozen: later
-- revisions change it, this file never does again.

ALTER TABLE proctor.health_sample
    ADD COLUMN since TIMESTAMP WITH TIME ZONE,
    ADD COLUMN ended_since BIGINT,
    ADD COLUMN lost_since BIGINT;
COMMENT ON COLUMN proctor.health_sample.since IS
    'from which minute on it counts for itself, each attempt once; NULL: from before it was kept';
COMMENT ON COLUMN proctor.health_sample.ended_since IS 'attempts that ended since then, before this minute';
COMMENT ON COLUMN proctor.health_sample.lost_since IS 'of these, those that nobody but the installation failed';

CREATE TABLE proctor.backup (
    digest TEXT NOT NULL,
    made_at TIMESTAMP WITH TIME ZONE NOT NULL,
    bytes BIGINT NOT NULL,
    host TEXT NOT NULL,
    folder TEXT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    verified_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_backup PRIMARY KEY (digest),
    CONSTRAINT ck_backup_digest CHECK (digest ~ '^[0-9a-f]{64}$'),
    CONSTRAINT ck_backup_bytes CHECK (bytes >= 0)
);
COMMENT ON COLUMN proctor.backup.digest IS 'sha256 of its manifest as it was written';
COMMENT ON COLUMN proctor.backup.made_at IS 'as its manifest says';
COMMENT ON COLUMN proctor.backup.bytes IS 'of the dump, and of the objects where it holds them';
COMMENT ON COLUMN proctor.backup.host IS 'the machine it was written on';
COMMENT ON COLUMN proctor.backup.folder IS 'and where there';
COMMENT ON COLUMN proctor.backup.verified_at IS 'when it was last restored and found whole; NULL: never, or it was not';

-- Of no tenant: the scheduler's alone.
GRANT SELECT, INSERT, UPDATE (verified_at), DELETE ON proctor.backup TO proctor_scheduler;
