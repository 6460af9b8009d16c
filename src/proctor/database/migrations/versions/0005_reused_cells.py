"""The reused cells of a run set, mostly none or few, are found without reading all of its cells."""

from pathlib import Path

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
