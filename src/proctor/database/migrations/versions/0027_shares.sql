-- Of how many attempts the sampled shares are. Frozen: later revisions change it, this file never does again.

ALTER TABLE proctor.health_sample ADD COLUMN ended BIGINT;
COMMENT ON COLUMN proctor.health_sample.ended IS 'attempts that ended lately; NULL: from before it was kept';
