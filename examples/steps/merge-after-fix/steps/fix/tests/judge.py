"""Judges the repair: what slugify gives now, and that it is one commit or more over the first."""

import runpy
import sys
from types import SimpleNamespace

lib = SimpleNamespace(**runpy.run_path(sys.argv[1]))
given = lib.slugs([[title] for title in lib.REPAIRED])
checks = {repr(title): slug == wanted for (title, wanted), slug in zip(lib.REPAIRED.items(), given, strict=True)}
checks |= lib.committed()
checks["a commit was added"] = int(lib.git("rev-list", "--count", "main") or 0) > 1
lib.judge(checks)
