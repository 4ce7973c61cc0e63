"""`routing.toml`: what is wrong with it is told with file, line and column; what is right is merged by key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import geode
from geode.domain.errors import Misuse
from geode.domain.models import row_of, rows_for
from geode.domain.prices import Price, price_of
from geode.domain.routing import RoutingTable
from geode.domain.targets import BUILT_IN, Quirks
from geode.entrypoints.cli.main import main
from geode.entrypoints.routes.capabilities import shipped_table
from geode.entrypoints.routes.registry import bootstrap_builtins, forget_adapters, reload_adapters
from geode.entrypoints.routes.session_models import SessionModels
from geode.entrypoints.settings import Settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    forget_adapters()
    yield tmp_path / "routing.toml"
    forget_adapters()


LAB = '[providers.lab]\nbase_url = "http://gpu-3:8000/v1"\n'
WRONG = [
    ("model = [", ":1:10: this is no TOML"),
    ('x = 1\n[model.defalts]\na = "gpt-5.2"\n', ':1:1: x: "x" is no key; known here: model, sources, routing, providers'),
    ('[model.defalts]\na = "gpt-5.2"\n', ':1:1: model.defalts: "defalts" is no key; did you mean defaults?'),
    ("\n[model.defaults]\n# mine\nopenai = 5\n", ":4:1: model.defaults.openai: must be text in quotes, got a whole number"),
    ('[model.defaults]\nprimary = "SECRET"\n', ":2:1: model.defaults.primary: no provider serves such a model; geode models"),
    ('[model.defaults]\nprimry = "gpt-5.2"\n', ':2:1: model.defaults.primry: "primry" is no key; did you mean primary?'),
    ('[model.defaults]\nprimary = ""\n', ":2:1: model.defaults.primary: it is empty"),
    ('[model.fallbacks]\nopenai = "SECRET"\n', ":2:1: model.fallbacks.openai: must be a list, got text"),
    ('[model.fallbacks]\nopenai = ["gpt-5.2"]\n', ":2:1: model.fallbacks.openai: a chain starts with the default of that name"),
    (
        '[model.fallbacks]\nopenai = ["gpt-6-sol", "claude-opus-5-5", "gpt-6-sol"]\n',
        ":2:1: model.fallbacks.openai: a chain names each model once",
    ),
    ('[model.fallbacks]\nopenai = ["gpt-6-sol", "SECRET"]\n', ":2:1: model.fallbacks.openai: no provider serves such a model"),
    ('[model.fallbacks]\nmine = ["gpt-5.2"]\n', ':2:1: model.fallbacks.mine: "mine" is no key; known: primary, anthropic'),
    (
        '[sources]\nopenai = "SECRET"\n',
        ":2:1: sources.openai: there is no such source; the sources of openai are: payg",
    ),
    ('[sources]\nopenia = "payg"\n', ":2:1: sources.openia: there is no such source; did you mean openai?"),
    ('[routing.prefixes]\n"llama-" = "labb"\n' + LAB, ":2:1: routing.prefixes.llama-: nobody is called so; did you mean lab?"),
    ('[providers.lab]\nwire = "chat"\n', ":1:1: providers.lab: [providers.lab] has no base_url"),
    (
        '[providers.openrouter-payg.options]\nordr = ["SECRET"]\n',
        ":1:1: providers.openrouter-payg.options: OpenRouter has no option 'ordr'; did you mean order?",
    ),
    (
        '[providers.openrouter-payg.options]\norder = "SECRET"\n',
        ":1:1: providers.openrouter-payg.options: the option order is a list of one name or more",
    ),
    (
        '[providers.glm-payg.options]\norder = ["SECRET"]\n',
        ':1:1: providers.glm-payg.options: options are those of the dialect "openrouter"',
    ),
    ('[providers]\nlab = "SECRET"\n', ":2:1: providers.lab: must be a table, got text"),
    (LAB + 'wire = "SECRET"\n', ":3:1: providers.lab.wire: must be 'messages', 'responses' or 'chat'"),
    (LAB + 'key = "SECRET"\n', ":3:1: providers.lab.key: a key is never written into this file"),
    (LAB + 'key = ["SECRET"]\n', ":3:1: providers.lab.key: must be text in quotes, got a list"),
    (LAB + 'key = "env:"\n', ":3:1: providers.lab.key: key="),
    ('[providers.lab]\nbase_url = "gpu-3:8000"\n', ":2:1: providers.lab.base_url: base_url must be http://HOST:PORT"),
    ('[providers.lab]\nbase_url = "ftp://u:SECRET@x"\n', ":2:1: providers.lab.base_url: base_url must be http://HOST:PORT"),
    ('[providers.lab]\nbase_url = "http://x/v1?key=SECRET"\n', ":2:1: providers.lab.base_url: base_url must be http://HOST"),
    ('[providers.lab]\nbase_url = "user:SECRET@x/v1"\n', ":2:1: providers.lab.base_url: base_url must be http://HOST:PORT"),
    ('[providers.lab]\nbase_url = "http://x:99999"\n', ":2:1: providers.lab.base_url: the port of base_url must be from 1 to"),
    (LAB + 'wire = "messages"\ndialect = "glm"\n', ":4:1: providers.lab.dialect: the wire messages has: generic"),
    (LAB + 'wire = "messages"\n[providers.lab.quirks]\ntools = false\n', ":4:1: providers.lab.quirks: quirks are of"),
    (
        LAB + "[providers.lab.quirks]\nstream_useage = false\n",
        ':4:1: providers.lab.quirks.stream_useage: "stream_useage" is no',
    ),
    (LAB + '[providers.lab.quirks]\ntools = "no"\n', ":4:1: providers.lab.quirks.tools: must be true or false, got text"),
    ('[providers.openai]\nbase_url = "http://x"\n', ':1:1: providers.openai: "openai" is the name of a maker of models'),
    ('[providers.openai-payg]\nwire = "chat"\n', ":2:1: providers.openai-payg.wire: openai-payg ships with geode"),
    ('[providers."a/b"]\nbase_url = "http://x"\n', ":1:1: providers.a/b: the name of a provider is one word without a slash"),
    ('[models."lab/x"]\nwindow = "SECRET"\n', ":2:1: models.lab/x.window: must be a whole number, got text"),
    ('[models."lab/x"]\nwindow = 0\n', ":2:1: models.lab/x.window: must be 1 or more"),
    ('[models."lab/x"]\nlike = "gpt-5.22"\n', ":2:1: models.lab/x.like: there is no such row; did you mean gpt-5.2?"),
    ('[models.a]\nlike = "b"\n[models.b]\nlike = "a"\n', ":2:1: models.a.like: the rows are like each other in a circle"),
    (
        '[models.a]\neffort = ["low"]\ndefault_effort = "high"\n',
        ":3:1: models.a.default_effort: must be one of its efforts: low",
    ),
    ("[prices.a]\ninput = 1\n", ":1:1: prices.a.output: it is missing"),
    ("[prices.a]\ninput = -1\noutput = 1\n", ":2:1: prices.a.input: must be 0 or more"),
    ("[prices.a]\ninput = nan\noutput = 1\n", ":2:1: prices.a.input: must be a finite number"),
    ('[prices.a]\ninput = "SECRET"\noutput = 1\n', ":2:1: prices.a.input: must be a number, got text"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_with_its_place_and_never_a_key(text: str, said: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(Misuse) as caught:
        geode.session(model="gpt-5.2")
    assert f"{file}{said}" in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_the_same_through_the_command_line(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[sources]\nopenai = "SECRET"\n')
    for arguments in (["run", "Hi", "--model", "gpt-5.2"], ["about"], ["models"], ["adapters"], ["config", "explain", "model"]):
        assert main(arguments) == 2
        assert f"{file}:2:1: sources.openai: there is no such source" in capsys.readouterr().err


@pytest.mark.parametrize("count", [1, 2, 5, 6, 8])
def test_several_problems_are_told_in_their_order_and_those_beyond_five_counted(file: Path, count: int) -> None:
    file.write_text("".join(f"[models.m{number}]\nwindow = 0\n" for number in range(count)))
    with pytest.raises(Misuse) as caught:
        bootstrap_builtins()
    told = str(caught.value).removesuffix(" [routing-file]").splitlines()
    assert told[:5] == [
        f"{file}:{2 * number + 2}:1: models.m{number}.window: must be 1 or more" for number in range(min(count, 5))
    ]
    assert told[5:] == ([f"({count - 5} more)"] if count > 5 else [])


@pytest.mark.parametrize("identities", [["openai"], ["openai", "anthropic"]])
def test_what_only_follows_from_a_problem_is_not_told_beside_it(file: Path, identities: list[str]) -> None:
    """The prefixes that ship lead to an identity whose source is wrong."""
    file.write_text("[sources]\n" + "".join(f'{identity} = "foo"\n' for identity in identities))
    with pytest.raises(Misuse) as caught:
        bootstrap_builtins()
    told = str(caught.value).splitlines()
    assert len(told) == len(identities)
    assert all(f"sources.{identity}: there is no such source" in line for identity, line in zip(identities, told, strict=True))


# ---- what is right -------------------------------------------------------------------------------


def merged(file: Path, text: str) -> RoutingTable:
    file.write_text(text)
    return bootstrap_builtins().table


def test_without_a_file_what_ships_holds(file: Path) -> None:
    assert bootstrap_builtins().table == shipped_table()


def test_what_ships_chooses_no_model_and_has_no_chain() -> None:
    """Fail-over chains are empty by default (spec section 7)."""
    table = shipped_table()
    assert "primary" not in table.defaults
    assert set(table.fallbacks.values()) == {()}
    assert table.sources == {"anthropic": "payg", "openai": "payg", "openrouter": "payg", "glm": "payg"}
    assert dict(table.targets) == dict(BUILT_IN)


def test_tables_are_merged_by_key_and_values_replaced(file: Path) -> None:
    table = merged(
        file,
        '[model.defaults]\nopenai = "gpt-5.2"\n[model.fallbacks]\nopenai = ["gpt-5.2", "claude-opus-5-5"]\n'
        '[models."gpt-5.2"]\nwindow = 7\n[prices."gpt-5.2"]\ninput = 1.75\noutput = 9\n',
    )
    assert table.defaults == {**shipped_table().defaults, "openai": "gpt-5.2"}
    assert table.fallbacks["openai"] == ("gpt-5.2", "claude-opus-5-5")
    row, before = (row_of("gpt-5.2", one.models) for one in (table, shipped_table()))
    assert (row.window, row.efforts, row.output) == (7, before.efforts, before.output)
    assert price_of("gpt-5.2", table.prices) == Price(Decimal("1.75"), Decimal(9), cached=Decimal("0.175"))


def test_the_users_prefixes_come_first_in_their_order(file: Path) -> None:
    table = merged(file, LAB + '[routing.prefixes]\n"o3" = "lab"\n"gpt-oss-" = "lab"\n')
    assert [prefix for prefix, _ in table.prefixes] == [
        *("o3", "gpt-oss-"),
        *(prefix for prefix, _ in shipped_table().prefixes if prefix != "o3"),
    ]


def test_a_server_has_the_quirks_that_are_declared(file: Path) -> None:
    quirks = '[providers.lab.quirks]\nchoice = ["auto", "none"]\ncontent_beside_calls = "empty"\nimages = "none"\n'
    table = merged(
        file,
        LAB + quirks + 'stream_usage = false\noutput_limit = "max_completion_tokens"\ntools = false\nresponse_schema = true\n',
    )
    transport = table.targets["lab"].transport
    assert transport is not None
    assert transport.quirks == Quirks(False, frozenset({"auto", "none"}), "empty", "none", False, "max_completion_tokens", True)


def test_rows_of_a_server_hold_there_alone(file: Path) -> None:
    table = merged(file, LAB + '[models."lab/llama"]\nwindow = 8192\neffort = ["low"]\n[models.qwen]\nwindow = 4096\n')
    of_lab = rows_for(table.targets["lab"], table.models)
    assert [(row.prefix, row.window, row.efforts) for row in of_lab] == [("llama", 8192, ("low",)), ("qwen", 4096, None)]
    assert row_of("llama", rows_for(table.targets["openai-payg"], table.models)).window is None


@pytest.mark.parametrize("model", ["gpt-6-sol", "gpt-6-astra", "gpt-6-luna", "gpt-5.6-sol"])
def test_the_window_of_a_route_may_be_its_own(model: str) -> None:
    """Facts, section 10: 272k over the ChatGPT plan."""
    table = shipped_table()
    rows = {name: row_of(model, rows_for(table.targets[name], table.models)) for name in ("openai-payg", "codex-oauth")}
    assert (rows["openai-payg"].window, rows["codex-oauth"].window) == (1_050_000, 272_000)
    assert rows["openai-payg"].efforts == rows["codex-oauth"].efforts


def test_rows_of_known_makers_hold_behind_the_relay_and_sampling_there_is_not_assumed() -> None:
    """Spec section 9: at effort none, behind OpenRouter, it is never assumed."""
    table = shipped_table()
    direct = row_of("gpt-5.2", rows_for(table.targets["openai-payg"], table.models))
    relayed = row_of("openai/gpt-5.2", rows_for(table.targets["openrouter-payg"], table.models))
    assert (direct.sampling_at_none, relayed.sampling_at_none) == (True, False)
    assert (relayed.efforts, relayed.window, relayed.sampling) == (direct.efforts, direct.window, False)
    claude = row_of("anthropic/claude-opus-4.6", rows_for(table.targets["openrouter-payg"], table.models))
    assert (claude.efforts, claude.forced_with_effort, claude.window) == (None, False, 1_000_000)


@pytest.mark.parametrize(
    ("model", "input"),
    [
        ("claude-opus-4-5-20251101", "5"),
        ("claude-opus-5-5", "4"),
        ("gpt-5.2-2025-12-11", "1.75"),
        ("claude-haiku-4-5-latest", "1"),
        ("gpt-5.2-pro", None),
        ("claude-opus-5-7", None),
        ("unheard-of", None),
    ],
)
def test_a_price_is_that_of_the_very_model_or_not_known(model: str, input: str | None) -> None:
    """A longer name is another model, and may cost ten times as much. Figures: facts, section 10."""
    found = price_of(model, shipped_table().prices)
    assert (None if found is None else str(found.input)) == input


def test_long_requests_have_their_own_price() -> None:
    price = price_of("gpt-6-sol", shipped_table().prices)
    assert price is not None
    assert (price.above, price.input_above, price.output_above) == (272_000, Decimal(2), Decimal("1.5"))


# ---- the default of a session that names none ----------------------------------------------------


def explained(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str | None, str | None, str | None]]:
    assert main(["config", "explain", "model", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    return {one["layer"]: (one["value"], one["place"], one["state"]) for one in said["candidates"]}


def test_the_default_is_the_weakest_layer_and_the_file_is_where_it_stands(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is written anywhere else: what the file says is what is asked, and where it says so is shown."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-some-key")
    monkeypatch.chdir(file.parent)
    with pytest.raises(Misuse, match="no model is named"):
        geode.session()
    file.write_text('# mine\n[model.defaults]\nprimary = "gpt-5.2"\n')
    reload_adapters()
    assert explained(capsys)["routing.toml"] == ("gpt-5.2", f"{file}:3:1", "winner")
    assert SessionModels(Settings()).primary[1] == "gpt-5.2"
    for layer, hide in (
        ("global config.toml", lambda: (file.parent / "config.toml").write_text('model = "gpt-4o"\n')),
        ("environment", lambda: monkeypatch.setenv("GEODE_MODEL", "gpt-4.1")),
    ):
        hide()
        layers = explained(capsys)
        assert layers[layer][2] == "winner"
        assert layers["routing.toml"] == ("gpt-5.2", f"{file}:3:1", "hidden")
    assert SessionModels(Settings()).primary[1] == "gpt-4.1"
    assert SessionModels(Settings(model="o3")).primary[1] == "o3"
