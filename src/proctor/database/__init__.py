"""PostgreSQL: engine and pool, tenant-scoped sessions, row-level security, migrations, the embedded server."""
