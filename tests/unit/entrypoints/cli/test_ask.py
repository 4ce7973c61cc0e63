"""What a person at a terminal is shown and asked, over a terminal that is a list of lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from geode.domain.approval import Approve, Asked, Decision, Deny, Later, Question
from geode.domain.content import ToolUseBlock
from geode.domain.tiers import SafetyTier
from geode.entrypoints.cli.ask import AskTerminal
from geode.entrypoints.cli.terminal import shown_json
from geode.entrypoints.cli.words import harmless


class Typed:
    """A terminal at which these lines are typed, and then nothing more. `editor` is what the editor makes of a text."""

    def __init__(self, lines: Iterable[str], editor: Any = None) -> None:
        self._lines, self._editor = list(lines), editor
        self.screen = ""

    def show(self, text: str) -> None:
        self.screen += text

    async def line(self, prompt: str) -> str | None:
        self.screen += prompt
        return self._lines.pop(0) if self._lines else None

    async def edited(self, text: str) -> str | None:
        return None if self._editor is None else str(self._editor(text))


def fits(call: ToolUseBlock) -> tuple[str, ...]:
    return () if set(call.input) <= {"path", "text"} else ("/ has too much",)


def asked(id: str, name: str = "save", tier: SafetyTier = SafetyTier.WRITE, **arguments: Any) -> Asked:
    return Asked(ToolUseBlock(id, name, arguments or {"path": "a"}), tier, f"{name} is {tier.name}")


def answers(*lines: str, calls: Iterable[Asked] = (), editor: Any = None) -> tuple[dict[str, Decision], str]:
    terminal = Typed(lines, editor)
    question = Question("run", tuple(calls) or (asked("a"),))
    decided = asyncio.run(AskTerminal(terminal, fits).decide(question))
    return dict(decided), terminal.screen


def answer(*lines: str, editor: Any = None) -> Decision:
    return answers(*lines, editor=editor)[0]["a"]


@pytest.mark.parametrize(
    ("typed", "decision"),
    [
        ("y", Approve()),
        ("YES", Approve()),
        ("n", Deny()),
        ("no not on a Friday", Deny("not on a Friday")),
        ("a", Approve(always="tool")),
        ("s", Approve(always="arguments")),
        ("l", Later()),
    ],
)
def test_each_answer(typed: str, decision: Decision) -> None:
    assert answer(typed) == decision


def test_what_would_run_is_shown_before_it_is_asked_about() -> None:
    _, screen = answers("y", calls=[asked("a", path="notes/ü", text="two\nlines")])
    assert screen.index("save  WRITE") < screen.index('"path": "notes/ü"') < screen.index("[y]es")
    assert '"text": "two\\nlines"' in screen


@pytest.mark.parametrize("typed", ["", "maybe", "yess", "1", "\x1b[A"])
def test_what_is_no_answer_is_asked_again_and_never_a_yes(typed: str) -> None:
    decided, screen = answers(typed, "n")
    assert decided == {"a": Deny()}
    assert screen.count("[y]es") == 2
    assert "\x1b" not in screen


def test_a_terminal_that_is_closed_denies() -> None:
    assert answer() == Deny("nobody answered: the operator's terminal was closed")
    both = [asked("a", "draw", SafetyTier.EXPENSIVE), asked("b", "draw", SafetyTier.EXPENSIVE)]
    assert set(map(type, answers(calls=both)[0].values())) == {Deny}


def test_after_the_end_nothing_more_is_asked_and_what_was_answered_stays() -> None:
    three = [asked(id, name) for id, name in (("a", "draw"), ("b", "save"), ("c", "save"))]
    terminal = Typed(["o", "y"])
    decided = asyncio.run(AskTerminal(terminal, fits, Later).decide(Question("run", tuple(three))))
    assert decided == {"a": Approve(), "b": Later(), "c": Later()}
    assert "(3 of 3)" not in terminal.screen


# ---- editing -----------------------------------------------------------------------------------


def test_arguments_are_edited_in_an_editor_and_shown_again() -> None:
    def editor(text: str) -> str:
        assert json.loads(text) == {"path": "a"}
        return text.replace('"a"', '"b"')

    decided, screen = answers("e", "y", editor=editor)
    assert decided == {"a": Approve({"path": "b"})}
    assert screen.index('"path": "a"') < screen.index('"path": "b"') < screen.rindex("[y]es")


def test_or_on_one_line() -> None:
    assert answer("e", '{"path": "c", "text": "ü"}', "s") == Approve({"path": "c", "text": "ü"}, always="arguments")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("{path", "not taken: that is not JSON"),
        ("[1]", "not taken: arguments are a JSON object"),
        ('{"path": NaN}', "not taken: that is not JSON"),
        ('{"way": 1}', "not taken: / has too much"),
        ("[" * 5000, "not taken: that is not JSON"),
        ("", "[y]es"),
    ],
)
def test_what_cannot_be_taken_leaves_the_call_as_it_was(typed: str, told: str) -> None:
    decided, screen = answers("e", typed, "y")
    assert decided == {"a": Approve()}
    assert told in screen


# ---- several at once ---------------------------------------------------------------------------


def drawings(count: int) -> list[Asked]:
    return [asked(id, "draw", SafetyTier.EXPENSIVE, path=id) for id in "abcdef"[:count]]


@pytest.mark.parametrize(
    ("typed", "decision"), [("y", Approve()), ("n too dear", Deny("too dear")), ("l", Later()), ("no", Deny())]
)
def test_all_of_a_question_are_answered_at_once(typed: str, decision: Decision) -> None:
    decided, screen = answers(typed, calls=drawings(3))
    assert decided == {"a": decision, "b": decision, "c": decision}
    assert "these 3 calls" in screen
    assert screen.count("draw  EXPENSIVE") == 3


def test_or_one_by_one() -> None:
    decided, screen = answers("what", "o", "y", "n", "l", calls=drawings(3))
    assert decided == {"a": Approve(), "b": Deny(), "c": Later()}
    assert "(2 of 3)" in screen


def test_always_holds_for_the_rest_of_the_question() -> None:
    decided, _ = answers("o", "n", "a", calls=drawings(4))
    assert decided == {"a": Deny(), "b": Approve(always="tool"), "c": Approve(), "d": Approve()}


# ---- what is shown -----------------------------------------------------------------------------


def test_long_arguments_are_bounded_and_can_be_seen_whole() -> None:
    calls = [asked("a", path="x" * 5000, text=[f"line {n}" for n in range(100)])]
    _, screen = answers("n", calls=calls)
    assert len(screen) < 5000
    assert "more characters" in screen
    assert "more lines" in screen
    assert "[v]iew all" in screen
    _, whole = answers("v", "n", calls=calls)
    assert "x" * 5000 in whole
    assert "line 99" in whole


HOSTILE = "\x1b[2J\x1b]0;title\x07 \x9b31m \r\b\x7f \u202egnp.exe \u200b \u2028 \ud800 \U000e0041 \ufeff"


def test_nothing_that_a_terminal_would_obey_or_hide_is_shown() -> None:
    odd: dict[str, Any] = {HOSTILE: 1}
    calls = [asked("a", HOSTILE, path=HOSTILE, **odd), asked("b", "draw", text=HOSTILE)]
    _, screen = answers("v", "o", HOSTILE, "e", '{"path": "' + "\x9b", "n", "n", calls=calls)
    assert all(line.isprintable() for line in screen.split("\n"))
    assert "\\u001b[2J" in screen
    assert "\\u202egnp.exe" in screen


def test_what_is_shown_is_still_the_json_that_runs() -> None:
    arguments = {"path": HOSTILE.replace("\ud800", ""), "text": "ünïcödé 日本 🙂"}
    assert json.loads(shown_json(arguments)) == arguments
    assert "ünïcödé 日本 🙂" in shown_json(arguments)


def test_harmless_text_stays_as_it_is() -> None:
    assert harmless("a path/with spaces, ü and 日本") == "a path/with spaces, ü and 日本"
