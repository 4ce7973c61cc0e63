"""The picker through prompt_toolkit: real key sequences, and what is on the screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prompt_toolkit.formatted_text import fragment_list_to_text as text
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from geode.domain.picking import Applied, Chosen, Discarded, Key, ModelChoice, Picker, opened, pressed
from geode.entrypoints.cli import picker_shown as shown
from geode.entrypoints.cli.picker import picking

UP, DOWN, RIGHT, LEFT = "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D"
TAB, SPACE, ENTER, ESCAPE, BACKSPACE, CTRL_C = "\t", " ", "\r", "\x1b", "\x7f", "\x03"

CHOICES = (
    ModelChoice("claude-opus-4-8", "anthropic-payg", ("low", "medium", "high", "xhigh", "max"), "high", 1_000_000),
    ModelChoice("claude-sonnet-4-5", "anthropic-payg", (), None, 200_000),
    ModelChoice("gpt-5.2", "openai-payg", ("none", "low", "medium", "high", "xhigh"), "medium", 400_000),
    ModelChoice(
        "glm-5.3", "glm-payg", ("low", "high", "max"), "max", 1_000_000, unusable="glm-payg has no key: set ZAI_API_KEY"
    ),
)
STORED = Chosen("claude-opus-4-8", "high")


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    with create_pipe_input() as keys:
        yield keys


@pytest.mark.parametrize(
    ("typed", "changes"),
    [
        (ENTER, {}),
        (DOWN + DOWN + ENTER, {"model": "gpt-5.2"}),
        (DOWN + DOWN + RIGHT + ENTER, {"model": "gpt-5.2", "effort": "xhigh"}),
        (UP + UP + LEFT + ENTER, {"model": "gpt-5.2", "effort": "medium"}),
        (DOWN + ENTER, {"model": "claude-sonnet-4-5"}),
        (DOWN + BACKSPACE + ENTER, {"model": "claude-sonnet-4-5", "effort": None}),
        (RIGHT + SPACE + TAB + DOWN + DOWN + DOWN + ENTER, {"effort": "xhigh", "reflection_model": "gpt-5.2"}),
        (TAB + TAB + DOWN + DOWN + SPACE + TAB + ENTER, {"summary_model": "claude-sonnet-4-5"}),
        (UP + ENTER + SPACE + UP + ENTER, {"model": "gpt-5.2"}),
        (RIGHT + DOWN + ENTER + SPACE + UP + LEFT + ENTER, {}),
    ],
)
def test_keys_pick(keys: PipeInput, typed: str, changes: dict[str, str | None]) -> None:
    keys.send_text(typed)
    found = picking(opened(CHOICES, STORED), input=keys, output=DummyOutput()).run()
    assert isinstance(found, Applied)
    assert found.changes == changes


@pytest.mark.parametrize("leave", [ESCAPE, "q", CTRL_C])
def test_keys_that_leave_change_nothing(keys: PipeInput, leave: str) -> None:
    keys.send_text(DOWN + DOWN + SPACE + TAB + DOWN + SPACE + leave)
    assert picking(opened(CHOICES, STORED), input=keys, output=DummyOutput()).run() == Discarded()


# ---- what is shown -----------------------------------------------------------------------------


def after(*keys: Key, stored: Chosen = STORED) -> Picker:
    picker = opened(CHOICES, stored)
    for key in keys:
        found = pressed(picker, key)
        assert isinstance(found, Picker)
        picker = found
    return picker


def test_a_row_has_the_model_its_adapter_and_its_window() -> None:
    rows = text(shown.row_lines(after("down"), 80)).split("\n")
    assert rows[0].split() == ["·", "claude-opus-4-8", "anthropic-payg", "1M"]
    assert rows[1].split() == [">", "claude-sonnet-4-5", "anthropic-payg", "200k"]
    assert rows[3].split(maxsplit=1) == ["glm-5.3", "(glm-payg has no key: set ZAI_API_KEY)"]


def test_only_supported_words_are_shown_and_none_where_there_is_no_control() -> None:
    assert text(shown.effort_line(after())).split() == ["effort", "low", "medium", "[high]", "xhigh", "max"]
    assert text(shown.effort_line(after("down"))) == (
        "this model has no effort control: none is sent to it, and the stored one is kept"
    )
    assert text(shown.effort_line(after("down", stored=Chosen("claude-opus-4-8")))) == ""
    assert text(shown.effort_line(after("up"))).split() == ["effort", "low", "[high]", "max"]


def test_the_reason_is_shown_as_long_as_enter_is_blocked() -> None:
    assert text(shown.reason_line(after())) == ""
    assert text(shown.reason_line(after("right", "down"))) == (
        "blocked: claude-sonnet-4-5 takes no effort; leave it out. Backspace leaves the effort out"
    )
    assert text(shown.reason_line(after("up"))) == ("blocked: glm-5.3 cannot be used: glm-payg has no key: set ZAI_API_KEY")


def test_what_is_staged_is_marked() -> None:
    staged = after("down", "down", "space")
    assert text(shown.roles_line(staged)).split() == ["[primary*]", "reflection", "summary"]
    assert text(shown.row_lines(staged, 80)).split("\n")[2].startswith(">* gpt-5.2")


def test_a_role_that_inherits_says_so() -> None:
    assert text(shown.effort_line(after("tab"))) == "effort high, as the primary model"
    assert text(shown.effort_line(after("tab", "down", "down"))).startswith("this model has no effort control")


@pytest.mark.parametrize("width", [1, 10, 20, 40, 80, 200])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    rows = text(shown.row_lines(after("down"), width)).split("\n")
    assert len(rows) == len(CHOICES)
    assert all(len(row) <= width for row in rows)


def test_nothing_calls_words_of_two_models_equal() -> None:
    """Only the words themselves are shown: no bar, no number, no share of a whole."""
    for picker in (after(), after("up"), after("tab", "down")):
        everything = text(shown.effort_line(picker)) + text(shown.row_lines(picker, 200))
        assert not any(word in everything for word in ("%", "equal", "same as", "▮", "█"))


def test_a_name_cannot_move_the_cursor_of_the_terminal() -> None:
    hostile = opened((ModelChoice("a\x1b[2Jb", note="n\nm"),), Chosen())
    shown_rows = text(shown.row_lines(hostile, 80))
    assert shown_rows.isprintable()
