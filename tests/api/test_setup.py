"""The first start: one administrator, by a link that works once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, text

from proctor.api import create_app
from proctor.app import Server, open_server, server_secret
from proctor.database.engine import Database
from proctor.identity.setup import is_set_up, new_setup_token
from proctor.kernel.ids import new_id
from proctor.settings import Settings
from tests.api.conftest import SECRET, Asker
from tests.conftest import Urls


@pytest.fixture
def fresh(urls: Urls, server: Server) -> Iterator[Server]:
    """An installation that nobody has set up."""
    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM proctor.platform_setup"))
    yield server
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM proctor.platform_setup"))
    engine.dispose()


@pytest.fixture
def asker(fresh: Server) -> Iterator[Asker]:
    with TestClient(create_app(fresh), raise_server_exceptions=False) as http:
        yield Asker(http, None)


def body(token: str, **more: str) -> dict[str, str]:
    return {"token": token, "tenant": f"t-{new_id().hex}", "owner": "ada@example.org", **more}


def test_the_link_makes_the_first_administrator_once(fresh: Server, asker: Asker) -> None:
    assert not is_set_up(fresh.database)
    token = new_setup_token(fresh.database, SECRET)
    assert token is not None
    made = asker.post("setup", body(token))
    owner = Asker(asker.http, made["issued"]["secret"])
    me = owner.get("me")
    assert (me["role"], me["administrator"]) == ("owner", True)
    assert is_set_up(fresh.database)
    assert asker.post("setup", body(token), 403)["code"] == "setup-done"
    assert new_setup_token(fresh.database, SECRET) is None


def test_only_the_newest_link_works(fresh: Server, asker: Asker) -> None:
    old, new = new_setup_token(fresh.database, SECRET), new_setup_token(fresh.database, SECRET)
    assert old is not None
    assert new is not None
    assert asker.post("setup", body(old), 403)["code"] == "link"
    asker.post("setup", body(new))


def test_a_link_whose_time_is_over_is_refused(fresh: Server, asker: Asker, database: Database) -> None:
    token = new_setup_token(fresh.database, SECRET)
    assert token is not None
    with database.tenant(new_id()) as connection:
        connection.execute(text("UPDATE proctor.platform_setup SET expires_at = now() - interval '1 second'"))
    assert asker.post("setup", body(token), 403)["code"] == "link"


def test_a_wrong_word_does_not_use_the_link_up(fresh: Server, asker: Asker) -> None:
    token = new_setup_token(fresh.database, SECRET)
    assert token is not None
    assert asker.post("setup", body(token, owner="nobody"), 422)["code"] == "user-name"
    assert asker.post("setup", body(token, tenant="No Name"), 422)["code"] == "tenant-name"
    assert asker.post("setup", body("guessed"), 403)["code"] == "link"
    asker.post("setup", body(token))


def test_an_administrator_makes_tenants_and_nobody_else_does(fresh: Server, asker: Asker) -> None:
    token = new_setup_token(fresh.database, SECRET)
    assert token is not None
    administrator = Asker(asker.http, asker.post("setup", body(token))["issued"]["secret"])
    name = f"t-{new_id().hex}"
    made = administrator.post("tenants", {"name": name, "owner": "bob@example.org"})
    bob = Asker(asker.http, made["issued"]["secret"])
    assert bob.get("me")["tenant_name"] == name
    assert bob.post("tenants", {"name": "third", "owner": "c@example.org"}, 403)["code"] == "forbidden"
    assert administrator.post("tenants", {"name": name, "owner": "x@example.org"}, 409)["code"] == "name-taken"
    assert str(administrator.get("me")["user"]) not in bob("GET", "audit-log").text


def test_the_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    first = server_secret(settings)
    path = tmp_path / "secrets" / "server.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert server_secret(settings) == first
    assert len(first) >= 32


def test_a_server_with_a_database_of_ones_own_needs_a_secret(urls: Urls, tmp_path: Path) -> None:
    address = urls.app.render_as_string(hide_password=False)
    settings = Settings(home=tmp_path, database_url=address)
    with pytest.raises(Exception, match="PROCTOR_SERVER_SECRET"), open_server(settings):
        pass
