"""Parses /app/proxy.conf and compares what it means with what was asked for. Exit code 0: right."""

import importlib.util
import sys
from pathlib import Path

WANTED_UPSTREAMS = {"shop": ["10.0.0.11:9000", "10.0.0.12:9000"], "api": ["10.0.1.21:7000"]}
WANTED_SERVERS = [
    ("admin.example", "8081", "api", "60s"),
    ("api.example", "8080", "api", "5s"),
    ("shop.example", "8080", "shop", "30s"),
]


def checker():
    """The verifier's own copy of check_config.py."""
    spec = importlib.util.spec_from_file_location("check_config", Path(__file__).parent / "check_config.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    config = checker()
    try:
        blocks = config.parse(Path("/app/proxy.conf").read_text(encoding="utf-8"))
        config.check(blocks)
    except (OSError, ValueError, config.Mistake) as error:
        print("WRONG:", error)
        return 1
    upstreams = {name: sorted(value for _, value in rows) for kind, name, rows in blocks if kind == "upstream"}
    servers = sorted(
        (values["server_name"], values["listen"], values["proxy_pass"], values["proxy_read_timeout"])
        for kind, _, rows in blocks
        if kind == "server"
        for values in [dict(rows)]
    )
    print(upstreams, servers)
    return 0 if upstreams == WANTED_UPSTREAMS and servers == WANTED_SERVERS else 1


if __name__ == "__main__":
    sys.exit(main())
