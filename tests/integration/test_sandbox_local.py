"""The local backend: the contract, as root and as an ordinary user."""

from __future__ import annotations

import os

import pytest

from proctor.sandboxes.local import LocalBackend
from tests.contracts.sandboxes import RealSandboxContract


class TestLocal(RealSandboxContract):
    @pytest.fixture
    def backend(self, sandbox_root):
        return LocalBackend(sandbox_root)


@pytest.fixture
def sandbox_root(tmp_path):
    """A folder that the sandboxes' own users can pass through, where there are such users."""
    if os.geteuid() == 0:
        for part in (tmp_path, *tmp_path.parents[:2]):
            part.chmod(0o711)
    return tmp_path / "sandboxes"
