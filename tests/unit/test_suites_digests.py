"""The digests of a task: known answers, and which change moves which of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.suites.digests import content_digest, suite_digest
from proctor.suites.files import TaskFile
from proctor.suites.formats.harbor import load_task
from proctor.suites.loaded import LoadedTask

CONFIG = """
schema_version = "1.4"
[task]
name = "org/one"
[metadata]
difficulty = "easy"
[metadata.proctor]
verification = "snapshot"
[metadata.proctor.local]
tools = ["bash"]
[agent]
timeout_sec = 5.0
[verifier]
timeout_sec = 5.0
"""
FILES = {
    "task.toml": CONFIG,
    "instruction.md": "Do it.\n",
    "README.md": "About.\n",
    "environment/Dockerfile": "FROM debian:12\n",
    "environment/app/a.txt": "a\n",
    "tests/test.sh": "#!/bin/bash\n",
    "solution/solve.sh": "#!/bin/bash\n",
}
NAMES = ("content_digest", "agent_digest", "verifier_digest")


def load(folder: Path, files: dict[str, str]) -> LoadedTask:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    loaded = load_task(folder)
    assert loaded.problems == ()
    return loaded


def moved(tmp_path: Path, files: dict[str, str]) -> set[str]:
    """Which digests differ from those of the plain task."""
    before, after = load(tmp_path / "before", FILES), load(tmp_path / "after", files)
    return {name for name in NAMES if getattr(before, name) != getattr(after, name)}


def test_the_content_digest_is_harbors_worked_out_by_hand(tmp_path: Path) -> None:
    """sha256 over lines "path NUL sha256 LF", sorted by path; upper case sorts before lower case."""
    lines = b"".join(
        name.encode() + b"\0" + hashlib.sha256(FILES[name].encode()).hexdigest().encode() + b"\n"
        for name in (
            "README.md",
            "environment/Dockerfile",
            "environment/app/a.txt",
            "instruction.md",
            "solution/solve.sh",
            "task.toml",
            "tests/test.sh",
        )
    )
    assert load(tmp_path, FILES).content_digest == hashlib.sha256(lines).hexdigest()


def test_a_digest_that_harbor_itself_gave(tmp_path: Path) -> None:
    """Harbor 0.25.0's packager over these three files."""
    loaded = load(tmp_path, {"task.toml": "", "instruction.md": "Hi\n", "tests/test.sh": "true\n"})
    assert loaded.content_digest == "656885272e928eb8ade4a16431db4f26a9ca4750a022e7076776d84cb34ad63c"


def test_the_suite_id_is_harbors_dataset_hash() -> None:
    digests = ["b" * 64, "a" * 64]
    assert suite_digest(digests) == hashlib.sha256(f"{'a' * 64},{'b' * 64}".encode()).hexdigest()


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"README.md": "Abuot.\n"}, {"content_digest"}),
        ({"solution/solve.sh": "#!/bin/sh\n"}, {"content_digest"}),
        ({"solution/wrong.sh": "#!/bin/sh\n"}, {"content_digest"}),
        ({"task.toml": CONFIG.replace('"easy"', '"hard"')}, {"content_digest"}),
        ({"task.toml": CONFIG.replace("[agent]", "# a comment\n[agent]")}, {"content_digest"}),
        ({"task.toml": CONFIG.replace('name = "org/one"', 'name = "org/one"\nkeywords = ["x"]')}, {"content_digest"}),
        ({"task.toml": CONFIG + "[solution]\nenv = { A = 'b' }\n"}, {"content_digest"}),
        ({"instruction.md": "Do this.\n"}, {"content_digest", "agent_digest"}),
        ({"instruction.md": "# canary 1\n\nDo it.\n"}, {"content_digest"}),
        ({"environment/app/a.txt": "b\n"}, {"content_digest", "agent_digest"}),
        ({"environment/app/b.txt": ""}, {"content_digest", "agent_digest"}),
        ({"trajectory.json": "{}"}, {"content_digest", "agent_digest"}),
        ({"task.toml": CONFIG.replace("[agent]\ntimeout_sec = 5.0", "[agent]")}, {"content_digest", "agent_digest"}),
        ({"task.toml": CONFIG.replace("org/one", "org/two")}, {"content_digest", "agent_digest"}),
        ({"task.toml": CONFIG.replace('["bash"]', '["git"]')}, {"content_digest", "agent_digest"}),
        (
            {
                "task.toml": CONFIG.replace(
                    "[metadata.proctor.local]", "changes_system = true\n[metadata.proctor.local]"
                )
            },
            {"content_digest", "agent_digest"},
        ),
        ({"tests/test.sh": "#!/bin/sh\n"}, {"content_digest", "verifier_digest"}),
        ({"tests/data.txt": "x"}, {"content_digest", "verifier_digest"}),
        ({"task.toml": CONFIG.replace("[verifier]", "[verifier]\nuser = 'x'")}, {"content_digest", "verifier_digest"}),
        ({"task.toml": CONFIG.replace('"snapshot"', '"live"')}, {"content_digest", "verifier_digest"}),
        (
            {"task.toml": CONFIG.replace('"snapshot"', '"snapshot"\npass_threshold = 0.5')},
            {"content_digest", "verifier_digest"},
        ),
        ({"environment/__pycache__/x.pyc": "x"}, set()),
        ({"tests/test.sh~": "x"}, set()),
        ({"notes.md": "x"}, set()),
        ({"tests/.harborignore": "*.bak\n", "tests/x.bak": "x"}, set()),
    ],
)
def test_what_moves_which_digest(tmp_path: Path, change: dict[str, str], wanted: set[str]) -> None:
    assert moved(tmp_path, {**FILES, **change}) == wanted


