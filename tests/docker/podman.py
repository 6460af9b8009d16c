"""A Podman service of the tests' own: its images, containers, socket and settings are all in one folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Podman", "why_no_podman"]

START_SECONDS = 30.0
CONFIG = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
exit_command_delay = 2
[engine.runtimes]
runc = ["{folder}/runc"]
[network]
network_backend = "netavark"
"""
"""As it works without systemd, and with what Debian's docker.io has brought already. What watches an exec stays so many
seconds after its end, and would stay for five minutes."""
RUNC = r"""#!/bin/bash
for word; do
    case $before in --bundle | -b) file=$word/config.json ;; --process | -p) file=$word ;; esac
    before=$word
done
hold() { # hold LIMIT MOST
    [ "$2" = unlimited ] || sed -i -E "s/(\"RLIMIT_$1\",\"hard\":)[0-9]+,\"soft\":[0-9]+/\1$2,\"soft\":$2/" "$file"
}
[ -z "$file" ] || { hold NOFILE "$(ulimit -Hn)"; hold NPROC "$(ulimit -Hu)"; }
exec runc "$@"
"""
"""Podman gives a container 1,048,576 open files and processes, whatever containers.conf says, unless a request that
names any limit names these too. Root of a machine that allows less, without CAP_SYS_RESOURCE, can't give so many."""


@dataclass
class Podman:
    """Starts and stops as the tests' dockerd does."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix://{self.folder}/podman.sock"

    def start(self) -> None:
        (self.folder / "containers.conf").write_text(CONFIG.format(folder=self.folder))
        runc = self.folder / "runc"
        runc.write_text(RUNC)
        runc.chmod(0o755)
        with (self.folder / "log").open("ab") as log:
            command = self._command("system", "service", "--time=0", self.address)
            where = self.folder  # Podman leaves files in the folder that it was started in
            self.process = subprocess.Popen(command, cwd=where, stdout=log, stderr=log, env=self._environment())
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(["docker", "--host", self.address, "version"], capture_output=True).returncode != 0:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=60)
        removed = self._command("rm", "--all", "--force", "--time=0")
        subprocess.run(removed, env=self._environment(), capture_output=True, check=False)
        self._end_watchers()
        subprocess.run(["umount", str(self.folder / "root" / "overlay")], capture_output=True, check=False)

    def _end_watchers(self) -> None:
        """They would run Podman once more, in a folder that is gone by then."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (process / "cmdline").read_bytes()
                if words.startswith(b"/usr/bin/conmon") and str(self.folder).encode() in words:
                    os.kill(int(process.name), signal.SIGKILL)

    def _command(self, *words: str) -> list[str]:
        return ["podman", "--root", str(self.folder / "root"), "--runroot", str(self.folder / "runroot"), *words]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "CONTAINERS_CONF": str(self.folder / "containers.conf")}


def why_no_podman() -> str:
    """What is missing for one; empty where it can be had."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [name for name in ("podman", "runc", "conmon", "catatonit", "docker") if shutil.which(name) is None]
    missing += [] if Path("/usr/lib/podman/netavark").exists() else ["netavark"]
    return f"needs {', '.join(missing)}" if missing else ""
