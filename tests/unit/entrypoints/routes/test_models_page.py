"""What docs/models.md says is what geode does: its tables and its files are read by the code that they are for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from geode.adapters.toml_files import TomlFile
from geode.domain.models import ModelRow, row_of
from geode.domain.routing import RoutingTable
from geode.domain.targets import BUILT_IN, IDENTITIES
from geode.entrypoints.routes.capabilities import shipped_table
from geode.entrypoints.routes.file import merged, table_of
from geode.entrypoints.routes.grammar import MODEL_ROW_KEYS, grammar_problems
from geode.entrypoints.routes.plugin_policy import policy_of
from geode.entrypoints.routes.registry import shipped_values

PAGE = (Path(__file__).parents[4] / "docs" / "models.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_table_of_adapters_is_the_declaration() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| ([a-z-]+) \| `([^`]+)`", PAGE, re.MULTILINE)
    declared = [
        (name, target.identity.id, target.credential.source, re.sub(r"^\w+:", "", str(target.credential.key or "")))
        for name, target in BUILT_IN.items()
        if target.program is None
    ]
    assert rows == declared


def test_the_programs_are_in_the_table_of_adapters() -> None:
    """Their keys are the operator's to name."""
    programs = [target for target in BUILT_IN.values() if target.program is not None]
    rows = [f"| `{one.name}` | {one.identity.id} | {one.credential.source} | yours to name" for one in programs]
    assert rows
    assert [row for row in rows if row not in PAGE] == []


def test_every_address_variable_is_named() -> None:
    moved_by = {target.transport.moved_by for target in BUILT_IN.values() if target.transport is not None}
    assert moved_by <= set(re.findall(r"`([A-Z_]+_BASE_URL)`", PAGE))


def test_every_prefix_that_ships_is_named() -> None:
    first = PAGE.partition("2. Else the first prefix")[2].partition("3. Else")[0]
    assert set(re.findall(r"`([^`]+)`", first)) == {prefix for prefix, _ in shipped_table().prefixes}


def test_the_keys_of_rows_are_the_grammar() -> None:
    sentence = PAGE.partition("Their keys\nare ")[2].partition(";")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == set(MODEL_ROW_KEYS)


def read(text: str) -> RoutingTable:
    values = tomllib.loads(text)
    assert grammar_problems(values) == []
    table, problems = table_of(merged(shipped_values(), values))
    assert problems == []
    return table


def test_the_files_are_read_as_they_stand() -> None:
    routing, chain, _, policy = blocks("toml")
    tables = list(map(read, (routing, chain)))
    assert tables[-1].fallbacks["openai"] == ("gpt-6-sol", "claude-opus-5-5")
    allowed = policy_of(TomlFile(Path("adapters.toml"), True, policy, tomllib.loads(policy))).allowed
    assert (allowed["acme-payg"].enabled, allowed["acme-payg"].identity) == (True, "acme")


def test_the_examples_of_rows_hold_as_they_are_told() -> None:
    def row(prefix: str, model: str) -> bool:
        return row_of(model, [ModelRow(prefix)]).known

    told = PAGE.partition("A variant goes on with")[2].partition("A row for")[0]
    assert {"`lab/qwen3-instruct`", "`lab/qwen3:8b`", "`lab/qwen3-8b`", "`lab/qwen3.5`"} <= set(re.findall("`[^`]+`", told))
    assert all(row("lab/qwen3", model) for model in ("lab/qwen3-instruct", "lab/qwen3:8b"))
    assert not any(row("lab/qwen3", model) for model in ("lab/qwen3-8b", "lab/qwen3.5"))
    assert all(row("lab/qwen3-", model) for model in ("lab/qwen3-instruct", "lab/qwen3-8b"))


def test_the_names_of_chains_are_told() -> None:
    told = PAGE.partition("It has the name of a default")[2].partition("\n\n")[0]
    assert {*IDENTITIES, "primary"} <= set(re.findall(r"`(\w+)`", told))
    declared = '[providers.lab]\nbase_url = "http://127.0.0.1:1/v1"\n'
    for name in ("primary", "lab", "openrouter", "codex-oauth"):
        chain = f'[model.defaults]\n{name} = "lab/x"\n[model.fallbacks]\n{name} = ["lab/x", "gpt-5.2"]\n'
        assert read(declared + chain).fallbacks[name] == ("lab/x", "gpt-5.2")
