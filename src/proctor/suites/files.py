"""The files of a task folder, as the Harbor ecosystem counts them, read once and never followed outside.

A task is ``task.toml``, ``instruction.md``, ``README.md``, ``trajectory.json`` and what is below
``environment/``, ``tests/``, ``solution/`` and ``steps/``, without ignored files. A link to a file of the
same task counts as that file. What the content digest can't see but a sandbox would (a link to a folder,
a device) is a problem, so that two tasks with one digest are never different tasks.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proctor.suites.ignores import DEFAULT_IGNORES, Ignores, ignores
from proctor.suites.tasks import TaskProblem

__all__ = ["MAX_ENTRIES", "MAX_FILE_BYTES", "MAX_TASK_BYTES", "TaskFile", "TaskTree", "printable", "read_tree"]

MAX_ENTRIES: int = 20_000
"""Files in one task, ignored ones not counted; the largest public ones have a few hundred."""
MAX_FILE_BYTES: int = 256 * 1024 * 1024
"""One file; larger data belongs into the image, where layers are shared."""
MAX_DEPTH: int = 64
"""Folders within folders; a loop or an attack, since no source tree is that deep."""
MAX_TASK_BYTES: int = 1024 * 1024 * 1024
_MAX_IGNORE_BYTES: int = 64 * 1024
_PIECE: int = 1024 * 1024
"""Files are read in pieces of this size; a text that is parsed must be smaller than one."""

_SINGLE_FILES: tuple[str, ...] = ("task.toml", "instruction.md", "README.md", "trajectory.json")
_FOLDERS: tuple[str, ...] = ("environment", "tests", "solution", "steps")
_SKIP_FILE: str = ".harborignore"
_REPOSITORY: str = ".git"
"""A checkout's own book-keeping is no part of any task."""


@dataclass(frozen=True, slots=True)
class TaskFile:
    """One file of a task: its path below the task folder, what it holds, and where it was read from."""

    path: str
    sha256: str
    size: int
    source: str
    content: bytes | None = None
    """What it holds, where that was made from the source and is not the source itself."""


@dataclass
class TaskTree:
    """The files of a task, sorted by path, and what is wrong with them."""

    root: str
    files: list[TaskFile] = field(default_factory=list)
    problems: list[TaskProblem] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    """The bytes of small files that are parsed: those at the top, instructions of steps, and Compose's."""

    def refuse(self, path: str, reason: str, *, field: str | None = None) -> None:
        """Record a problem of one path."""
        self.problems.append(TaskProblem(file=printable(path), field=field, reason=reason))

    def blames(self, path: str) -> bool:
        """Whether a problem of that path is recorded already."""
        return any(problem.file == path for problem in self.problems)

    def text(self, path: str) -> str | None:
        """A required text; if it is missing, too large or not UTF-8, that is recorded as its problem."""
        raw = self.texts.get(path)
        if raw is None:
            present = any(file.path == path for file in self.files)
            if not self.blames(path):
                self.refuse(path, "is larger than 1 MiB" if present else "is missing")
            return None
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            self.refuse(path, f"is not UTF-8 at byte {error.start}")
            return None
        if "\x00" in text:
            self.refuse(path, "holds a NUL character")
        return text


def read_tree(folder: Path, *, whole: bool = False) -> TaskTree:
    """Read a task folder's files. Never raises for what the folder holds; see ``TaskTree.problems``.

    ``whole`` takes every file below the folder for a part of the task, as a format does whose folder is the build
    context of its image.
    """
    tree = TaskTree(root=os.path.realpath(folder))
    if not os.access(tree.root, os.R_OK | os.X_OK):
        tree.refuse("task.toml", "can't be read: the task's folder is closed to this user")
        return tree
    rules = _root_rules(tree)
    total = 0
    for path, source in _everything(tree) if whole else _candidates(tree):
        if len(tree.files) + len(tree.problems) >= MAX_ENTRIES or total > MAX_TASK_BYTES:
            tree.refuse(path, f"the task has more than {MAX_ENTRIES} files or {MAX_TASK_BYTES} bytes")
            break
        if not rules.decide(path):
            total += _add(tree, path, source)
    tree.files.sort(key=lambda file: file.path)
    return tree


def _candidates(tree: TaskTree) -> Iterator[tuple[str, str]]:
    for name in _SINGLE_FILES:
        source = os.path.join(tree.root, name)
        if os.path.lexists(source):
            yield name, source
    for name in _FOLDERS:
        source = os.path.join(tree.root, name)
        if os.path.islink(source) and not _inside(tree.root, os.path.realpath(source)):
            tree.refuse(name, "is a link out of the task folder")
        elif os.path.isdir(source):
            scope = ((source, _skip_rules(tree, source)),) if name in ("tests", "solution") else ()
            yield from _below(tree, name, source, scope)
        elif os.path.lexists(source):
            tree.refuse(name, "is no folder")


