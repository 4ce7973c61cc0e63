"""The proof: the contract of a source of tools, and a run that uses one."""

import sqlite3
from contextlib import closing
from pathlib import Path

from saved_queries import SavedQueries
from saved_queries.harness import SavedQueriesHarness, filled

import geode
from geode.compliance import ToolSourceContract
from geode.testing import ScriptedModel, calls, says


class TestSavedQueries(ToolSourceContract):
    harness = SavedQueriesHarness


async def test_a_run_asks_it(tmp_path: Path) -> None:
    model = ScriptedModel(calls(("users", {"country": "FR"})), says("42."))
    outcome = await geode.run("How many in France?", model=model, tools=[SavedQueries(filled(tmp_path / "queries.db"))])
    assert [result.text for result in outcome.conversation.results()] == ['[{"count":42}]']


async def test_what_is_no_tool_is_left_out_and_said(tmp_path: Path) -> None:
    path = filled(tmp_path / "queries.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO saved_queries VALUES ('odd', 'Odd', '{', 'SELECT 1')")
    async with SavedQueries(path).opened() as opened:
        listing = await opened.listing()
    assert [tool.spec.name for tool in listing.tools] == ["broken", "users"]
    assert [text.partition(":")[0] for text in listing.left_out] == ["queries"]
    assert "the query 'odd' is no tool" in listing.left_out[0]


async def test_nothing_is_written(tmp_path: Path) -> None:
    path = filled(tmp_path / "queries.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO saved_queries VALUES ('wipe', 'Wipe', '{}', 'DELETE FROM users')")
    model = ScriptedModel(calls(("wipe", {})), says("No."))
    outcome = await geode.run("Wipe it", model=model, tools=[SavedQueries(path)])
    (result,) = outcome.conversation.results()
    assert (result.kind, "readonly" in result.text) == ("failed", True)
