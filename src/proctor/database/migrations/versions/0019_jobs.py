"""Evaluation jobs in chunks, the outputs they judge, and the manifest of their results."""

from pathlib import Path

from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
