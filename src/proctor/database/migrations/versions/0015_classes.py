"""Cells of a class that few have are found by it; a run set knows since when it runs."""

from pathlib import Path

from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
