"""The docker backend on a real engine: the contract."""

from __future__ import annotations

import pytest

from proctor.sandboxes.docker import DockerBackend
from tests.contracts.sandboxes import RealSandboxContract


class TestDocker(RealSandboxContract):
    time_unit_ns = 10**9
    keeps_holes = False
    unseen = "bc"  # the engine skips sockets; to overlayfs that device is a whiteout
    image = "proctor-test:1"

    @pytest.fixture
    def backend(self):
        return DockerBackend("tests")
