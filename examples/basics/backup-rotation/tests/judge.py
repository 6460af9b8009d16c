"""Runs /app/rotate.sh on folders made here and looks at what is left. Exit code 0: right."""

import subprocess
import sys
import tempfile
from pathlib import Path

OTHERS = [
    "backup-notes.md",
    "backup-12.tar.part",
    "backup-.tar",
    "backup-007.tar",
    "my-backup-3.tar",
    "backup-3.tar.gz",
    "backup 4.tar",
    "backup-1 2.tar",
    "notes.txt",
]


def case(title, numbers, keep, *, folder_name="backups", code=0, deleted=()):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / folder_name
        folder.mkdir()
        backups = [f"backup-{number}.tar" for number in numbers]
        for name in [*backups, *OTHERS]:
            (folder / name).write_text(name)
        (folder / "backup-1000.tar").mkdir()
        before = {path.name for path in folder.iterdir()}
        command = ["bash", "/app/rotate.sh", str(folder), keep]
        ran = subprocess.run(command, capture_output=True, timeout=10, text=True, cwd=place)
        after = {path.name for path in folder.iterdir()}
    gone = [f"backup-{number}.tar" for number in deleted]
    right = ran.returncode == code and after == before - set(gone) and ran.stdout.splitlines() == gone
    print(f"{'right' if right else 'WRONG'}: {title}")
    return right


def missing_folder():
    with tempfile.TemporaryDirectory() as place:
        bystander = Path(place) / "backup-1.tar"
        bystander.write_text("kept")
        command = ["bash", "/app/rotate.sh", f"{place}/no such folder", "0"]
        ran = subprocess.run(command, capture_output=True, timeout=10, text=True, cwd=place)
        right = ran.returncode == 2 and bystander.exists() and not ran.stdout
    print(f"{'right' if right else 'WRONG'}: a folder that does not exist")
    return right


def main():
    results = [
        case("ten backups", range(1, 11), "3", deleted=range(1, 8)),
        case("numbers of different length", [9, 10, 99, 100, 1, 2], "2", deleted=[1, 2, 9, 10]),
        case("a folder with spaces", [1, 2, 3], "1", folder_name="old  backups", deleted=[1, 2]),
        case("a folder that looks like an option", [1, 2, 3], "1", folder_name="-n", deleted=[1, 2]),
        case("keep none", [1, 20, 3], "0", deleted=[1, 3, 20]),
        case("keep as many as there are", [1, 2, 3], "3"),
        case("keep more than there are", [1, 2], "12"),
        case("no backups", [], "2"),
        case("not a number", [1, 2, 3], "two", code=2),
        case("a negative number", [1, 2, 3], "-1", code=2),
        case("nothing for a number", [1, 2, 3], "", code=2),
        missing_folder(),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
