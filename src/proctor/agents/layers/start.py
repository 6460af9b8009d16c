"""``python start.py MODULE:FUNCTION WORDS...`` runs a program of the packages beside it, as their own script would.
Without words it only shows that this Python starts.

Their folder is put on the path here and not by PYTHONPATH: the commands that an agent runs must not find it.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__" and len(sys.argv) > 1:
    sys.path.insert(0, str(Path(__file__).parent / "site"))
    module, _, function = sys.argv[1].partition(":")
    sys.argv[:] = [function, *sys.argv[2:]]
    sys.exit(getattr(import_module(module), function)())
