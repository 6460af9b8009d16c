"""``proctor database upgrade|bootstrap-sql|status``."""

from __future__ import annotations

import typer

from proctor.cli.output import AsJson, print_json, show, told

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="The database: embedded by default, or one's own PostgreSQL.")


@app.command()
def upgrade(as_json: AsJson = False) -> None:
    """Migrate one's own PostgreSQL, as PROCTOR_DATABASE_OWNER_URL. (The embedded one migrates itself.)"""
    with told(as_json=as_json):
        from proctor.sdk.doctor import upgrade_database

        changed = upgrade_database()
        print_json({"changed": changed}) if as_json else show("Upgraded." if changed else "Nothing to do.")


@app.command("bootstrap-sql")
def bootstrap_sql() -> None:
    """Print the script that makes the roles and the database, for an administrator to run."""
    from proctor.database.roles import bootstrap_sql as script

    typer.echo(script())


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show the embedded server: whether it runs, its clients, version and folders."""
    with told(as_json=as_json):
        from proctor.sdk.doctor import database_status

        seen = database_status()
        if as_json:
            print_json(seen)
            return
        state = f"running, pid {seen.pid}, clients {list(seen.clients)}" if seen.running else "not running"
        show(f"{state} · version {seen.version or 'none yet'} · data {seen.data} · log {seen.log}")