def _everything(tree: TaskTree) -> Iterator[tuple[str, str]]:
    yield from _below(tree, "", tree.root, ())


_Scope = tuple[tuple[str, Ignores], ...]
"""The ``.harborignore`` files that hold here, outermost first, each with its folder."""


def _below(tree: TaskTree, prefix: str, folder: str, scope: _Scope) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        tree.refuse(prefix or ".", f"can't be read: {error.strerror}")
        return
    for entry in entries:
        path = f"{prefix}/{entry.name}" if prefix else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if path == _REPOSITORY or entry.name == _SKIP_FILE or _skipped(scope, entry.path, is_folder):
            continue
        if is_folder and path.count("/") >= MAX_DEPTH:
            tree.refuse(path, f"is more than {MAX_DEPTH} folders deep")
        elif is_folder:
            yield from _below(tree, path, entry.path, _inner_scope(tree, path, entry.path, scope))
        else:
            yield path, entry.path


def _inner_scope(tree: TaskTree, path: str, folder: str, scope: _Scope) -> _Scope:
    parts = path.split("/")
    starts = len(parts) == 3 and parts[0] == "steps" and parts[2] in ("tests", "solution")
    if not (scope or starts):
        return ()
    return (*scope, (folder, _skip_rules(tree, folder)))


def _skipped(scope: _Scope, source: str, is_folder: bool) -> bool:
    skipped = False
    for folder, rules in scope:
        relative = os.path.relpath(source, folder) + ("/" if is_folder else "") if rules.rules else ""
        decided = rules.decide(relative) if rules.rules else None
        skipped = skipped if decided is None else decided
    return skipped


def _root_rules(tree: TaskTree) -> Ignores:
    return _read_rules(tree, os.path.join(tree.root, ".gitignore"), DEFAULT_IGNORES)


def _skip_rules(tree: TaskTree, folder: str) -> Ignores:
    return _read_rules(tree, os.path.join(folder, _SKIP_FILE), ())


def _read_rules(tree: TaskTree, source: str, default: tuple[str, ...]) -> Ignores:
    try:
        status = os.stat(source)
    except OSError:
        return ignores(default)
    name = os.path.relpath(source, tree.root)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_IGNORE_BYTES:
        tree.refuse(name, f"is no file of at most {_MAX_IGNORE_BYTES} bytes")
        return ignores(default)
    try:
        return ignores(tuple(Path(source).read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError):
        tree.refuse(name, "can't be read as UTF-8 text")
        return ignores(default)


def _add(tree: TaskTree, path: str, source: str) -> int:
    """Hash one file into the tree and give its size; what is no plain file becomes a problem."""
    try:
        path.encode()
    except UnicodeEncodeError:
        tree.refuse(path, "the file name is not UTF-8")
        return 0
    refused = _refusal(tree, source)
    if refused is not None:
        tree.refuse(path, refused)
        return 0
    keep = "/" not in path or path.endswith(("/instruction.md", "/docker-compose.yaml"))
    try:
        sha256, size, text = _hash(source, keep)
    except OSError as error:
        tree.refuse(path, f"can't be read: {error.strerror}")
        return 0
    if text is not None:
        tree.texts[path] = text
    tree.files.append(TaskFile(path, sha256, size, source))
    return size


def _refusal(tree: TaskTree, source: str) -> str | None:
    try:
        status = os.lstat(source)
        if stat.S_ISLNK(status.st_mode):
            if not _inside(tree.root, os.path.realpath(source)):
                return "is a link out of the task folder"
            status = os.stat(source)
            if stat.S_ISDIR(status.st_mode):
                return "is a link to a folder, which the content digest leaves out; copy the folder"
    except OSError as error:
        return f"is a link that leads nowhere: {error.strerror}"
    if not stat.S_ISREG(status.st_mode):
        return "is no plain file"
    if status.st_size > MAX_FILE_BYTES:
        return f"is larger than {MAX_FILE_BYTES} bytes"
    return None


def _hash(source: str, keep: bool) -> tuple[str, int, bytes | None]:
    """Sha256, size, and the bytes of a small file that is wanted. Not blocked by a pipe put in its place."""
    with open(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        first = file.read(_PIECE)
        hasher, size = hashlib.sha256(first), len(first)
        if size < _PIECE:
            return hasher.hexdigest(), size, first if keep else None
        while piece := file.read(_PIECE):
            hasher.update(piece)
            size += len(piece)
    return hasher.hexdigest(), size, None


def _inside(root: str, path: str) -> bool:
    return path == root or path.startswith(root + os.sep)


def printable(text: str) -> str:
    """Names from a hostile folder go to terminals and JSON; what can't be shown becomes a question mark."""
    return "".join(char if char.isprintable() else "?" for char in text)
