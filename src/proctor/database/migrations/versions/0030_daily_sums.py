"""Daily sums of merged results, kept beside them: a mean over all of them reads no file."""

from pathlib import Path

from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
