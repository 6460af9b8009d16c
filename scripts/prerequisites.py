"""Names what this machine lacks for Proctor, each with its apt line. Runs on any Python 3."""

import shutil
import sys


def missing():
    """Lines to print, one a missing prerequisite."""
    if sys.version_info < (3, 11):
        yield f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: apt-get install python3"
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        yield "Python's venv is missing: apt-get install python3-venv"
    for program in ("git", "make", "bash"):
        if shutil.which(program) is None:
            yield f"{program} is missing: apt-get install {program}"
    if not sys.platform.startswith("linux"):
        yield "The local sandbox needs Linux; on other systems use a Linux machine or virtual machine."


lines = list(missing())
print("\n".join(lines), end="\n" if lines else "", file=sys.stderr)
sys.exit(2 if lines else 0)
