"""Alembic's entry: it migrates the connection it is given, in one transaction."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    version_table_schema="proctor",
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