def test_file_modes_and_empty_folders_do_not_count(tmp_path: Path) -> None:
    before = load(tmp_path, FILES)
    (tmp_path / "tests/test.sh").chmod(0o755)
    (tmp_path / "environment/app/a.txt").chmod(0o600)
    (tmp_path / "environment/empty").mkdir()
    after = load_task(tmp_path)
    assert [getattr(after, name) for name in NAMES] == [getattr(before, name) for name in NAMES]


def test_a_link_to_a_file_of_the_task_counts_as_that_file(tmp_path: Path) -> None:
    copied = load(tmp_path / "copied", {**FILES, "tests/data.txt": "a\n"})
    load(tmp_path / "linked", FILES)
    (tmp_path / "linked/tests/data.txt").symlink_to("../environment/app/a.txt")
    assert load_task(tmp_path / "linked").content_digest == copied.content_digest


def test_steps_belong_to_the_agent_and_their_tests_to_the_verifier(tmp_path: Path) -> None:
    config = CONFIG + "[[steps]]\nname = 's'\nmin_reward = 0.5\n"
    files = {**FILES, "task.toml": config, "steps/s/instruction.md": "Go.", "steps/s/tests/test.sh": "x"}
    before = load(tmp_path / "before", files)

    def changed(name: str, content: str) -> set[str]:
        after = load(tmp_path / hashlib.sha256(content.encode()).hexdigest()[:8], {**files, name: content})
        return {digest for digest in NAMES if getattr(before, digest) != getattr(after, digest)}

    assert changed("steps/s/instruction.md", "Stop.") == {"content_digest", "agent_digest"}
    assert changed("steps/s/workdir/setup.sh", "y") == {"content_digest", "agent_digest"}
    assert changed("steps/s/tests/test.sh", "z") == {"content_digest", "verifier_digest"}
    assert changed("task.toml", config.replace("0.5", "0.6")) == {"content_digest", "agent_digest"}
    step_verifier = config + "[steps.verifier]\ntimeout_sec = 7\n"
    assert changed("task.toml", step_verifier) == {"content_digest", "verifier_digest"}


def test_a_malformed_task_is_never_taken_for_its_repaired_self(tmp_path: Path) -> None:
    load(tmp_path, FILES)
    (tmp_path / "environment/link").symlink_to("app")
    broken = load_task(tmp_path)
    (tmp_path / "environment/link").unlink()
    assert broken.problems
    assert broken.content_digest != load_task(tmp_path).content_digest


PATHS = st.from_regex(r"(tests|environment)/[a-zA-Z0-9._-]{1,8}", fullmatch=True)
CONTENTS = st.dictionaries(PATHS, st.binary(max_size=20).map(lambda raw: hashlib.sha256(raw).hexdigest()), max_size=6)


def _files(contents: dict[str, str]) -> list[TaskFile]:
    return [TaskFile(path, sha256, 0, "") for path, sha256 in contents.items()]


@settings(derandomize=True)
@given(CONTENTS, st.randoms(use_true_random=False))
def test_the_order_of_files_does_not_count(contents: dict[str, str], chance: object) -> None:
    shuffled = _files(contents)
    getattr(chance, "shuffle")(shuffled)  # noqa: B009
    assert content_digest(shuffled) == content_digest(_files(contents))


@settings(derandomize=True)
@given(CONTENTS, CONTENTS)
def test_different_files_have_different_digests(one: dict[str, str], other: dict[str, str]) -> None:
    assert (content_digest(_files(one)) == content_digest(_files(other))) == (one == other)


@settings(derandomize=True)
@given(st.lists(st.from_regex(r"[0-9a-f]{64}", fullmatch=True), max_size=5, unique=True))
def test_a_suite_is_a_set(digests: list[str]) -> None:
    assert suite_digest(digests) == suite_digest(reversed(digests))
