"""What bubblewrap leaves when it is killed in the middle of a start.

Between its clone and its last word to the clone, the clone waits for that word, and nothing ends it when the one who
would have said it dies: ``--die-with-parent`` binds it only afterwards. It holds no program yet, only its memory.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

from proctor.sandboxes.local.userland import HOSTNAME

__all__ = ["kill_orphans", "kill_unborn"]

_NAME = "bwrap"


def kill_unborn(root: Path) -> None:
    """Kill whatever bubblewrap still is of the sandbox with this root. Its own first process has to be dead."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == _NAME and str(root) in process.cmdline():
                process.kill()


def kill_orphans() -> None:
    """Kill clones of any sandbox or probe of Proctor whose bubblewrap is gone."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == _NAME and HOSTNAME in process.cmdline() and _is_orphan(process):
                process.kill()


def _is_orphan(process: psutil.Process) -> bool:
    """The first process of a namespace that is still bubblewrap, below a process that is not."""
    status = Path(f"/proc/{process.pid}/status")
    try:
        (namespaces,) = (line for line in status.read_text().splitlines() if line.startswith("NSpid:"))
    except (OSError, ValueError):
        return False
    numbers = namespaces.split()[1:]
    parent = process.parent()
    return len(numbers) > 1 and numbers[-1] == "1" and (parent is None or parent.name() != _NAME)
