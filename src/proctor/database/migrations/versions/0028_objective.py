"""What each sample counts of its own, for the service-level objective; and the backups that were made."""

from pathlib import Path

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Run the frozen SQL beside this file."""
    op.get_bind().exec_driver_sql(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
