"""Writes the OpenAPI document to web/openapi.json: ``make web-api``. The same code writes the same bytes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from sqlalchemy.engine import URL

from proctor.api import create_app
from proctor.app import Server
from proctor.database.engine import Database
from proctor.objects.store import ObjectStore
from proctor.settings import Settings

__all__ = ["PAGE", "document"]

PAGE = Path(__file__).resolve().parent.parent / "web" / "openapi.json"


def document() -> str:
    """The document of an app over nothing: it is made of the routes alone."""
    nowhere = URL.create("postgresql+psycopg", host="localhost", database="nowhere")
    with tempfile.TemporaryDirectory() as folder:
        database = Database(nowhere, nowhere)
        try:
            home, objects = Path(folder), ObjectStore(Path(folder) / "objects")
            server = Server(settings=Settings(home=home), database=database, objects=objects, secret=b"\0" * 32)
            return json.dumps(create_app(server).openapi(), indent=2, ensure_ascii=False) + "\n"
        finally:
            database.close()


def main() -> None:
    """Write it."""
    PAGE.write_text(document(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(PAGE.parent.parent)}")


if __name__ == "__main__":
    main()
