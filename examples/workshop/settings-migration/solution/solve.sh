#!/bin/bash
cat > /app/migrate.py <<'PY'
"""Settings from the old INI form to JSON."""

import json
import re
import sys

WORDS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}
RENAMED = {"port_no": "port", "host_name": "host"}


def refuse(why):
    print(why, file=sys.stderr)
    sys.exit(2)


def read(path):
    sections, current = {}, "general"
    for number, raw in enumerate(open(path, encoding="utf-8"), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if line.startswith("[") and line.endswith("]"):
            current = line[1:-1].strip()
            if not all(part.strip() for part in current.split(".")):
                refuse(f"line {number}: no name")
            sections.setdefault(current, {})
        elif equals and key:
            sections.setdefault(current, {})[key.lower()] = value
        else:
            refuse(f"line {number}: {line}")
    return sections


def converted(key, value):
    if key.endswith("_list"):
        return [part.strip() for part in value.split(",") if part.strip()]
    if value.lower() in WORDS:
        return WORDS[value.lower()]
    if re.fullmatch(r"0|-?[1-9][0-9]*", value):
        return int(value)
    return value or None


def main():
    sections = read(sys.argv[1])
    server = sections.get("server", {})
    for old, new in RENAMED.items():
        if old in server:
            server.setdefault(new, server.pop(old))
            server.pop(old, None)
    tree = {}
    settings = set()
    for name, values in sections.items():
        parts = tuple(part.strip() for part in name.split("."))
        if parts[0] == "debug":
            continue
        place = tree
        for part in parts:
            place = place.setdefault(part, {})
        for key, value in values.items():
            settings.add((*parts, key))
    for name in sections:
        parts = tuple(part.strip() for part in name.split("."))
        if any(parts[:length] in settings for length in range(2, len(parts) + 1)):
            refuse(f"{name} is a setting too")
    for name, values in sections.items():
        parts = tuple(part.strip() for part in name.split("."))
        if parts[0] == "debug":
            continue
        place = tree
        for part in parts:
            place = place[part]
        place.update({key: converted(key, value) for key, value in values.items()})
    json.dump(tree, sys.stdout, indent=2)


main()
PY
