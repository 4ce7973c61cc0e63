"""The tools of the demo: four that only look, and one that writes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, Literal

from geode.domain.naming import closest
from geode.entrypoints.demo.chart import bar_chart
from geode.entrypoints.demo.folder import File, Folder
from geode.entrypoints.tools import tool
from geode.ports.tools import ToolError

_MOST: Final = 40


class DemoTools:
    """Tools on the files of one folder. They are methods: what they share lives in the object."""

    def __init__(self, folder: Folder, reports: Path | None) -> None:
        self.folder = folder
        self._reports = reports
        self._chart: bytes | None = None

    @property
    def all(self) -> Sequence[Callable[..., Any]]:
        return (self.list_files, self.search_text, self.read_file, self.draw_chart, self.write_report)

    @tool(tier="safe")
    def list_files(self, pattern: str = "*") -> str:
        """List the text files of the folder.

        Args:
            pattern: Only paths like this one, for example `*.py` or `docs/*`.
        """
        found = [file for file in self.folder.files if fnmatch(file.path, pattern)]
        lines = sum(file.lines for file in found)
        return _list(f"{len(found)} files, {lines:,} lines", [file.path for file in found])

    @tool(tier="safe")
    def search_text(self, text: str) -> str:
        """Find the lines that hold a text, in every file of the folder.

        Args:
            text: What to find; capitals matter.
        """
        found = self.folder.find(text)
        places = len({file.path for file, _, _ in found})
        lines = [f"{file.path}:{number}: {line[:120]}" for file, number, line in found]
        return _list(f"{len(found):,} lines in {places} files", lines)

    @tool(tier="safe")
    def read_file(self, path: str, first_line: int = 1, last_line: int = 60) -> str:
        """Read lines of a file.

        Args:
            path: As `list_files` tells it.
            first_line: Counted from 1.
            last_line: Included.
        """
        lines = self.folder.text(self._file(path)).splitlines()
        return "\n".join(lines[max(first_line, 1) - 1 : last_line])

    @tool(tier="safe")
    def draw_chart(self, by: Literal["lines", "files"] = "lines", top: int = 8) -> list[Any]:
        """Draw the largest folders as bars.

        Args:
            by: What to measure them by.
            top: How many of them.
        """
        sizes = self.folder.sizes(by, min(max(top, 1), 20))
        self._chart = bar_chart(f"{by} in {self.folder.root.name}", sizes)
        return [f"{len(sizes)} bars, the longest is {sizes[0][0]} with {sizes[0][1]:,} {by}", self._chart]

    @tool(tier="write")
    def write_report(self, title: str, text: str) -> str:
        """Write the report, and the chart beside it if there is one.

        Args:
            title: Its heading.
            text: Its body, in Markdown.
        """
        if self._reports is None:
            self._reports = Path(tempfile.mkdtemp(prefix="geode-report-"))
        picture = "\n\n![chart](chart.png)" if self._chart else ""
        whole = f"# {title}\n\n{text}{picture}\n"
        try:
            self._reports.mkdir(parents=True, exist_ok=True)
            if self._chart:
                (self._reports / "chart.png").write_bytes(self._chart)
            (self._reports / "report.md").write_text(whole, "utf-8")
        except OSError as error:
            raise ToolError(f"{self._reports} cannot be written: {error.strerror}", recoverable=False) from error
        return f"report.md with {len(whole.splitlines())} lines" + (", and chart.png" if self._chart else "")

    def _file(self, path: str) -> File:
        found = self.folder.file(path)
        if found is None:
            close = closest(path, [file.path for file in self.folder.files])
            hint = f"; close to it: {', '.join(close)}" if close else ""
            raise ToolError(f"no file {path} here{hint}")
        return found


def _list(head: str, items: Sequence[str]) -> str:
    more = [f"and {len(items) - _MOST} more"] if len(items) > _MOST else []
    return "\n".join([f"{head}:", *items[:_MOST], *more])
