"""The source as geode's own suite sees it."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, ClassVar

from geode.compliance import ToolSourceHarness
from geode.ports import ToolSource
from saved_queries.source import SavedQueries

_COUNTRY = '{"country": {"type": "string", "description": "two letters"}}'
_ROWS = (
    ("users", "How many users a country has", _COUNTRY, "SELECT count FROM users WHERE country = :country"),
    ("broken", "A query that was right before the table went", "{}", "SELECT * FROM gone"),
)
_INSERT = "INSERT INTO saved_queries VALUES (?, ?, ?, ?)"


class SavedQueriesHarness(ToolSourceHarness):
    answers: ClassVar[tuple[str, Mapping[str, Any], str]] = ("users", {"country": "FR"}, "42")
    fails: ClassVar[tuple[str, Mapping[str, Any]] | None] = ("broken", {})
    changes: ClassVar[bool] = True
    path = Path()

    @asynccontextmanager
    async def source(self) -> AsyncIterator[ToolSource]:
        with tempfile.TemporaryDirectory() as folder:
            self.path = filled(Path(folder) / "queries.db")
            yield SavedQueries(self.path)

    @asynccontextmanager
    async def gone(self) -> AsyncIterator[ToolSource]:
        with tempfile.TemporaryDirectory() as folder:
            yield SavedQueries(Path(folder) / "nothing.db")

    async def change(self, source: ToolSource) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(_INSERT, ("countries", "Which countries there are", "{}", "SELECT country FROM users"))


def filled(path: Path) -> Path:
    """A file with a table of users, and queries of it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE users (country TEXT, count INTEGER)")
        connection.execute("INSERT INTO users VALUES ('FR', 42)")
        connection.execute("CREATE TABLE saved_queries (name TEXT, description TEXT, parameters TEXT, sql TEXT)")
        connection.executemany(_INSERT, _ROWS)
    return path
