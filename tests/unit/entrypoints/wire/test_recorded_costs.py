"""What every recorded answer cost, against a computation of its own over the raw numbers (wire facts B4)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from typing import Any

from geode.domain.prices import Price, priced
from geode.domain.usage import Usage
from geode.entrypoints.wire.decoding import decoded
from tests.recordings import needs_recordings
from tests.unit.adapters.answers import Json, events_of
from tests.unit.entrypoints.wire.test_recorded import _failed, exchanges

pytestmark = needs_recordings

TABLE = tomllib.loads(files("geode.entrypoints.routes").joinpath("routing.toml").read_text("utf-8"), parse_float=Decimal)
# Prices of this test's own, so that every model has one: what is compared is arithmetic.
ANY = {"input": 3, "output": 15, "cached": Decimal("0.3"), "cache_write": Decimal("3.75"), "cache_write_1h": 6}


def _raw(one: Json) -> tuple[Json, str]:
    """The last word on tokens, and the model."""
    if "sse" not in one:
        return one["response"].get("usage") or {}, one["response"].get("model") or ""
    usage: dict[str, Any] = {}
    model = ""
    for event in events_of(one["sse"]):
        for body in (event, event.get("message") or {}, event.get("response") or {}, event.get("x_groq") or {}):
            model = body.get("model") or model
            usage |= {name: value for name, value in (body.get("usage") or {}).items() if value is not None}
    return usage, model


def _parts(protocol: str, usage: Json) -> dict[str, int]:
    """Each token under the one price that it has."""
    if protocol == "messages":
        written = usage.get("cache_creation_input_tokens") or 0
        lasting = (usage.get("cache_creation") or {}).get("ephemeral_1h_input_tokens") or 0
        return {
            "input": usage.get("input_tokens") or 0,
            "cached": usage.get("cache_read_input_tokens") or 0,
            "cache_write": written - lasting,
            "cache_write_1h": lasting,
            "output": usage.get("output_tokens") or 0,
        }
    side = "input" if protocol == "responses" else "prompt"
    whole, details = usage.get(f"{side}_tokens") or 0, usage.get(f"{side}_tokens_details") or {}
    cached = details.get("cached_tokens") or usage.get("num_cached_tokens") or 0
    written = details.get("cache_write_tokens") or 0
    came_out = usage.get("output_tokens" if protocol == "responses" else "completion_tokens") or 0
    if protocol == "chat" and whole:
        came_out = max(came_out, (usage.get("total_tokens") or 0) - whole)
    return {"input": whole - cached - written, "cached": cached, "cache_write": written, "output": came_out}


def _expected(protocol: str, usage: Json, row: Mapping[str, Any]) -> Fraction | None:
    parts = _parts(protocol, usage)
    went_in = sum(tokens for name, tokens in parts.items() if name != "output")
    # A relay told the same tokens as read from the cache and as written to it.
    if not went_in or min(parts.values()) < 0 or any(tokens and row.get(name) is None for name, tokens in parts.items()):
        return None
    dear = row.get("above") and went_in > row["above"]
    total = Fraction(0)
    for name, tokens in parts.items():
        factor = row["output_above" if name == "output" else "input_above"] if dear else 1
        total += Fraction(row.get(name) or 0) * tokens * Fraction(factor) / 1_000_000
    return total


def _of_one_model(usage: Json) -> bool:
    return not any(step.get("model") or step.get("type") == "compaction" for step in usage.get("iterations") or ())


def _found(shown: Json, row: Mapping[str, Any]) -> Usage:
    told = {name: value for name, value in shown["usage"].items() if name != "cost_usd"}
    dollars: dict[str, Any] = {name: value if name in ("above", "source") else Decimal(value) for name, value in row.items()}
    price = Price(**dollars)
    return priced(Usage(**told), price)


def test_every_recorded_answer_costs_what_a_computation_of_its_own_says() -> None:
    """To the last digit: with a price for every model, and by the shipped table for those that it has."""
    seen, wrong = Counter[str](), list[Any]()
    for exchange, one in exchanges():
        usage, model = _raw(one)
        if _failed(one) or not usage or not _of_one_model(usage):
            continue
        shown = decoded(exchange)
        row = TABLE["prices"].get(re.sub(r"-(latest|\d{8}|\d{4}-\d\d-\d\d)$", "", model.rpartition("/")[2]))
        for name, prices in (("any", ANY), ("table", row)):
            if prices is None:
                continue
            expected, found = _expected(one["protocol"], usage, prices), _found(shown, prices).cost_usd
            seen[name] += expected is not None
            if (None if found is None else Fraction(found)) != expected:
                wrong.append((exchange.id, name, found, expected and float(expected), usage))
    assert wrong == []
    assert seen["any"] > 700
    assert seen["table"] > 150


def test_a_relays_own_charge_is_what_it_cost() -> None:
    charged = 0
    for exchange, one in exchanges():
        usage, _ = _raw(one)
        if one["protocol"] != "chat" or _failed(one) or usage.get("cost") is None:
            continue
        charged += 1
        assert Decimal(decoded(exchange)["usage"]["cost_usd"]) == Decimal(str(usage["cost"])), exchange.id
    assert charged >= 25


def test_the_parts_of_a_usage_sum_to_the_total_that_was_told() -> None:
    judged = 0
    for exchange, one in exchanges():
        usage, _ = _raw(one)
        if _failed(one) or not usage.get("total_tokens"):
            continue
        judged += 1
        shown = decoded(exchange)["usage"]
        assert shown["input_tokens"] + shown["output_tokens"] == usage["total_tokens"], exchange.id
    assert judged > 450
