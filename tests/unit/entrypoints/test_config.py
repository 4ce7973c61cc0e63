"""The configuration of a moment: every place, the order of the layers, and what is told of a broken file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.configuration import KEYS, LAYERS, Found
from geode.domain.errors import Misuse
from geode.entrypoints import places as of_user
from geode.entrypoints.cli.main import main
from geode.testing import ScriptedModel, default_model, says
from tests.unit.entrypoints.places import LAYER_OF, PLACES, PlaceName, Places, new_places

UNTYPED: Any = geode


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return new_places(tmp_path, monkeypatch)


# ---- the order ---------------------------------------------------------------------------------


def test_nothing_is_configured_where_nothing_is_written(places: Places) -> None:
    configuration = places.configuration()
    for key in KEYS:
        shipped = "payg" if key.name.startswith("sources.") else None
        assert configuration.value(key.name) == shipped
        assert [one.layer for one in configuration.explained(key.name).candidates] == list(LAYERS)


@pytest.mark.parametrize("key", [key.name for key in KEYS if key.path[1:] == ()])
@pytest.mark.parametrize("place", PLACES)
def test_each_place_can_say_each_key(places: Places, place: PlaceName, key: str) -> None:
    told = places.say(place, "something", key)
    assert places.configuration().found(key) == Found("something", told)


@pytest.mark.parametrize("place", PLACES)
def test_sources_are_said_in_a_table(places: Places, place: PlaceName) -> None:
    if place in ("project", "global"):
        places.write(place, "[sources]\n# a comment\nopenai = 'oauth'\n")
        told = f"{places.files()[place]}:3:1"
    else:
        told = places.say(place, "oauth", "sources.openai")
    assert places.configuration().found("sources.openai") == Found("oauth", told)
    assert places.configuration().value("sources.anthropic") == "payg"


@pytest.mark.parametrize(("strong", "weak"), [*combinations(PLACES, 2)])
def test_the_stronger_of_two_places_wins(places: Places, strong: PlaceName, weak: PlaceName) -> None:
    hidden = places.say(weak, "weak")
    told = places.say(strong, "strong")
    explained = places.configuration().explained("model")
    assert explained.winner is not None
    assert (explained.winner.layer, explained.winner.place, explained.winner.value) == (LAYER_OF[strong], told, "strong")
    assert [(one.layer, one.place, one.value) for one in explained.hidden] == [(LAYER_OF[weak], hidden, "weak")]


def test_all_places_at_once_hide_each_other_in_order(places: Places) -> None:
    for place in PLACES:
        places.say(place, place)
    explained = places.configuration().explained("model")
    assert [one.value for one in explained.candidates] == list(PLACES)


@pytest.mark.parametrize("place", ["command line", "process", ".env", "home .env", "routing"])
@pytest.mark.parametrize("nothing", ["", " "])
def test_an_empty_value_hides_nothing(places: Places, place: PlaceName, nothing: str) -> None:
    others: list[PlaceName] = [other for other in PLACES if other != place]
    for other in others:
        places.say(other, other)
    places.say(place, nothing)
    assert places.configuration().value("model") == others[0]


# ---- where the files are -----------------------------------------------------------------------


@pytest.mark.parametrize(("variable", "folder"), [("", "~/.geode"), ("  ", "~/.geode"), ("~/other", "~/other"), ("rel", "rel")])
def test_the_user_folder(places: Places, variable: str, folder: str) -> None:
    places.monkeypatch.setenv("HOME", str(places.home))
    places.monkeypatch.setenv(of_user.HOME, variable)
    assert of_user.user_folder() == Path(folder.replace("~", str(places.home)))


def test_in_the_home_folder_the_projects_file_is_the_users(places: Places) -> None:
    """`.geode` there is `~/.geode`: what it says is said once."""
    places.monkeypatch.setenv(of_user.HOME, str(Path.cwd() / ".geode"))
    places.write("project", "model = 'm'\n")
    explained = places.configuration().explained("model")
    assert explained.winner is not None
    assert explained.winner.layer == "global config.toml"
    assert explained.hidden == ()


def test_a_working_directory_that_is_gone_has_no_project(places: Places) -> None:
    gone = Path.cwd() / "gone"
    gone.mkdir()
    places.monkeypatch.chdir(gone)
    gone.rmdir()
    places.say("global", "m")
    assert places.configuration().value("model") == "m"


def test_importing_reads_nothing(places: Places) -> None:
    places.write("global", "broken")
    done = subprocess.run([sys.executable, "-c", "import geode; geode.session"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---- broken files ------------------------------------------------------------------------------

BROKEN = [
    ("model = gpt\n", "config-file", "1:9: this is no TOML: "),
    ("# one\nmodle = 'm'\n", "config-key", '2:1: there is no setting "modle"; did you mean model?'),
    ("[sources]\nopneai = 'x'\n", "config-key", '2:1: there is no setting "sources.opneai"; did you mean sources.openai?'),
    ("journal = 'j'\n\n  model = 5\n", "config-value", "3:3: model must be text in quotes, got a whole number"),
    ("effort = ['low',\n'high']\n", "config-value", "1:1: effort must be text in quotes, got a list"),
    ("model = ''\n", "config-value", "1:1: model is empty: give it a value, or take it out"),
    ("sources = 'payg'\n", "config-value", "1:1: sources must be a table, got text"),
    (b"model = '\xff'\n", "config-file", "1:10: this is not UTF-8"),
]
ENV_BROKEN = ("A=1\n\nno variable=\n", "env-file", "3: this line cannot be read: write NAME=value")
EVERY_WAY = [
    *[(place, *broken) for broken in BROKEN for place in ("project", "global")],
    *[(place, *ENV_BROKEN) for place in (".env", "home .env")],
]


def by_session() -> None:
    UNTYPED.session()


def by_session_with_a_model() -> None:
    UNTYPED.session(model="gpt-5.2")


def by_runtime() -> None:
    UNTYPED.Runtime()


@pytest.mark.parametrize(("place", "text", "id", "said"), EVERY_WAY)
@pytest.mark.parametrize("way", [by_session, by_session_with_a_model, by_runtime])
def test_a_broken_file_is_told_by_a_session(
    places: Places, way: Callable[[], None], place: str, text: str, id: str, said: str
) -> None:
    path = places.write(place, text)
    with pytest.raises(Misuse) as caught:
        way()
    assert caught.value.id == id
    assert str(caught.value).startswith(f"{path}:{said}")


@pytest.mark.parametrize(("place", "text", "id", "said"), EVERY_WAY)
@pytest.mark.parametrize("options", [["run", "Hi"], ["run", "Hi", "--model", "gpt-5.2"], ["runs", "list"]])
def test_a_broken_file_is_told_on_the_command_line(
    places: Places, capsys: pytest.CaptureFixture[str], options: list[str], place: str, text: str, id: str, said: str
) -> None:
    path = places.write(place, text)
    assert main(options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"geode {options[0]}: {path}:{said}")
    assert err.endswith(f" [{id}]\n")


def test_a_model_of_a_program_needs_no_configuration(places: Places) -> None:
    places.write("global", "broken")
    geode.session(model=ScriptedModel())
    with default_model(ScriptedModel()):
        geode.session()


# ---- what is configured is used ----------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES[1:])
def test_a_session_takes_the_configured_model_and_tells_where_a_wrong_one_is_written(places: Places, place: PlaceName) -> None:
    told = places.say(place, "nobodys-model")
    with pytest.raises(Misuse) as caught:
        geode.session()
    assert caught.value.id == "unknown-model"
    assert str(caught.value).startswith('no provider serves the model "nobodys-model"')
    assert str(caught.value).endswith(f"; model nobodys-model comes from {told} [unknown-model]")
    with pytest.raises(Misuse, match='no provider serves the model "given"') as caught:
        geode.session(model="given")
    assert "comes from" not in str(caught.value)


def test_no_model_names_every_place(places: Places) -> None:
    with pytest.raises(Misuse) as caught:
        geode.session(model="")
    files = places.files()
    routing = places.home / "routing.toml"
    assert str(caught.value) == (
        "no model is named: give model=…, or set GEODE_MODEL, or geode config set model ID. Looked in: process environment, "
        f"{files['.env']}, {files['home .env']}, {files['project']}, {files['global']}, {routing} [no-model]"
    )


@pytest.mark.parametrize("place", PLACES[1:])
def test_the_command_line_takes_the_configured_model_also_for_another_address(
    places: Places, capsys: pytest.CaptureFixture[str], place: PlaceName
) -> None:
    places.say(place, "nobodys-model")
    for options in ([], ["--base-url", "http://127.0.0.1:1"]):
        assert main(["run", "Hi", *options]) == 2
        assert 'no provider serves the model "nobodys-model"' in capsys.readouterr().err


@pytest.mark.parametrize("place", PLACES[1:])
def test_the_configured_journal_keeps_runs_and_finds_them(
    places: Places, capsys: pytest.CaptureFixture[str], place: PlaceName
) -> None:
    places.monkeypatch.setenv("HOME", str(places.home))
    places.say(place, "~/kept", "journal")
    with default_model(ScriptedModel(says("Hello."))):
        assert main(["run", "Hi"]) == 0
    assert len(list((places.home / "kept").iterdir())) > 0
    assert main(["runs", "list"]) == 0
    assert "answered" in capsys.readouterr().out
