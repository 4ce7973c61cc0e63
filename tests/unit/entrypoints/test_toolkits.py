"""Which tools may be used: per session, per user, per round; and what becomes of a call whose tool was taken away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import geode
from geode import Toolkit, ToolkitContext
from geode.domain.errors import Misuse
from geode.testing import ScriptedModel, calls, says
from tests.unit.entrypoints.test_sources import Notices, Shelf, found, offered, texts


@geode.tool(tier="safe")
def read_page() -> str:
    """Read."""
    return "a page"


@geode.tool(tier="dangerous")
def erase_page() -> str:
    """Erase."""
    return "erased"


TOOLS = [read_page, erase_page]
READING = Toolkit("reading", allow=["read_*"])


async def allow(call: geode.ToolUseBlock) -> geode.Approve:
    return geode.Approve()


async def test_a_session_shows_and_runs_what_its_toolkit_holds() -> None:
    model = ScriptedModel(calls(("read_page", {}), ("erase_page", {})), says("done"))
    outcome = await geode.run("go", model=model, tools=TOOLS, toolkit=READING, approve=allow)
    assert offered(model) == [["read_page"], ["read_page"]]
    assert [kind for kind, _ in texts(outcome)] == ["ok", "failed"]
    assert texts(outcome)[1][1].startswith("there is no tool named 'erase_page'")


async def test_the_tool_for_long_results_is_in_every_toolkit() -> None:
    model = ScriptedModel(says("done"))
    await geode.run("go", model=model, tools=TOOLS, toolkit=Toolkit("none", allow=[]), approve=allow)
    assert [tool.name for tool in model.requests[0].tools] == ["recall_tool_result"]


async def test_a_session_of_a_runtime_is_narrower_and_never_wider() -> None:
    model = ScriptedModel(says("a"), says("b"), says("c"))
    async with geode.Runtime(model=model, tools=TOOLS, toolkit=READING, approve=allow) as runtime:
        for toolkit in (None, Toolkit("erasing", allow=["erase_*"]), Toolkit("all", allow=["*"])):
            async with runtime.session(toolkit=toolkit) as loop:
                await loop.run("go")
    assert offered(model) == [["read_page"], [], ["read_page"]]


@dataclass
class User:
    may_erase: bool


async def test_per_user_by_a_function() -> None:
    def by_user(context: ToolkitContext) -> Toolkit | None:
        return None if context.deps.may_erase else READING

    for user, names in ((User(True), ["read_page", "erase_page"]), (User(False), ["read_page"])):
        model = ScriptedModel(says("done"))
        await geode.run("go", model=model, tools=TOOLS, toolkit=by_user, deps=user, approve=allow)
        assert offered(model) == [names]


async def test_per_round_by_a_function() -> None:
    asked: list[tuple[str, int]] = []

    def first_round_only(context: ToolkitContext) -> list[Toolkit]:
        asked.append((context.run_id, context.round))
        return [] if context.round == 1 else [READING]

    model, seen = ScriptedModel(calls(("read_page", {})), calls(("erase_page", {})), says("done")), Notices()
    outcome = await geode.run("go", model=model, tools=TOOLS, toolkit=first_round_only, approve=allow, observe=seen)
    assert offered(model) == [["read_page", "erase_page"], ["read_page"], ["read_page"]]
    assert [kind for kind, _ in texts(outcome)] == ["ok", "failed"]
    assert ("tools_changed", "gone: erase_page") in seen.all
    assert {run for run, _ in asked} == {outcome.run_id}
    assert sorted({round for _, round in asked}) == [1, 2, 3]


async def test_a_tool_that_is_taken_away_between_call_and_run_is_answered_and_not_run() -> None:
    """While a person thinks, say. The history stays valid: the call has its result."""
    erased: list[str] = []
    user = User(True)

    @geode.tool(tier="dangerous")
    def erase() -> str:
        """Erase."""
        erased.append("erased")
        return "erased"

    async def ask(call: geode.ToolUseBlock) -> geode.Approve:
        user.may_erase = False
        return geode.Approve()

    model = ScriptedModel(calls(("erase", {}), ("read_page", {})), says("done"))
    outcome = await geode.run(
        "go",
        model=model,
        tools=[erase, read_page],
        toolkit=lambda context: None if context.deps.may_erase else READING,
        deps=user,
        approve=ask,
    )
    assert isinstance(outcome, geode.Answered)
    assert texts(outcome) == [("denied", "denied: erase is no longer among the tools that may be used"), ("ok", "a page")]
    assert erased == []


async def test_a_function_that_breaks_allows_nothing() -> None:
    def breaks(context: ToolkitContext) -> Any:
        raise LookupError("no such user")

    model, seen = ScriptedModel(says("done")), Notices()
    await geode.run("go", model=model, tools=TOOLS, toolkit=breaks, approve=allow, observe=seen)
    assert offered(model) == [[]]
    assert [kind for kind, text in seen.all if "LookupError: no such user" in text] == ["toolkit_failed"]


@pytest.mark.parametrize("given", ["reading", 5, [READING, "x"]])
def test_what_is_no_toolkit_is_refused_at_once(given: Any) -> None:
    with pytest.raises(Misuse, match="toolkit= takes"):
        geode.session(model=ScriptedModel(), tools=TOOLS, toolkit=given)


def test_a_function_that_has_to_be_waited_for_is_refused_at_once() -> None:
    async def by_user(context: ToolkitContext) -> Toolkit:
        return READING

    waits: Any = by_user
    with pytest.raises(Misuse, match="write def by_user, not async def"):
        geode.session(model=ScriptedModel(), tools=TOOLS, toolkit=waits)


def test_a_name_that_no_tool_has_is_refused_with_the_closest() -> None:
    with pytest.raises(Misuse, match=r'names "read_pag", this session has no such tool; did you mean read_page\?'):
        geode.session(model=ScriptedModel(), tools=TOOLS, toolkit=Toolkit("reading", allow=["read_pag"]))


async def test_tools_of_a_source_by_the_name_of_the_source() -> None:
    docs, web = Shelf("docs", found("grep"), found("fetch")), Shelf("web", found("fetch"))
    model = ScriptedModel(says("done"))
    await geode.run("go", model=model, tools=[*TOOLS, docs, web], toolkit=Toolkit("docs", allow=["docs__*"]), approve=allow)
    assert offered(model) == [["grep", "docs__fetch"]]


@pytest.mark.parametrize("denied", ["erase", "docs__erase", "page.erase", "docs__page.erase"])
async def test_what_is_denied_stays_denied_when_another_source_has_its_name(denied: str) -> None:
    """Spec section 12: a denied tool is neither sent nor run, whatever a clash made of its name."""
    docs = Shelf("docs", found("erase"), found("page.erase"), found("grep"))
    for others in ([], [Shelf("web", found("erase"), found("page.erase"))]):
        model = ScriptedModel(says("done"))
        kit = Toolkit("no", deny=[denied])
        async with geode.session(model=model, tools=[docs, *others], toolkit=kit, approve=allow) as loop:
            await loop.run("go")
        (names,) = offered(model)
        own = denied.removeprefix("docs__")
        assert not any(name.startswith((denied.replace(".", "_"), f"docs__{own.replace('.', '_')}")) for name in names)
        assert "grep" in names


async def test_a_source_does_not_get_into_the_toolkit_of_another_by_a_name() -> None:
    docs, web = Shelf("docs", found("grep")), Shelf("web", found("docs__erase"))
    model = ScriptedModel(says("done"))
    await geode.run("go", model=model, tools=[docs, web], toolkit=Toolkit("docs", allow=["docs__*"]), approve=allow)
    assert offered(model) == [["grep"]]


def written(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("*") if path.is_file())


async def test_a_change_of_tools_is_in_the_journal_and_comes_to_the_same_again(tmp_path: Path) -> None:
    def by_round(context: ToolkitContext) -> Toolkit | None:
        return READING if context.round == 2 else None

    model = ScriptedModel(calls(("read_page", {})), calls(("read_page", {})), says("done"))
    async with geode.session(model=model, tools=TOOLS, toolkit=by_round, approve=allow, journal=tmp_path) as loop:
        outcome = await loop.run("go")
        again = await loop.resume_run(outcome.run_id)
    assert (again.text, again.conversation) == (outcome.text, outcome.conversation)
    assert written(tmp_path).count('"ToolsChanged"') == 2
