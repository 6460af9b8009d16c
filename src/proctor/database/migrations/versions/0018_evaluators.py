"""Evaluators are registered in versions; what is measured of them, and which a tenant may use."""

from pathlib import Path

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
