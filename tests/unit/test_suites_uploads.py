"""A suite that is sent is the suite that was read, wherever its tasks lie."""

from __future__ import annotations

import tarfile
from pathlib import Path

from proctor.suites.loading import load_suite
from proctor.suites.template import write_task
from proctor.suites.uploads import loaded_upload, packed


def linked_suite(folder: Path) -> Path:
    """One task of its own, one that is a link out of it, and links to what is no task."""
    suite = folder / "suite"
    suite.mkdir()
    write_task(suite / "own")
    write_task(folder / "elsewhere" / "shared")
    (folder / "elsewhere" / "shared" / "instruction.md").write_text("Another one.\n")
    (folder / "secret").mkdir()
    (folder / "secret" / "key").write_text("nobody's")
    (suite / "linked").symlink_to("../elsewhere/shared")
    (suite / "docs").symlink_to(folder / "secret")
    (suite / "notes").symlink_to(folder / "secret" / "key")
    return suite


def test_links_to_tasks_are_followed_as_they_are_where_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    suite = linked_suite(tmp_path)
    with packed([(suite, ".")]) as tar, loaded_upload(tar) as sent:
        assert [task.folder.name for task in sent.tasks] == ["linked", "own"]
        assert sent.suite_id == load_suite(suite).suite_id


def test_what_other_links_lead_to_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with packed([(linked_suite(tmp_path), ".")]) as file, tarfile.open(fileobj=file) as tar:
        names = {name.split("/")[1] for name in tar.getnames() if "/" in name}
        assert names == {"own", "linked"}
        assert not any(member.issym() for member in tar)
