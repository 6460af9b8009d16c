"""Builds books with a copy of /app/Makefile, changes them and builds again. Exit code 0: right."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

STYLE = "s/ -- /-/g\ns/colour/color/g\n"
CHAPTERS = {"one": "The colour -- blue.\n", "two": "Two.\n", "three-b": "Three.\n", "four_4": "Four -- and last.\n"}


class Book:
    """A folder with a book, built by the agent's Makefile."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "chapters").mkdir()
        (folder / "Makefile").write_bytes(Path("/app/Makefile").read_bytes())
        self.write("title.txt", "A Book\n")
        self.write("style.sed", STYLE)
        self.order(["two", "one", "three-b"])
        for name, text in CHAPTERS.items():
            self.write(f"chapters/{name}.txt", text)
        self.write("keep.bak", "not yours\n")

    def write(self, path, text):
        (self.folder / path).write_text(text)

    def order(self, names):
        self.names = names
        self.write("order.list", "".join(f"{name}\n" for name in names))

    def make(self, *arguments):
        command = ["make", "-C", str(self.folder), "--no-print-directory", *arguments]
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
        return subprocess.run(command, capture_output=True, timeout=20, env=environment).returncode

    def age(self):
        """Move every file into the past, all by the same time, so that the next change is surely newer."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            status = path.stat()
            past = 1_000_000_000_000
            os.utime(path, ns=(status.st_atime_ns - past, status.st_mtime_ns - past))

    def times(self):
        return {name: (self.folder / f"build/{name}.out").stat().st_mtime_ns for name in self.names}

    def wanted(self):
        text = (self.folder / "title.txt").read_text()
        for name in self.names:
            chapter = (self.folder / f"chapters/{name}.txt").read_text()
            for line in (self.folder / "style.sed").read_text().splitlines():
                _, old, new, _ = line.split("/")
                chapter = chapter.replace(old, new)
            text += chapter
        return text

    def up_to_date(self):
        return (self.folder / "build/book.txt").read_text() == self.wanted() and self.make("-q") == 0

    def built_again(self, change):
        """The chapters whose output is written again after a change; None if the book is then wrong."""
        self.age()
        before = self.times()
        change()
        if self.make("-j4") != 0 or not self.up_to_date():
            return None
        after = self.times()
        return {name for name in after if after[name] != before.get(name)}


def findings(book):
    yield "builds", book.make() == 0 and book.up_to_date()
    yield "does nothing twice", book.built_again(lambda: None) == set()
    yield "one chapter", book.built_again(lambda: book.write("chapters/one.txt", "New colour.\n")) == {"one"}
    yield "the title", book.built_again(lambda: book.write("title.txt", "Another Book\n")) == set()
    everything = set(book.names)
    yield "the style", book.built_again(lambda: book.write("style.sed", STYLE + "s/Two/2/g\n")) == everything
    yield "the order", book.built_again(lambda: book.order(["three-b", "one", "two"])) == set()
    yield "one more", book.built_again(lambda: book.order(["three-b", "one", "two", "four_4"])) == {"four_4"}
    yield "one less", book.built_again(lambda: book.order(["one", "two", "four_4"])) == set()
    book.age()
    good = (book.folder / "style.sed").read_text()
    book.write("style.sed", "s/broken\n")
    failed = book.make() != 0 and not (book.folder / "build/one.out").exists()
    book.write("style.sed", good)
    yield "a failing sed", failed and book.make() == 0 and book.up_to_date()
    yield "clean", book.make("clean") == 0 and not (book.folder / "build").exists()
    yield "clean keeps the rest", (book.folder / "keep.bak").exists() and len(list(book.folder.iterdir())) == 6
    yield "in parallel from nothing", book.make("-j4") == 0 and book.up_to_date()


def main():
    right = True
    with tempfile.TemporaryDirectory() as folder:
        try:
            for finding, true in findings(Book(Path(folder))):
                print(f"{'right' if true else 'WRONG'}: {finding}")
                right = right and true
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            print("WRONG:", error)
            right = False
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
