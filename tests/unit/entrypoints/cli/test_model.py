"""`geode model`: what it stores, what it refuses, and the picker in a real terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from geode.entrypoints.cli.main import main
from geode.entrypoints.cli.model_settings import choices
from tests.unit.entrypoints.cli.screens import CTRL_C, DOWN, ENTER, ESCAPE, RIGHT, TAB, UP, on_a_screen

Ran = tuple[int, str, str]
KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
WRITTEN = """\
# What I use.
effort = "high"   # not too much

model = 'claude-opus-4-8' # the best

[sources]
openai = "payg" # ours
"""


@pytest.fixture
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user folder, with a config.toml, and keys in the environment."""
    home = project / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GEODE_HOME", str(home))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    (home / "config.toml").write_text(WRITTEN, "utf-8")
    return home


@pytest.fixture
def model(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def model(*arguments: str) -> Ran:
        code = main(["model", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return model


def variables(home: Path) -> dict[str, str]:
    return {"GEODE_HOME": str(home), **KEYS}


def config(home: Path) -> str:
    return (home / "config.toml").read_text("utf-8")


# ---- without the picker ------------------------------------------------------------------------


def test_a_model_is_stored_and_everything_else_stays(model: Callable[..., Ran], home: Path) -> None:
    assert model("gpt-5.2") == (0, f"model is gpt-5.2 in {home}/config.toml\n", "")
    assert config(home) == WRITTEN.replace("'claude-opus-4-8'", '"gpt-5.2"')


def test_several_settings_are_stored_at_once(model: Callable[..., Ran], home: Path) -> None:
    code, out, _ = model("gpt-5.2", "--effort", "xhigh")
    assert (code, out) == (0, f"model is gpt-5.2 in {home}/config.toml\neffort is xhigh in {home}/config.toml\n")
    assert config(home) == WRITTEN.replace("'claude-opus-4-8'", '"gpt-5.2"').replace('"high"', '"xhigh"')


def test_a_new_setting_comes_before_the_tables(model: Callable[..., Ran], home: Path) -> None:
    assert model("gpt-5.2", "--role", "summary")[0] == 0
    head, _, tables = config(home).partition("[sources]")
    assert 'summary_model = "gpt-5.2"' in head
    assert tables == '\nopenai = "payg" # ours\n'


def test_the_effort_can_be_left_out(model: Callable[..., Ran], home: Path) -> None:
    assert model("claude-opus-4-8", "--no-effort") == (0, f"effort is set no more in {home}/config.toml\n", "")
    assert "effort" not in config(home)


def test_the_project_has_a_file_of_its_own(model: Callable[..., Ran], home: Path, project: Path) -> None:
    assert model("gpt-5.2", "--project")[0] == 0
    assert (project / ".geode" / "config.toml").read_text("utf-8") == 'model = "gpt-5.2"\n'
    assert config(home) == WRITTEN


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gpt-5-pro"], 'gpt-5-pro takes no effort "high"; it takes'),
        (["claude-opus-4-6", "--effort", "xhigh"], 'claude-opus-4-6 takes no effort "xhigh"; it takes low, medium, high, max'),
        (["claude-sonnet-4-5", "--effort", "low"], "claude-sonnet-4-5 takes no effort; leave it out"),
        (["claude-sonnet-4-5", "--effort", "high"], "claude-sonnet-4-5 takes no effort"),
        (["glm-5", "--role", "reflection"], "glm-5 cannot be used: glm-payg has no key: set ZAI_API_KEY"),
        (["nonesuch"], 'nonesuch cannot be used: no provider serves the model "nonesuch"'),
        (["gpt-5.2", "--role", "summary", "--effort", "low"], "--effort is that of the primary model"),
        (["--role", "summary"], "--role, --effort and --no-effort say nothing without a model"),
        (["--list"], "geode models lists them"),
        ([], "here is none: geode model ID [--effort WORD]"),
    ],
)
def test_what_is_refused_is_told_and_nothing_is_stored(
    model: Callable[..., Ran], home: Path, arguments: list[str], said: str
) -> None:
    if arguments == ["gpt-5-pro"]:
        (home / "config.toml").write_text(WRITTEN.replace('"high"', '"low"'), "utf-8")
        said = said.replace("high", "low")
    before = config(home)
    code, out, err = model(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert config(home) == before


def test_a_stored_effort_is_kept_beside_a_model_without_effort_control(model: Callable[..., Ran], home: Path) -> None:
    assert model("claude-sonnet-4-5")[0] == 0
    assert config(home) == WRITTEN.replace("'claude-opus-4-8'", '"claude-sonnet-4-5"')


def test_a_pair_is_checked_in_both_directions(model: Callable[..., Ran], home: Path) -> None:
    assert model("claude-opus-4-8", "--effort", "max")[0] == 0
    code, _, err = model("gpt-5.2", "--role", "reflection")
    assert (code, 'gpt-5.2 would inherit the effort "max" of claude-opus-4-8; it takes none, low' in err) == (2, True)
    assert model("claude-opus-4-8", "--effort", "high")[0] == 0
    assert model("gpt-5.2", "--role", "reflection")[0] == 0
    code, _, err = model("claude-opus-4-8", "--effort", "max")
    assert (code, 'reflection model: gpt-5.2 would inherit the effort "max"' in err) == (2, True)
    assert 'effort = "high"' in config(home)


def test_what_hides_the_new_value_is_told(
    model: Callable[..., Ran], home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEODE_MODEL", "claude-opus-4-7")
    code, out, _ = model("gpt-5.2")
    assert code == 0
    assert "GEODE_MODEL in the process environment says claude-opus-4-7, and wins" in out


def test_a_broken_file_is_told_with_its_line_and_stays(model: Callable[..., Ran], home: Path) -> None:
    (home / "config.toml").write_text("model = \n", "utf-8")
    code, _, err = model("gpt-5.2")
    assert code == 2
    assert f"{home}/config.toml:1" in err
    assert config(home) == "model = \n"


# ---- the picker, in a real terminal ------------------------------------------------------------


def test_the_picker_stores_what_is_picked(home: Path, project: Path) -> None:
    with on_a_screen("model", cwd=project, env=variables(home)) as (screen, process):
        screen.sees("[primary]", ">· claude-opus-4-8", "[high]", "Esc change nothing")
        assert len(screen.lines) <= 24
        screen.types(RIGHT)
        screen.sees("[xhigh]")
        screen.types(" " + TAB)
        screen.sees(" primary* ", "[reflection]", ">· the primary model", "effort xhigh, as the primary model")
        screen.types(UP)
        screen.loses(">· the primary model")
        screen.types(DOWN + DOWN + ENTER)
        assert screen.ended(process) == 0
        assert "effort is xhigh" in screen.text
        assert "[primary]" not in screen.text, "the picker leaves nothing behind"
    assert 'effort = "xhigh"   # not too much' in config(home)
    assert 'reflection_model = "' in config(home)


def test_enter_is_blocked_and_says_why(home: Path, project: Path) -> None:
    (home / "config.toml").write_text('model = "claude-opus-4-8"\neffort = "xhigh"\n', "utf-8")
    with on_a_screen("model", cwd=project, env=variables(home)) as (screen, process):
        screen.sees("[xhigh]")
        screen.types(UP * 2 + " " + ENTER)
        screen.sees('blocked: claude-sonnet-4-6 takes no effort "xhigh"')
        screen.types(RIGHT)
        screen.sees("[max]")
        screen.loses("blocked")
        screen.types(ENTER)
        assert screen.ended(process) == 0
    assert config(home) == 'model = "claude-sonnet-4-6"\neffort = "max"\n'


@pytest.mark.parametrize("leave", [ESCAPE, "q", CTRL_C])
def test_leaving_changes_nothing(home: Path, project: Path, leave: str) -> None:
    with on_a_screen("model", cwd=project, env=variables(home)) as (screen, process):
        screen.sees("[primary]")
        screen.types(RIGHT + " " + DOWN + " ")
        screen.sees("[primary*]")
        screen.types(leave)
        assert screen.ended(process) == 0
        assert "nothing changed" in screen.text
    assert config(home) == WRITTEN


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 10), (20, 8)])
def test_a_small_terminal_scrolls_to_the_cursor(home: Path, project: Path, columns: int, lines: int) -> None:
    with on_a_screen("model", cwd=project, columns=columns, lines=lines, env=variables(home)) as (screen, process):
        screen.sees(">· claude-")
        ids = [choice.id for choice in choices()]
        screen.types(UP * ids.index("claude-opus-4-8"))
        screen.sees(f">  {ids[0][:9]}")
        screen.types(UP)
        screen.sees(f">  {ids[-1][:9]}")
        screen.types("q")
        assert screen.ended(process) == 0


def test_what_cannot_be_used_is_told_in_words_of_a_terminal(home: Path) -> None:
    told = next(choice.unusable for choice in choices() if choice.adapter == "glm-payg")
    assert "set ZAI_API_KEY. Looked in" in told
    assert "session(" not in told
