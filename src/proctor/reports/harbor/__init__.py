"""A run set as a job directory of Harbor's, with what Harbor has no field for in ``proctor.json`` beside it.

The shapes are those of Harbor 0.26: ``harbor/models/{job,trial}/{config,result}.py``, ``models/job/lock.py`` and
``models/trial/paths.py``; ``tests/foreign/test_harbor_export.py`` has Harbor's own models read every file.
"""

from proctor.reports.harbor.job import Export, Exported, Gap, JobWriter, Kept

__all__ = ["Export", "Exported", "Gap", "JobWriter", "Kept"]
