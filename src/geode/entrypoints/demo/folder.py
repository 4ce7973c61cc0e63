"""The folder that the demo looks at: its text files, and what is worth telling of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import geode

MAX_FILES: Final = 2000
MAX_BYTES: Final = 200_000
_ENOUGH: Final = 3
_CHECKOUT: Final = (".git", "pyproject.toml")
# Made by tools, not by people.
_SKIPPED: Final = frozenset({"build", "dist", "htmlcov", "mutants", "node_modules", "site-packages", "target", "venv"})
_FIRST_TO_READ: Final = ("README.md", "pyproject.toml", "README.rst", "package.json", "Makefile", "__init__.py")
_PROGRAMS: Final = (".py", ".js", ".ts", ".go", ".rs", ".c", ".java")
_WORTH_FINDING: Final = ("async def", "class ", "def ", "function ", "import ", "the ")


@dataclass(frozen=True, slots=True)
class File:
    """A text file: its path inside the folder, with slashes, its lines, and the time of its last change."""

    path: str
    lines: int
    changed: int

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0] or "(top)"


@dataclass(frozen=True, slots=True)
class Folder:
    """The text files under `root`, in the order of their paths. Hidden ones, large ones and others' are left out."""

    root: Path
    files: tuple[File, ...]

    @property
    def lines(self) -> int:
        return sum(file.lines for file in self.files)

    def file(self, path: str) -> File | None:
        """The file of that path; nothing outside of the folder has one."""
        return next((file for file in self.files if file.path == path), None)

    def text(self, file: File) -> str:
        """What the file holds now."""
        return (self.root / file.path).read_text("utf-8", errors="replace")

    def find(self, text: str) -> list[tuple[File, int, str]]:
        """Every line with `text`: file, number of the line, the line."""
        return [
            (file, number, line.strip())
            for file in self.files
            for number, line in enumerate(self.text(file).splitlines(), 1)
            if text in line
        ]

    def sizes(self, by: str, top: int) -> list[tuple[str, int]]:
        """The largest folders by `lines` or `files`, largest first."""
        counted: Counter[str] = Counter()
        for file in self.files:
            counted[file.folder] += file.lines if by == "lines" else 1
        return counted.most_common(top)

    def largest(self) -> File:
        """The program with the most lines; where there is none, the file."""
        programs = [file for file in self.files if file.path.endswith(_PROGRAMS) and "test" not in file.path]
        return max(programs or self.files, key=lambda file: file.lines)

    def to_read_first(self) -> File:
        return next((file for name in _FIRST_TO_READ if (file := self.file(name))), self.files[0])

    def to_find(self) -> str:
        """A text that stands somewhere in the folder."""
        return next((text for text in _WORTH_FINDING if self.find(text)), "e")

    def not_there(self) -> str:
        """A path that one might expect, and that is not there."""
        names = ("docs/roadmap.md", "docs/history.md", "docs/nothing-here.md")
        return next((name for name in names if not (self.root / name).exists()), f"docs/{os.getpid()}.md")

    def changed_since(self) -> list[str]:
        """The files that somebody changed after they were looked at."""
        now = {file.path: file.changed for file in look(self.root).files}
        return [file.path for file in self.files if now.get(file.path) != file.changed]


def folder_to_show() -> Folder:
    """The current directory, if it is a checkout with something to read; else geode's own files."""
    here = Path.cwd()
    if any((here / name).exists() for name in _CHECKOUT):
        found = look(here)
        if len(found.files) >= _ENOUGH:
            return found
    return look(Path(geode.__file__).parent)


def look(root: Path) -> Folder:
    """The text files under `root`, at most MAX_FILES of them."""
    files: list[File] = []
    for path in _walk(root):
        text = _text(path)
        if text is not None:
            files.append(File(path.relative_to(root).as_posix(), text.count(b"\n"), path.stat().st_mtime_ns))
        if len(files) == MAX_FILES:
            break
    return Folder(root, tuple(sorted(files, key=lambda file: file.path)))


def _walk(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")) and name not in _SKIPPED)
        yield from (Path(place, name) for name in sorted(names) if not name.startswith("."))


def _text(path: Path) -> bytes | None:
    """The bytes of a file that is text and not large; None for others and for what cannot be read."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        data = path.read_bytes()
        data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if b"\0" in data else data
