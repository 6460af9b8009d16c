"""The dashboard tells who may do what: as the server's roles have it, to the last permission."""

from __future__ import annotations

import re
from pathlib import Path

from proctor.identity.permissions import ROLES, Permission, Role

SOURCE = Path(__file__).parents[2] / "web" / "src"


def test_the_dashboard_names_the_weakest_role_of_every_permission() -> None:
    source = (SOURCE / "api" / "permitted.ts").read_text(encoding="utf-8")
    roles = re.search(r"ROLES: readonly Role\[\] = \[(.+)\];", source)
    assert roles is not None
    assert [name.strip(' "') for name in roles[1].split(",")] == [role.value for role in Role]
    told = dict(re.findall(r'^  "?([a-z:]+)"?: "?(\w+)"?,$', source, re.MULTILINE))
    weakest = {one: next((role.value for role in Role if one in ROLES[role]), "null") for one in Permission}
    assert told == {one.value: role for one, role in weakest.items()}
