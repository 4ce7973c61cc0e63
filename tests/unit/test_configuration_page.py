"""`docs/configuration.md`: its tables are the declarations, and what it shows is what geode prints."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from geode.domain.configuration import KEYS, values_in
from geode.domain.errors import Misuse
from geode.entrypoints.cli.main import main
from geode.entrypoints.config import configuration
from tests.unit.entrypoints.places import Places, new_places

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return new_places(tmp_path, monkeypatch)


def section(heading: str) -> str:
    return PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]


def block(text: str, language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert isinstance(found, str)
    return found


def test_the_table_of_settings_is_the_declaration() -> None:
    table = [line for line in section("The settings").splitlines() if line.startswith("| `")]
    assert table == [f"| `{key.name}` | `{key.variable}` | {key.type} | {key.meaning} |" for key in KEYS]


def test_the_example_of_a_config_toml_is_one() -> None:
    values, problems = values_in(tomllib.loads(block(section("Where they are said"), "toml")))
    assert values == {"model": "claude-sonnet-4-5", "effort": "high", "sources.openai": "payg"}
    assert problems == ()


def test_the_example_of_an_env_file_is_one(places: Places) -> None:
    places.write(".env", block(section("Where they are said"), "dotenv"))
    assert configuration().value("model") == "gpt-5.2"
    assert configuration().environment.find("OPENAI_API_KEY") is not None


def test_the_commands_do_what_the_page_shows(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    """In its order; what is shown below a command is what it prints."""
    console = block(section("Setting them"), "console")
    commands = re.findall(r"^\$ geode ([^#\n]*)[^\n]*\n((?:[^$\n][^\n]*\n)*)", console, re.MULTILINE)
    assert len(commands) == 6
    for command, printed in commands:
        assert main(command.split()) == 0
        out = capsys.readouterr().out
        assert out == printed or not printed
    assert configuration().value("model") == "claude-sonnet-4-5"


def test_what_explain_shows_is_what_the_page_shows(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    places.say("process", "gpt-5.2")
    places.write("global", "model = 'claude-sonnet-4-5'\n")
    assert main(["config", "explain", "model"]) == 0
    shown = block(section("Which one wins, and why"), "console").partition("explain model\n")[2]
    assert _cells(capsys.readouterr().out.replace(str(places.home), "~/.geode")) == _cells(shown)


def _cells(text: str) -> list[list[str]]:
    """Without the padding, which depends on how long the places are."""
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


@pytest.mark.parametrize(
    ("place", "text", "name"),
    [
        ("global", "# mine\nmodle = 'm'\n", "~/.geode/config.toml"),
        ("project", "model = gpt\n", ".geode/config.toml"),
        (".env", "A=1\n\ntwo words\n", ".env"),
    ],
)
def test_broken_files_are_told_as_the_page_says(places: Places, place: str, text: str, name: str) -> None:
    path = places.write(place, text)
    with pytest.raises(Misuse) as caught:
        configuration()
    told = str(caught.value).replace(str(path), name)
    assert told in section("When a file is broken").splitlines()
