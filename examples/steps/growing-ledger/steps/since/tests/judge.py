"""Judges the step "since": everything that was asked for up to it."""

import runpy
import sys
from types import SimpleNamespace

lib = SimpleNamespace(**runpy.run_path(sys.argv[1]))
lib.judge(lib.BASE + lib.CURRENCIES + lib.SINCE)
