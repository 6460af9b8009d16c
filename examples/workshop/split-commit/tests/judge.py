"""Compares /app/repo with a repository made here from the judge's own copy of the history.

Commits are read raw, so that replacements and grafts show nothing that is not there.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from scoring import score

HERE = Path(__file__).parent
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
SAFE = ["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
MIXED = "Rename sum_up to total, and a discount for members"


def git(repository, *arguments, given=b""):
    command = ["git", *SAFE, "-C", str(repository), *arguments]
    ran = subprocess.run(command, input=given, capture_output=True, timeout=20, env=ENVIRONMENT)
    if ran.returncode:
        raise ValueError(ran.stderr.decode(errors="replace")[-300:])
    return ran.stdout.decode().strip()


class Commit:
    def __init__(self, repository, name):
        head, _, self.message = git(repository, "cat-file", "commit", name).partition("\n\n")
        lines = [line.split(" ", 1) for line in head.split("\n")]
        self.id = git(repository, "rev-parse", name)
        self.tree = next(value for key, value in lines if key == "tree")
        self.author = next(value for key, value in lines if key == "author")
        self.parents = [value for key, value in lines if key == "parent"]


def same(new, old):
    """Whether a history is the other one with the mixed commit split in two."""
    one, other = Commit(AGENTS, new), Commit(OURS, old)
    if one.id == other.id:
        return not contains_mixed(old)
    if other.message.startswith(MIXED):
        return is_second(one, other)
    alike = (one.tree, one.author, one.message) == (other.tree, other.author, other.message)
    return alike and len(one.parents) == len(other.parents) and all(map(same, one.parents, other.parents))


def contains_mixed(old):
    return bool(git(OURS, "log", "--format=%H", f"--grep=^{MIXED}", old))


def is_second(one, mixed):
    if (one.tree, one.author, one.message) != (mixed.tree, mixed.author, "Give members a discount"):
        return False
    return len(one.parents) == 1 and is_first(Commit(AGENTS, one.parents[0]), mixed)


def is_first(one, mixed):
    before = Commit(OURS, mixed.parents[0])
    entries = []
    for line in git(OURS, "ls-tree", before.tree).split("\n"):
        mode, kind, rest = line.split(" ", 2)
        blob, name = rest.split("\t")
        text = git(OURS, "cat-file", "blob", blob) + "\n"
        renamed = git(OURS, "hash-object", "-w", "--stdin", given=text.replace("sum_up", "total").encode())
        entries.append(f"{mode} {kind} {renamed}\t{name}\n")
    tree = git(OURS, "mktree", given="".join(entries).encode())
    wanted = (tree, mixed.author, "Rename sum_up to total", mixed.parents)
    return (one.tree, one.author, one.message, one.parents) == wanted


def second_commit():
    """The one after which files are as after the mixed commit, found from the tip by first parents."""
    mixed = Commit(OURS, git(OURS, "log", "--format=%H", f"--grep=^{MIXED}", "main"))
    one = Commit(AGENTS, "refs/heads/main")
    while one.tree != mixed.tree and one.parents:
        one = Commit(AGENTS, one.parents[0])
    return one, mixed


def refs():
    names = git(AGENTS, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/replace").split()
    return names == ["refs/heads/main", "refs/heads/stock", "refs/tags/v1", "refs/tags/v2"]


def tags():
    at = git(AGENTS, "rev-parse", "refs/tags/v1") == git(OURS, "rev-parse", "v1")
    kind = git(AGENTS, "cat-file", "-t", "refs/tags/v2")
    text = git(AGENTS, "cat-file", "tag", "refs/tags/v2").partition("\n\n")[2]
    return at and kind == "tag" and text == "Second release" and same("refs/tags/v2^{commit}", "v2^{commit}")


def one_history():
    """Both branches stand on the same two commits."""
    one, other = (git(AGENTS, "rev-list", "--all", f"--grep=^{message}$").split() for message in
                  ("Rename sum_up to total", "Give members a discount"))  # fmt: skip
    return len(one) == len(other) == 1 and git(AGENTS, "rev-list", "--all", f"--grep=^{MIXED}") == ""


def checked_out():
    on_main = git(AGENTS, "symbolic-ref", "HEAD") == "refs/heads/main"
    return (
        on_main
        and git(AGENTS, "status", "--porcelain") == ""
        and git(AGENTS, "fsck", "--connectivity-only", "--no-dangling") == ""
    )


with tempfile.TemporaryDirectory() as place:
    OURS, AGENTS = Path(place), Path("/app/repo")
    git(OURS, "init", "-q", "-b", "main")
    git(OURS, "fast-import", "--quiet", given=(HERE / "history.txt").read_bytes())
    score(
        {
            "the first commit": lambda: is_first(Commit(AGENTS, second_commit()[0].parents[0]), second_commit()[1]),
            "the second commit": lambda: is_second(*second_commit()),
            "main": lambda: same("refs/heads/main", "main"),
            "stock": lambda: same("refs/heads/stock", "stock"),
            "tags": tags,
            "no other branches and tags": refs,
            "one history": one_history,
            "checked out": checked_out,
        }
    )
