"""The object store: logs, trajectories, artifacts and task archives, on disk, S3 or GCS."""
