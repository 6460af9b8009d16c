"""Paths that a task declares, as a user has them: kept in every mode, and all that a separate verifier gets."""

from __future__ import annotations

import tarfile

import pytest

from tests.acceptance.conftest import Cli

pytestmark = pytest.mark.commands

TASK = """
schema_version = "1.4"
artifacts = ["/app/answer", { source = "/app/out", destination = "results", exclude = ["*.log"] }, "/app/missing"]
[verifier]
timeout_sec = 60
MODE
[agent]
timeout_sec = 60
[environment]
network_mode = "no-network"
[metadata.proctor.local]
"""
MODES = {
    "shared": 'environment_mode = "shared"\n[metadata.proctor]\nverification = "snapshot"',
    "separate": 'environment_mode = "separate"',
}
SOLVE = """
mkdir -p out/deep; echo 42 > answer; echo kept > out/deep/f; echo noise | tee out/a.log > out/deep/b.log
echo published > /logs/artifacts/note
"""
TEST = """
cd /app
[ "$(cat answer)" = 42 ] && [ "$(cat out/deep/f)" = kept ] && [ "$(cat /logs/artifacts/note)" = published ]; good=$?
[ "MODE" = shared ] || [ -z "$(ls out/a.log out/deep/b.log 2>/dev/null)" ] || good=1
echo $((1 - good)) > /logs/verifier/reward.txt
"""


@pytest.mark.parametrize("mode", ["shared", "separate"])
def test_declared_paths_are_kept_and_given_without_what_they_leave_out(cli: Cli, mode: str) -> None:
    cli.write("s/t/task.toml", TASK.replace("MODE", MODES[mode]))
    cli.write("s/t/instruction.md", "Do it.\n")
    cli.write("s/t/environment/Dockerfile", "FROM scratch\n")
    cli.write("s/t/solution/solve.sh", SOLVE)
    cli.write("s/t/tests/test.sh", TEST.replace("MODE", mode))
    cli.write("r.toml", 'name = "r"\nsuite = "s"\n[[profiles]]\nname = "o"\nagent = "oracle"\n'
              '[[profiles]]\nname = "n"\nagent = "noop"\n')  # fmt: skip
    cli("run", "r.toml")
    cells = {cell["profile"]: cell for cell in cli.json("cells")["cells"]}
    assert [cells[0]["outcome"], cells[1]["outcome"]] == [
        "passed",
        "failed",
    ]  # what is missing is the verifier's to judge
    cli("attempt", "show", cells[0]["attempt"], "--save", "kept")
    with tarfile.open(cli.folder / "kept" / "artifacts.tar") as tar:
        files = sorted(member.name for member in tar if member.isfile())
    assert files == ["app/answer", "logs/artifacts/note", "results/deep/f"]
    collect = next(
        one for one in cli.json("attempt", "show", cells[0]["attempt"])["evidence"] if one["phase"] == "collect"
    )
    assert collect["detail"]["artifacts_missing"] == ["/app/missing"]
