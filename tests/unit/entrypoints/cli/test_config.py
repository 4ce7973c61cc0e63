"""`geode config` and `geode about`: what they print, what they write, and what they refuse."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from geode import __version__
from geode.domain.configuration import KEYS, LAYERS, Key
from geode.entrypoints.cli.main import main
from geode.entrypoints.places import HOME
from geode.entrypoints.routes.registry import forget_adapters
from tests.unit.entrypoints.places import LAYER_OF, PLACES, PlaceName, Places, new_places

Geode = Callable[..., tuple[int, str, str]]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return new_places(tmp_path, monkeypatch)


@pytest.fixture
def geode(places: Places, capsys: pytest.CaptureFixture[str]) -> Geode:
    def geode(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as ended:  # the grammar's own way out
            code = int(str(ended.code))
        out, err = capsys.readouterr()
        return code, out, err

    return geode


def options(place: PlaceName, value: str) -> list[str]:
    return ["--model", value] if place == "command line" else []


def rows(out: str) -> list[list[str]]:
    """The table of `explain`: the cells of each row."""
    lines = out.splitlines()
    head = next(line for line in lines if line.startswith("LAYER"))
    starts = [head.index(word) for word in ("LAYER", "VALUE", "PLACE")]
    table = lines[lines.index(head) + 1 : -2]
    cells = [[line[starts[0] : starts[1]], line[starts[1] : starts[2]], line[starts[2] :]] for line in table]
    return [[cell.strip() for cell in (*row[:2], *row[2].rsplit("  ", 1))] for row in cells]


# ---- explain -----------------------------------------------------------------------------------


def test_five_layers_are_shown_where_nothing_is_set(geode: Geode, places: Places) -> None:
    code, out, err = geode("config", "explain", "model")
    assert (code, err) == (0, "")
    assert rows(out) == [
        ["command line", "-", "-"],
        ["environment", "-", "GEODE_MODEL"],
        ["project config.toml", "-", ".geode/config.toml"],
        ["global config.toml", "-", str(places.home / "config.toml")],
        ["routing.toml", "-", str(places.home / "routing.toml")],
    ]
    assert out.splitlines()[0].split() == ["setting", "model", "the", "model", "of", "runs", "that", "name", "none"]
    assert out.splitlines()[3].split() == ["value", "-", "nothing", "sets", "it"]
    assert out.splitlines()[-1] == "nothing is hidden"


@pytest.mark.parametrize(("strong", "weak"), [*combinations(PLACES, 2)])
def test_explain_shows_which_of_two_wins(geode: Geode, places: Places, strong: PlaceName, weak: PlaceName) -> None:
    hidden, told = places.say(weak, "weak"), places.say(strong, "strong")
    code, out, _ = geode("config", "explain", "model", *options(strong, "strong"))
    assert code == 0
    table = rows(out)
    assert [row for row in table if len(row) > 3] == [
        [LAYER_OF[strong], "strong", told, "WINNER"],
        [LAYER_OF[weak], "weak", hidden, "HIDDEN"],
    ]
    assert [row[0] for row in table] == [layer for layer in LAYERS for row in table if row[0] == layer]
    assert {row[0] for row in table} == set(LAYERS)
    assert "value     strong" in out
    assert out.splitlines()[-1] == "1 value is hidden"


def test_explain_shows_everything_that_is_hidden(geode: Geode, places: Places) -> None:
    told = [places.say(place, place.upper()) for place in PLACES]
    _, out, _ = geode("config", "explain", "model", "--model", "COMMAND LINE")
    assert rows(out) == [
        [LAYER_OF[place], place.upper(), where, "HIDDEN" if place != "command line" else "WINNER"]
        for place, where in zip(PLACES, told, strict=True)
    ]
    assert out.splitlines()[-1] == "6 values are hidden"


def test_an_empty_variable_is_shown_and_hides_nothing(geode: Geode, places: Places) -> None:
    places.say("process", "")
    places.say(".env", "")
    where = places.say("project", "m")
    _, out, _ = geode("config", "explain", "model")
    assert rows(out)[1:4] == [
        ["environment", "-", "GEODE_MODEL in the process environment, empty"],
        ["environment", "-", "GEODE_MODEL in .env:2, empty"],
        ["project config.toml", "m", where, "WINNER"],
    ]
    assert out.splitlines()[-1] == "nothing is hidden"


def test_explain_as_json(geode: Geode, places: Places) -> None:
    places.say("global", "weak")
    where = places.say("process", "strong")
    _, out, _ = geode("config", "explain", "model", "--json")
    said = json.loads(out)
    assert {name: said[name] for name in ("key", "variable", "type", "value", "place", "hidden")} == {
        "key": "model",
        "variable": "GEODE_MODEL",
        "type": "model id",
        "value": "strong",
        "place": where,
        "hidden": 1,
    }
    assert [(one["layer"], one["value"], one["state"]) for one in said["candidates"]] == [
        ("command line", None, None),
        ("environment", "strong", "winner"),
        ("project config.toml", None, None),
        ("global config.toml", "weak", "hidden"),
        ("routing.toml", None, None),
    ]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_key_is_explained(geode: Geode, key: Key) -> None:
    code, out, _ = geode("config", "explain", key.name)
    assert code == 0
    assert key.variable in out
    assert key.meaning in out


def test_what_a_terminal_would_obey_is_not_printed(geode: Geode, places: Places) -> None:
    places.say("process", "\x1b[2Jm")
    for command in (("config", "explain", "model"), ("config", "get", "model"), ("about",)):
        _, out, _ = geode(*command)
        assert "\x1b" not in out
        assert "\\u001b[2Jm" in out


# ---- get, set, unset ---------------------------------------------------------------------------


@pytest.mark.parametrize("place", PLACES[1:])
def test_get_prints_what_is_in_force(geode: Geode, places: Places, place: PlaceName) -> None:
    where = places.say(place, "m")
    assert geode("config", "get", "model") == (0, "m\n", "")
    assert json.loads(geode("config", "get", "model", "--json")[1]) == {"key": "model", "value": "m", "place": where}


def test_get_has_a_code_of_its_own_for_nothing(geode: Geode) -> None:
    code, out, err = geode("config", "get", "model")
    assert (code, out) == (1, "")
    assert err == "geode config: nothing sets model; geode config explain model says where it could be set\n"
    code, out, _ = geode("config", "get", "model", "--json")
    assert (code, json.loads(out)) == (1, {"key": "model", "value": None, "place": None})


@pytest.mark.parametrize(("option", "place"), [([], "global"), (["--project"], "project")])
def test_set_and_unset_change_one_value_and_nothing_else(geode: Geode, places: Places, option: list[str], place: str) -> None:
    path = places.write(place, "# mine\neffort = 'low'  # why\n")
    assert geode("config", "set", "model", "gpt-5.2", *option) == (0, f"model is gpt-5.2 in {path}\n", "")
    assert path.read_text() == "# mine\neffort = 'low'  # why\nmodel = \"gpt-5.2\"\n"
    assert geode("config", "get", "model")[1] == "gpt-5.2\n"
    assert geode("config", "unset", "model", *option) == (0, f"model is set no more in {path}\n", "")
    assert path.read_text() == "# mine\neffort = 'low'  # why\n"
    assert geode("config", "unset", "model", *option) == (0, f"model was not set in {path}\n", "")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
@pytest.mark.parametrize("option", [[], ["--project"]])
def test_every_key_can_be_set_where_there_is_no_file_yet(geode: Geode, places: Places, key: Key, option: list[str]) -> None:
    path = places.files()["project" if option else "global"]
    value = "payg" if key.name.startswith("sources") else "gpt-5.2"
    assert geode("config", "set", key.name, f" {value} ", *option)[0] == 0
    values: Any = tomllib.loads(path.read_text())
    for word in key.path:
        values = values[word]
    assert values == value
    assert geode("config", "get", key.name)[1] == f"{value}\n"


@pytest.mark.parametrize("place", ["process", ".env", "home .env", "project"])
def test_set_warns_of_what_hides_it(geode: Geode, places: Places, place: PlaceName) -> None:
    where = places.say(place, "glm-5")
    code, out, err = geode("config", "set", "model", "gpt-5.2")
    assert (code, out) == (0, f"model is gpt-5.2 in {places.home / 'config.toml'}\n")
    wins = f"{where} says glm-5, and wins; see geode config explain model"
    assert err == f"geode config: this has no effect here: {wins}\n"
    said = json.loads(geode("config", "set", "model", "gpt-5.2", "--json")[1])
    assert said["hidden_by"] == {"layer": LAYER_OF[place], "place": where, "value": "glm-5"}
    assert said["changed"] is False


def test_set_of_the_project_hides_and_is_not_hidden(geode: Geode, places: Places) -> None:
    places.say("global", "glm-5")
    assert geode("config", "set", "model", "gpt-5.2", "--project")[2] == ""


def test_unset_tells_what_is_in_force_then(geode: Geode, places: Places) -> None:
    where = places.say("global", "glm-5")
    places.say("project", "gpt-5.2")
    code, _, err = geode("config", "unset", "model", "--project")
    assert (code, err) == (0, f"geode config: {where} still says glm-5\n")


def test_in_the_home_folder_the_projects_file_is_the_users(geode: Geode, places: Places) -> None:
    places.monkeypatch.setenv(HOME, str(Path.cwd() / ".geode"))
    assert geode("config", "set", "model", "gpt-5.2", "--project")[2] == ""
    assert places.files()["project"].stat().st_mode & 0o777 == 0o600


# ---- refusals ----------------------------------------------------------------------------------

UNKNOWN = 'there is no setting "modle"; did you mean model? [config-key]\n'


@pytest.mark.parametrize("action", [["get", "modle"], ["set", "modle", "x"], ["unset", "modle"], ["explain", "modle"]])
def test_an_unknown_key_is_wrong_use(geode: Geode, places: Places, action: list[str]) -> None:
    assert geode("config", *action) == (2, "", f"geode config: {UNKNOWN}")
    assert list(places.home.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("model", "", "model is empty: give it a value, or take it out (geode config unset model) [config-value]"),
        ("effort", "  ", "effort is empty"),
        ("effort", "a\nb", "effort has a line break in it, or another character that cannot be seen [config-value]"),
        ("journal", "\udcff", "journal has a line break in it, or another character"),
        ("model", "nobodys", 'no provider serves the model "nobodys"'),
        ("reflection_model", "nobodys", 'no provider serves the model "nobodys"'),
        ("summary_model", "nobodys", 'no provider serves the model "nobodys"'),
        ("sources.openai", "cash", "openai has no such credential source. It has: payg"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_before_it_is_written(
    geode: Geode, places: Places, key: str, value: str, said: str
) -> None:
    code, out, err = geode("config", "set", key, value)
    assert (code, out) == (2, "")
    assert said in err
    assert list(places.home.iterdir()) == []


# What the models take is of the shipped routing.toml: of no effort, of some, and of nothing known.
FREE, SOME, UNKNOWN_EFFORTS = "glm-4.7", "claude-opus-4-5", "glm-5-turbo"


@pytest.mark.parametrize("name", ["model", "reflection_model", "summary_model"])
def test_a_model_and_an_effort_that_it_does_not_take_are_not_set_together(geode: Geode, places: Places, name: str) -> None:
    refused = f'model {SOME} takes no effort "max"; it takes low, medium, high; '
    where = places.say("process", "max", "effort")
    code, _, err = geode("config", "set", name, SOME)
    assert (code, err) == (2, f"geode config: {refused}the effort comes from {where} [effort]\n")
    places.monkeypatch.delenv("GEODE_EFFORT")
    where = places.say("process", SOME, name)
    code, _, err = geode("config", "set", "effort", "max")
    assert (code, err) == (2, f"geode config: {refused}{name} comes from {where} [effort]\n")
    assert list(places.home.iterdir()) == []


@pytest.mark.parametrize(("model", "effort"), [(SOME, "high"), (FREE, "max"), (UNKNOWN_EFFORTS, "max"), ("nobodys", "max")])
def test_a_pair_that_nothing_speaks_against_is_set(geode: Geode, places: Places, model: str, effort: str) -> None:
    places.say("process", model)
    assert geode("config", "set", "effort", effort)[0] == 0
    if model != "nobodys":
        assert geode("config", "set", "model", model)[0] == 0


BROKEN = [
    ("model = gpt\n", "1:9: this is no TOML: "),
    ("modle = 'm'\n", '1:1: there is no setting "modle"; did you mean model?'),
    ("\neffort = 5\n", "2:1: effort must be text in quotes, got a whole number"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
@pytest.mark.parametrize("place", ["project", "global"])
@pytest.mark.parametrize(
    "command",
    [
        ("config", "get", "model"),
        ("config", "set", "model", "gpt-5"),
        ("config", "set", "model", "gpt-5", "--project"),
        ("config", "unset", "model"),
        ("config", "explain", "model"),
        ("about",),
    ],
)
def test_a_broken_file_is_told_with_its_place_and_stays_as_it_is(
    geode: Geode, places: Places, command: tuple[str, ...], place: str, text: str, said: str
) -> None:
    path = places.write(place, text)
    code, out, err = geode(*command)
    assert (code, out) == (2, "")
    assert err.startswith(f"geode {command[0]}: {path}:{said}")
    assert path.read_text() == text
    assert len([*places.home.rglob("*"), *Path().rglob("*.toml")]) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("models", "nope"),
        ("config", "set", "model", "nope"),
        ("run", "Hi", "--model", "openai/gpt-5.2", "--fallback", "nope"),
    ],
)
def test_the_way_out_for_an_unknown_model_is_one_that_the_command_has(
    geode: Geode, places: Places, command: tuple[str, ...]
) -> None:
    places.monkeypatch.setenv("OPENAI_API_KEY", "k")
    code, _, err = geode(*command)
    way_out = f"For a server of your own: [providers.NAME] in {places.home / 'routing.toml'}, and NAME/MODEL as the id"
    assert (code, err.splitlines()[1:], "--base-url" in err) == (2, [way_out], False)


def cells(out: str) -> dict[str, str]:
    """What `geode models ID` prints, by the names of its lines."""
    return {name: rest.strip() for name, _, rest in (line.partition("  ") for line in out.splitlines())}


@pytest.fixture
def new_registry() -> Iterator[None]:
    """What files say of routing is read once in a process."""
    forget_adapters()
    yield
    forget_adapters()


@pytest.mark.usefixtures("new_registry")
def test_one_model_is_told_with_the_row_that_applies(geode: Geode, places: Places) -> None:
    """Exit code 0 for what can be asked, whether or not a row is written for it."""
    (places.home / "routing.toml").write_text(
        '[providers.vllm]\nbase_url = "http://127.0.0.1:8000/v1"\n[models."vllm/"]\nwindow = 32768\n'
        '[models."vllm/big"]\nwindow = 65536\n[providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    for id, row, window in (
        ("vllm/qwen3-8b", "vllm/…", "32,768"),
        ("vllm/big", "vllm/big…", "65,536"),
        ("lab/x", "none: nothing is assumed of it", "?"),
    ):
        code, out, err = geode("models", id)
        assert (code, err, cells(out)["row"], cells(out)["window"]) == (0, "", row, window)


def test_a_model_that_cannot_be_asked_has_a_code_of_its_own(geode: Geode, places: Places) -> None:
    places.monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, out, err = geode("models", "gpt-5.2")
    assert (code, cells(out)["address"], "has no key" in err) == (1, "https://api.openai.com/v1", True)


def test_no_address_is_told_that_is_not_asked(geode: Geode, places: Places) -> None:
    places.monkeypatch.setenv("OPENAI_API_KEY", "k")
    places.monkeypatch.setenv("OPENAI_BASE_URL", "ftp:nothing")
    code, out, err = geode("models", "gpt-5.2")
    assert (code, cells(out)["address"], "OPENAI_BASE_URL" in err) == (1, "-", True)
    _, out, err = geode("adapters")
    assert "https://api.openai.com/v1" not in out
    assert err.startswith("geode adapters: openai-payg cannot be asked: base_url must be ")
    told = json.loads(geode("adapters", "--json")[1])["adapters"]
    assert [one["adapter"] for one in told if one["problem"]] == ["openai-payg"]
    places.monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert "http://127.0.0.1:1/v1" in geode("adapters")[1]


@pytest.mark.parametrize("place", ["process", ".env", "home .env", "project", "global"])
@pytest.mark.parametrize(
    "command",
    [
        ("about",),
        ("models",),
        ("config", "get", "sources.openai"),
        ("config", "set", "model", "gpt-5.2"),
        ("run", "Hi", "--model", "gpt-5.2"),
    ],
)
def test_a_source_that_there_is_not_is_told_with_its_place(
    geode: Geode, places: Places, place: PlaceName, command: tuple[str, ...]
) -> None:
    told = places.say(place, "foo", "sources.openai")
    code, out, err = geode(*command)
    assert (code, out) == (2, "")
    said = "openai has no such credential source. It has: payg, oauth, cli [config-value]"
    assert err == f"geode {command[0]}: {told}: {said}\n"


def test_a_source_that_there_is_not_is_mended(geode: Geode, places: Places) -> None:
    places.say("global", "foo", "sources.openai")
    assert geode("config", "set", "sources.openai", "oauth")[0] == 0
    assert geode("config", "get", "sources.openai")[1] == "oauth\n"


@pytest.mark.parametrize("name", ["model", "sources.openai"])
@pytest.mark.parametrize("bad", ['""', "5"])
@pytest.mark.parametrize(("option", "place"), [([], "global"), (["--project"], "project")])
def test_a_bad_value_is_taken_out_or_written_over(
    geode: Geode, places: Places, option: list[str], place: str, bad: str, name: str
) -> None:
    """What the error says to do is no error itself; what is wrong elsewhere still is."""
    good = "gpt-5.2" if name == "model" else "oauth"
    for change, left in ([["unset", name], ""], [["set", name, good], f'{name} = "{good}"\n']):
        path = places.write(place, f"# mine\n{name} = {bad}\n")
        assert geode("config", "get", name)[0] == 2
        assert geode("config", *change, *option)[0] == 0
        assert path.read_text() == f"# mine\n{left}"
        path.write_text(f"effort = {bad}\n{name} = {bad}\n")
        assert geode("config", *change, *option)[0] == 2
        assert path.read_text() == f"effort = {bad}\n{name} = {bad}\n"


def test_the_same_bad_value_in_both_files_is_taken_out_of_either(geode: Geode, places: Places) -> None:
    paths = [places.write(place, 'model = ""\n') for place in ("project", "global")]
    assert geode("config", "unset", "model")[0] == 0
    assert geode("config", "unset", "model", "--project")[0] == 0
    assert [path.read_text() for path in paths] == ["", ""]


def test_a_table_in_the_place_of_a_value_is_not_thrown_away(geode: Geode, places: Places) -> None:
    path = places.write("global", '[model.defaults]\nprimary = "gpt-5.2"\n')
    code, _, err = geode("config", "set", "model", "gpt-5.2")
    assert (code, "belong into routing.toml" in err) == (2, True)
    assert path.read_text() == '[model.defaults]\nprimary = "gpt-5.2"\n'


def test_without_a_home_folder_the_variable_is_named(geode: Geode, places: Places) -> None:
    places.monkeypatch.setenv(HOME, "~nobody-of-this-name/geode")
    code, _, err = geode("config", "set", "model", "gpt-5")
    assert code == 2
    assert "it is not known where your home folder is: set GEODE_HOME to a folder [config-file]" in err
    assert geode("config", "get", "model")[0] == 1


# ---- path and about ----------------------------------------------------------------------------


def test_path_lists_the_files_in_their_order(geode: Geode, places: Places) -> None:
    places.write(".env", "A=1\n")
    places.write("global", "")
    here = Path.cwd()
    expected = [
        ("environment", here / ".env", True),
        ("environment", places.home / ".env", False),
        ("project config.toml", here / ".geode/config.toml", False),
        ("global config.toml", places.home / "config.toml", True),
        ("routing.toml", places.home / "routing.toml", False),
    ]
    lines = [" ".join(line.split()) for line in geode("config", "path")[1].splitlines()]
    assert lines == [f"{layer} {'exists' if there else 'missing'} {path}" for layer, path, there in expected]
    said = json.loads(geode("config", "path", "--json")[1])
    assert said == [{"layer": layer, "path": str(path), "exists": there} for layer, path, there in expected]


def test_about_says_what_is_in_force(geode: Geode, places: Places) -> None:
    hidden, where = places.say("global", "gpt-5"), places.say("process", "glm-5")
    effort = places.say(".env", "high", "effort")
    code, out, err = geode("about")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"geode {__version__}"
    assert f"model glm-5 {where}" in lines
    assert "adapter glm-payg" in lines
    assert f"effort high {effort}" in lines
    assert "summary_model -" in lines
    assert "sources.openai payg routing.toml of geode" in lines
    assert f"user folder exists {places.home}" in lines
    assert f"project folder missing {Path.cwd() / '.geode'}" in lines
    assert f"global config.toml exists {places.home / 'config.toml'}" in lines
    assert [line for line in lines if line.startswith("warning")] == [f"warning: model: {where} hides gpt-5 in {hidden}"]


def test_about_as_json(geode: Geode, places: Places) -> None:
    where = places.say("global", "nobodys")
    said = json.loads(geode("about", "--json")[1])
    assert set(said["settings"]) == {key.name for key in KEYS}
    assert said["settings"]["model"] == {"value": "nobodys", "place": where}
    assert said["settings"]["effort"] == {"value": None, "place": None}
    assert (said["version"], said["adapter"], said["warnings"]) == (__version__, None, [])
    assert said["problem"].startswith('no provider serves the model "nobodys"')


def test_about_takes_the_command_line_as_a_run_does(geode: Geode, places: Places) -> None:
    places.say("global", "gpt-5")
    said = json.loads(geode("about", "--model", "glm-5", "--journal", "kept", "--json")[1])
    assert said["settings"]["model"] == {"value": "glm-5", "place": "--model"}
    assert said["settings"]["journal"] == {"value": "kept", "place": "--journal"}
    assert said["adapter"] == "glm-payg"


def test_no_secret_is_printed(geode: Geode, places: Places) -> None:
    places.write(".env", "OPENAI_API_KEY=sk-secret\nGEODE_MODEL=gpt-5\n")
    places.monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    for command in (("about",), ("about", "--json"), ("config", "explain", "model"), ("config", "path")):
        assert "sk-secret" not in "".join(geode(*command)[1:])
    places.write("project", "OPENAI_API_KEY = 'sk-secret'\n")
    code, _, err = geode("about")
    assert code == 2
    assert "sk-secret" not in err
