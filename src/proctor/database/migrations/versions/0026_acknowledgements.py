"""Alerts that somebody of a tenant has seen, and until when they are not to be told again."""

from pathlib import Path

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
