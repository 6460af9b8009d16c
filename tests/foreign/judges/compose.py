"""docker compose v2: files and the variables they are read with in, what it makes of each out. It asks no engine."""

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMPOSE = Path(sys.executable).parent / "docker-compose"


def judge(question):
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, text in enumerate(question["files"]):
            files += ["-f", f"{folder}/{number}.yaml"]
            Path(f"{folder}/{number}.yaml").write_text(text)
        command = [COMPOSE, "--project-name", "judged", "--project-directory", folder, *files]
        done = subprocess.run(
            [*command, "config", "--format", "json"],
            capture_output=True,
            text=True,
            env={"HOME": folder, **question["variables"]},
        )
        if done.returncode:
            return {"refused": done.stderr.strip()}
        return json.loads(done.stdout.replace("$$", "$").replace(folder, "/project"))


with ThreadPoolExecutor() as pool:
    json.dump(list(pool.map(judge, json.load(sys.stdin))), sys.stdout)
