ALTER TABLE proctor.queue_item ADD COLUMN begun boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN proctor.queue_item.begun IS 'its sandbox is there';
COMMENT ON COLUMN proctor.queue_item.need IS '{memory_mb, cpus, disk_mb}';
ALTER TABLE proctor.attempt ADD COLUMN phase text NOT NULL DEFAULT '';
ALTER TABLE proctor.attempt ADD COLUMN progressed_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN proctor.attempt.phase IS 'the one it is in, as its worker last said';
COMMENT ON COLUMN proctor.attempt.progressed_at IS 'when its evidence, log or trajectory last grew';
