#!/bin/bash
cat > /app/trace.py <<'PY'
"""Finds stolen sessions in a folder of logs."""

import gzip
import ipaddress
import json
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

KEYS = {"at", "ip", "session", "user", "method", "path", "status"}
FOLDER = Path(sys.argv[1])
NETWORKS = []
for line in (FOLDER / "networks.csv").read_text().split():
    network, _, country = line.partition(",")
    NETWORKS.append((ipaddress.ip_network(network), country))
NETWORKS.sort(key=lambda pair: -pair[0].prefixlen)


@cache
def country(ip):
    address = ipaddress.ip_address(ip)
    return next((name for network, name in NETWORKS if address in network), "??")


def requests():
    lines = set()
    for path in FOLDER.iterdir():
        if ".log" in path.name:
            data = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
            lines |= set(data.split(b"\n"))
    for line in lines:
        try:
            one = json.loads(line)
        except ValueError:
            continue
        if isinstance(one, dict) and KEYS <= one.keys() and country(one["ip"]) != "VPN":
            yield one


sessions = {}
for one in requests():
    sessions.setdefault(one["session"], []).append(one)
thefts = []
for name, uses in sessions.items():
    uses.sort(key=lambda one: (one["at"], one["status"], one["ip"], one["path"]))
    for place, (one, other) in enumerate(pairwise(uses), start=1):
        there = country(other["ip"])
        if country(one["ip"]) != there and other["at"] - one["at"] < 3600:
            damage = [
                f"{use['method']} {use['path']}"
                for use in uses[place:]
                if country(use["ip"]) == there
                and use["method"] in ("POST", "PUT", "PATCH", "DELETE")
                and 200 <= use["status"] < 400
            ]
            thefts.append({"session": name, "user": uses[0]["user"], "at": other["at"], "ip": other["ip"],
                           "country": there, "damage": damage})
            break
print(json.dumps(sorted(thefts, key=lambda theft: (theft["at"], theft["session"])), indent=1))
PY
