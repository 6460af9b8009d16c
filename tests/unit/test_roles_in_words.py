"""The dashboard tells who may do what: as the server's roles have it, to the last permission."""

from __future__ import annotations

import re
from pathlib import Path

from proctor.identity.permissions import ROLES, Permission, Role

SOURCE = Path(__file__).parents[2] / "web" / "src" / "api" / "permitted.ts"
WORDS = {
    Role.VIEWER: "everybody of the tenant",
    Role.REVIEWER: "reviewers, members, admins and owners",
    Role.MEMBER: "members, admins and owners",
    Role.ADMIN: "admins and owners",
    Role.OWNER: "owners",
    None: "administrators of the installation",
}


def test_the_dashboard_names_the_weakest_role_of_every_permission() -> None:
    source = SOURCE.read_text(encoding="utf-8")
    names = dict(re.findall(r'^const ([A-Z]+) = "(.+)";$', source, re.MULTILINE))
    said = re.findall(r'^  "?([a-z:]+)"?: (?:"(.+)"|([A-Z]+)),$', source, re.MULTILINE)
    told = {permission: words or names[name] for permission, words, name in said}
    weakest = {one: next((role for role in Role if one in ROLES[role]), None) for one in Permission}
    assert told == {one.value: WORDS[role] for one, role in weakest.items()}
