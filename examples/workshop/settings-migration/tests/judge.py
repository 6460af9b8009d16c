"""Runs /app/migrate.py on settings that the agent has not seen. Values must have the right types, too."""

import json
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

CASES = {
    "sections and keys": ("[A b]\nKey One = x y \n[a B]\n", {"A b": {"key one": "x y"}, "a B": {}}),
    "before the first section": ("x = 1\n[general]\ny = 2\n", {"general": {"x": 1, "y": 2}}),
    "no section general": ("[s]\nx=1\n", {"s": {"x": 1}}),
    "comments": ("; no\n  # no\n[s]\nx = a # b ; c\n", {"s": {"x": "a # b ; c"}}),
    "signs in values": ("[s]\nx = a=b%c%(d)s\ny: z = 1\n", {"s": {"x": "a=b%c%(d)s", "y: z": 1}}),
    "again": ("[s]\nX=1\n[t]\nx=no\n[s]\nx=2\ny=3\n", {"s": {"x": 2, "y": 3}, "t": {"x": False}}),
    "nested": ("[a.b.c]\nx=1\n[a]\ny=2\n[a.b]\n", {"a": {"y": 2, "b": {"c": {"x": 1}}}}),
    "words": (
        "[s]\na=YES\nb=oN\nc=False\nd=0\ne=1\nf=yes please\n",
        {"s": {"a": True, "b": True, "c": False, "d": 0, "e": 1, "f": "yes please"}},
    ),
    "integers": (
        "[s]\na=-12\nb=007\nc=-0\nd=+1\ne=1.5\nf=12345678901234567890\ng=\u0663\nh=--5\n",
        {
            "s": {
                "a": -12,
                "b": "007",
                "c": "-0",
                "d": "+1",
                "e": "1.5",
                "f": 12345678901234567890,
                "g": "\u0663",
                "h": "--5",
            }
        },
    ),
    "lists": (
        "[s]\nx_list = 1, yes ,,b c,\ny_list=\nZ_LIST = one\n",
        {"s": {"x_list": ["1", "yes", "b c"], "y_list": [], "z_list": ["one"]}},
    ),
    "empty": ("[s]\nx =\n", {"s": {"x": None}}),
    "renamed": (
        "[server]\nPORT_NO=1\nhost_name=h\n[other]\nport_no=2\n",
        {"server": {"port": 1, "host": "h"}, "other": {"port_no": 2}},
    ),
    "the new key counts": ("[server]\nport=1\nport_no=2\nhost_name=a\nhost=b\n", {"server": {"port": 1, "host": "b"}}),
    "debug": (
        "[debug]\nx=1\n[debug.more]\ny=1\n[a.debug]\nz=1\n[debugger]\n",
        {"a": {"debug": {"z": 1}}, "debugger": {}},
    ),
    "indented": ("[s]\nx = 1\n    y = 2\n", {"s": {"x": 1, "y": 2}}),
    "default is a section like others": ("[DEFAULT]\nx=1\n[s]\n", {"DEFAULT": {"x": 1}, "s": {}}),
    "nothing": ("", {}),
    "no form": ("[s]\nx\n", None),
    "no key": ("[s]\n = 1\n", None),
    "no section name": ("[ ]\n", None),
    "no part of a name": ("[a..b]\n", None),
    "a setting and a section": ("[log]\nfile=x\n[log.file]\ny=1\n", None),
    "and the other way round": ("[log.file.x]\ny=1\n[log]\nfile=x\n", None),
}


def same(one, other):
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


def case(text, wanted):
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "old settings.ini"
        file.write_text(text, encoding="utf-8")
        done = python("/app/migrate.py", str(file))
    if wanted is None:
        return done.returncode == 2 and done.stdout == ""
    return done.returncode == 0 and same(json.loads(done.stdout), wanted)


score({title: lambda one=one: case(*one) for title, one in CASES.items()})
