"""Who started a run set, found without reading the whole audit log."""

from pathlib import Path

from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
