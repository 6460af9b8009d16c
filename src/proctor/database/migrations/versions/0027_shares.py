"""Of how many attempts the sampled shares are."""

from pathlib import Path

from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
