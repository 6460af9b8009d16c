ALTER TABLE proctor.recent_end ADD COLUMN tasks TEXT[] DEFAULT '{}' NOT NULL;
COMMENT ON COLUMN proctor.recent_end.tasks IS 'content digests, of as many as tell few from many';
