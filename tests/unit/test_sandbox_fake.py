"""The fake backend keeps the part of the contract that makes sense without processes."""

from __future__ import annotations

import pytest

from proctor.sandboxes.fake import FakeBackend, exits, rewards
from proctor.sandboxes.interfaces import ExecRequest, SandboxSpec
from tests.contracts.sandboxes import SandboxContract, labels


class TestFake(SandboxContract):
    @pytest.fixture
    def backend(self):
        return FakeBackend()


async def test_a_handler_answers_commands():
    sandbox = await FakeBackend(exits(3, b"said")).create(SandboxSpec(labels=labels()))
    shown = []
    request = ExecRequest(argv=["any"], on_output=lambda name, piece: shown.append((name, piece)))
    result = await sandbox.exec(request)
    assert (result.exit_code, result.stdout) == (3, b"said")
    assert shown == [("stdout", b"said")]
    assert sandbox.requests == [request]


async def test_a_test_script_leaves_a_reward():
    sandbox = await FakeBackend(rewards(0.5)).create(SandboxSpec(labels=labels()))
    await sandbox.exec(ExecRequest(argv=["bash", "/solution/solve.sh"]))
    assert await sandbox.read("/logs/verifier/reward.txt", 10) is None
    await sandbox.exec(ExecRequest(argv=["bash", "/tests/test.sh"]))
    assert await sandbox.read("/logs/verifier/reward.txt", 10) == b"0.5\n"


async def test_a_snapshot_of_another_backend_can_be_the_base(tmp_path):
    first = await FakeBackend().create(SandboxSpec(labels=labels()))
    (tmp_path / "f").write_bytes(b"kept")
    await first.put(tmp_path / "f", "/app/f")
    await first.put(tmp_path / "f", "/usr/lib/f")
    kept = await first.snapshot(tmp_path / "state.tar")
    assert kept.changed_system_paths == ("/usr/lib/f",)
    second = await FakeBackend().create(SandboxSpec(labels=labels(), base=kept, restore_system=True))
    assert await second.read("/app/f", 10) == b"kept"
    assert await second.read("/usr/lib/f", 10) is None
