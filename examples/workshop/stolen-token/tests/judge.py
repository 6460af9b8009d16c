"""Runs /app/trace.py on folders made here, with what must be found written down beside each."""

import gzip
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import python, score

NETWORKS = (
    "203.0.0.0/16,NZ\n203.0.113.0/24,PE\n203.0.113.128/25,NO\n10.0.0.0/8,VPN\n2001:db8::/32,NO\n2001:db8:1::/48,PE\n"
)
NZ, PE, NO, VPN, UNKNOWN = "203.0.1.1", "203.0.113.7", "203.0.113.200", "10.9.8.7", "192.0.2.1"
T = 1_772_400_000


def use(at, ip, method="GET", path="/", status=200, session="s", user="ann"):
    names = ("at", "ip", "session", "user", "method", "path", "status")
    return json.dumps(dict(zip(names, (T + at, ip, session, user, method, path, status), strict=True)))


def theft(at, ip, country, *damage, session="s", user="ann"):
    return {"session": session, "user": user, "at": T + at, "ip": ip, "country": country, "damage": list(damage)}


def found(logs, networks=NETWORKS):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "the logs"
        folder.mkdir()
        (folder / "networks.csv").write_text(networks)
        for name, lines in logs.items():
            data = "".join(f"{line}\n" for line in lines).encode()
            (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        done = python("/app/trace.py", str(folder))
        return json.loads(done.stdout) if done.returncode == 0 else None


PAY = {"method": "POST", "path": "/pay"}
CASES = {
    "an hour apart is no theft": ([use(0, NZ), use(3600, PE)], []),
    "a second less is": ([use(0, NZ), use(3599, PE)], [theft(3599, PE, "PE")]),
    "the same country": ([use(0, PE), use(9, "203.0.113.8")], []),
    "the longest network": ([use(0, PE), use(9, NO)], [theft(9, NO, "NO")]),
    "IPv6": ([use(0, NO), use(5, "2001:db8::1"), use(9, "2001:db8:1::1")], [theft(9, "2001:db8:1::1", "PE")]),
    "no network": ([use(0, NZ), use(9, UNKNOWN), use(10, "192.0.2.2", **PAY)], [theft(9, UNKNOWN, "??", "POST /pay")]),
    "our own network": ([use(0, NZ), use(9, VPN, **PAY), use(12, NZ)], []),
    "our own network in between": ([use(0, NZ), use(9, VPN), use(20, PE, **PAY)], [theft(20, PE, "PE", "POST /pay")]),
    "lines in disorder": ([use(3599, PE, **PAY), use(4000, NZ), use(0, NZ)], [theft(3599, PE, "PE", "POST /pay")]),
    "only the first": ([use(0, NZ), use(9, PE), use(10, NO, **PAY), use(11, PE, **PAY), use(12, NZ, **PAY)],
                       [theft(9, PE, "PE", "POST /pay")]),
    "all addresses of the country": ([use(0, NZ, **PAY), use(9, PE), use(10, "203.0.113.9", "DELETE", "/a"), use(9999, PE, "PUT", "/b")],
                                     [theft(9, PE, "PE", "DELETE /a", "PUT /b")]),
    "what changes something": (
        [use(0, NZ), *(use(9 + n, PE, m, f"/{n}", s) for n, (m, s) in enumerate(
            [("GET", 200), ("POST", 199), ("POST", 399), ("PATCH", 204), ("POST", 400), ("HEAD", 200), ("OPTIONS", 200), ("DELETE", 302)]))],
        [theft(9, PE, "PE", "POST /2", "PATCH /3", "DELETE /7")]),
    "equal times": ([use(0, NZ), use(9, PE, "POST", "/b", 201), use(9, PE, "POST", "/c", 200), use(9, PE, "POST", "/a", 200), use(9, "203.0.113.10", "PUT", "/z", 200)],
                    [theft(9, "203.0.113.10", "PE", "PUT /z", "POST /a", "POST /c", "POST /b")]),
    "the first request's user": ([use(0, VPN, user="vera"), use(1, NZ, user="old"), use(9, PE, user="new")], [theft(9, PE, "PE", user="old")]),
    "other lines": (["", "[]", "7", "null", "{", '{"at": 1}', use(0, NZ), use(5, PE).replace('"user"', '"usr"')], []),
    "several sessions": (
        [use(0, NZ, session="b"), use(9, PE, session="b"), use(1, NZ, session="a"), use(9, NO, session="a"), use(0, NZ, session="z"), use(3, NO, session="z")],
        [theft(3, NO, "NO", session="z"), theft(9, NO, "NO", session="a"), theft(9, PE, "PE", session="b")]),
    "nothing": ([], []),
}  # fmt: skip


def files_are_one():
    lines = [use(0, NZ), use(9, PE, **PAY), use(10, PE, **PAY), use(11, PE, "POST", "/pay", 201)]
    again = [use(9, PE, **PAY), use(9, PE, **PAY).replace(": ", ":")]
    logs = {"web.log": lines[2:], "a.log.2.gz": [*lines[:2], *again], "b.log.1": [*lines[1:], lines[3]],
            "notes.txt": [use(1, NO)]}  # fmt: skip
    return found(logs) == [theft(9, PE, "PE", *["POST /pay"] * 4)]


def order_of_networks():
    lines = NETWORKS.splitlines(keepends=True)
    for seed in range(4):
        random.Random(seed).shuffle(lines)
        if found({"x.log": [use(0, PE), use(9, NO)]}, "".join(lines)) != [theft(9, NO, "NO")]:
            return False
    return True


checks = {title: lambda one=one: found({"web.log": one[0]}) == one[1] for title, one in CASES.items()}
score({**checks, "files of one folder": files_are_one, "the order of networks": order_of_networks})
