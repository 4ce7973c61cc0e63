"""Schemas of every kind, over every adapter: asked for where the server takes them, refused by name where it does not.

Whatever was sent, the answer is checked against the whole schema. The emulator judges the schemas that it is sent by its
own rules, which are those of the servers; what they say is read here, by itself.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from geode.domain.json_value import dump_json
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.policy import Policy
from geode.domain.schema_words import places
from geode.domain.script import calls, says
from geode.domain.turns import hints_of
from geode.entrypoints.compliance.harness import ModelHarness, SendingHarness
from geode.entrypoints.compliance.playing import Playing
from geode.entrypoints.compliance.shipped import (
    ChatHarness,
    ChatOpenaiHarness,
    ChatOpenrouterHarness,
    MessagesHarness,
    ResponsesHarness,
    ResponsesOpenaiHarness,
    ScriptedHarness,
)
from geode.entrypoints.compliance.shipped_programs import ClaudeCliHarness, CodexCliHarness
from geode.entrypoints.compliance.shipped_servers import (
    AnthropicOAuthHarness,
    CodexOAuthHarness,
    GlmCodingPlanHarness,
    GlmPaygHarness,
    NullContentHarness,
    OpenrouterPaygHarness,
)
from geode.entrypoints.emulator import Dialect, Protocol, check
from geode.testing import ScriptedModel
from tests.unit.entrypoints.answer_schemas import ROWS, Row

# What an adapter does not take, by the columns of the table.
EVERYTHING: Final = (ScriptedHarness,)
ROOTED: Final = (
    *(ClaudeCliHarness, ResponsesHarness, ResponsesOpenaiHarness, CodexOAuthHarness, ChatOpenaiHarness),
    # A server of one's own, of which `response_schema = true` is declared.
    *(ChatOpenrouterHarness, OpenrouterPaygHarness, NullContentHarness),
)
CLOSED: Final = (MessagesHarness, AnthropicOAuthHarness)
HARNESSES: Final[tuple[type[ModelHarness], ...]] = (*EVERYTHING, *ROOTED, *CLOSED, CodexCliHarness)
# GLM takes none, and neither does a server of which nothing is declared.
NONE: Final[tuple[type[SendingHarness], ...]] = (GlmPaygHarness, GlmCodingPlanHarness, ChatHarness)
# What cannot be made strict: free keys, a union at the root, and parts that say what they hold in `allOf` alone.
NEVER_STRICT: Final = ("free", "map", "patternProperties", "union at the root", "allOf")
EACH = pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.__name__.removesuffix("Harness"))
OF_THE_TABLE = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)


def takes(harness: type[ModelHarness], row: Row) -> bool:
    if harness is CodexCliHarness:
        return row not in [ROWS[name] for name in NEVER_STRICT]
    return row.closed if harness in CLOSED else row.rooted or harness in EVERYTHING


async def ran(playing: Playing, row: Row, **settings: Any) -> Any:
    return await playing.run(tools=[], answer=row.schema, **settings)


@EACH
@OF_THE_TABLE
async def test_an_answer_that_fits_and_one_that_does_not(harness: type[ModelHarness], row: Row) -> None:
    made = harness()
    async with made.playing(says(dump_json(row.wrong)), says(dump_json(row.fits))) as playing:
        outcome = await ran(playing, row)

    if not takes(harness, row):
        assert isinstance(outcome, Failed), outcome
        assert (outcome.reason, playing.count) == ("request_error", 0)
        assert "response_schema" in outcome.why
        return
    assert isinstance(outcome, Answered), outcome
    assert (outcome.value, playing.count) == (row.fits, 2)
    (told,) = hints_of(outcome.conversation.turns)
    assert f"\n{row.at}: " in told.text
    every = harness is CodexCliHarness
    assert [meant(one, every) for one in schemas(made, playing)] == [meant(row.schema, every)] * 2


@pytest.mark.parametrize("harness", NONE, ids=lambda harness: harness.__name__.removesuffix("Harness"))
async def test_a_server_that_takes_no_schema_is_asked_nothing(harness: type[SendingHarness]) -> None:
    async with harness().playing(says('{"a":"x"}')) as playing:
        outcome = await ran(playing, ROWS["string"])
    assert isinstance(outcome, Failed), outcome
    assert (outcome.reason, playing.count) == ("request_error", 0)
    assert "cannot be given a response_schema" in outcome.why


def sent(harness: ModelHarness, playing: Playing, request: int = 0) -> dict[str, Any]:
    """The schema as the other side received it, beside what stands there with it."""
    assert isinstance(harness, SendingHarness)
    body = harness.read(playing.bodies()[request])
    match getattr(harness, "wire", ""):
        case "messages":
            return dict(body["output_config"]["format"])
        case "responses":
            return dict(body["text"]["format"])
        case "chat":
            return dict(body["response_format"]["json_schema"])
        case _ if isinstance(harness, CodexCliHarness):
            # The file says nothing to a program that is not told of it.
            arguments = json.loads(playing.bodies()[request])["arguments"]
            assert [one.rpartition("/")[2] for one in arguments if one.startswith("--output-schema=")] == ["schema.json"]
            return {"schema": json.loads(body["schema"])}
        case _:
            return {"schema": json.loads(body["schema"])}


def schemas(harness: ModelHarness, playing: Playing) -> list[Any]:
    """The schema of each request."""
    if isinstance(playing.adapter, ScriptedModel):
        return [request.response_schema for request in playing.adapter.requests]
    return [sent(harness, playing, request)["schema"] for request in range(playing.count)]


def meant(schema: Any, every: bool) -> Any:
    """What a schema says, however it says it: without closed objects, which servers want; with what is said in words where
    a grammar does not hold it; `every`: a server wants each property to be there."""
    if isinstance(schema, list):
        return [meant(one, every) for one in schema]
    if not isinstance(schema, dict):
        return schema
    words = {**schema, **json.loads(schema.get("description", "").removeprefix("It must also fit ") or "{}")}
    made = {
        ("anyOf" if word == "oneOf" else word): meant(value, every) for word, value in words.items() if word != "description"
    }
    if made.get("additionalProperties") is False:
        del made["additionalProperties"]
    if made.get("properties") == {}:
        del made["properties"]
    if "prefixItems" in made:
        # Nothing more may follow: False, what no value fits, or any of those before where there is no order.
        del made["items"]
    if every and "properties" in made:
        made["required"] = sorted(made["properties"])
    return made


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("harness", [MessagesHarness, ResponsesHarness])
async def test_the_schema_goes_out_beside_tools_and_in_the_wrap_up(harness: type[ModelHarness], streamed: bool) -> None:
    row, policy = ROWS["string"], Policy(max_rounds=2)
    async with harness().playing(calls(("read", {"path": "a"})), says('{"a":"x"}')) as playing:
        outcome = await playing.run(streamed=streamed, answer=row.schema, policy=policy)
        bodies = playing.bodies()
    assert (outcome.reason, outcome.text, len(bodies)) == ("max_rounds", '{"a":"x"}', 2)
    assert all(b'"json_schema"' in body and b'"tools"' in body for body in bodies)


@pytest.mark.parametrize("harness", [ResponsesHarness, CodexOAuthHarness])
@OF_THE_TABLE
async def test_responses_is_strict_where_nothing_but_closing_has_to_be_done(harness: type[ModelHarness], row: Row) -> None:
    if not row.rooted:
        return
    made = harness()
    async with made.playing(says(dump_json(row.fits))) as playing:
        await ran(playing, row)
        found = sent(made, playing)
    assert (found["type"], found["name"], found["strict"]) == ("json_schema", "response", row.strict)


@OF_THE_TABLE
async def test_messages_is_told_in_words_what_its_grammar_does_not_hold(row: Row) -> None:
    if not row.closed:
        return
    made = MessagesHarness()
    async with made.playing(says(dump_json(row.fits))) as playing:
        await ran(playing, row)
        found = sent(made, playing)
    assert found.keys() == {"type", "schema"}
    for _, schema in places(found["schema"]):
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False
    kept = dump_json(found["schema"])
    for _, schema in places(row.schema):
        for word in schema.keys() & {"pattern", "minimum", "maxLength", "multipleOf", "uniqueItems", "not", "prefixItems"}:
            assert word in kept, f"{word} is neither sent nor said"


async def test_the_place_of_what_cannot_be_asked_for_is_named() -> None:
    async with MessagesHarness().playing() as playing:
        outcome = await ran(playing, ROWS["map"])
    assert isinstance(outcome, Failed)
    assert "/properties/a/additionalProperties" in outcome.why


# ---- the witness -------------------------------------------------------------------------------


def objections(wire: Protocol, dialect: Dialect, schema: Any, **more: Any) -> set[str]:
    """The rules that the emulator says a request with this format breaks."""
    found = {"type": "json_schema", "schema": schema, **more}
    body: dict[str, Any] = {"model": "claude-opus-5", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}]}
    if wire == "responses":
        body = {"model": "gpt-4.1", "input": "hi", "text": {"format": {"name": "response", **found}}}
    else:
        body["output_config"] = {"format": found}
    return {one.rule for one in check(wire, body, dialect)}


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ("string", None),
        ("open", "messages.anthropic.output_format.additional_properties"),
        ("bounds", "messages.anthropic.strict.numeric_bounds"),
        ("lengths of texts", "messages.anthropic.strict.numeric_bounds"),
        ("recursive", "messages.anthropic.strict.recursive"),
    ],
)
def test_the_emulator_refuses_what_anthropics_grammar_does_not_hold(row: str, rule: str | None) -> None:
    assert objections("messages", "anthropic", ROWS[row].schema) == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("row", "strict", "rule"),
    [
        ("string", True, None),
        ("optional", False, None),
        ("optional", True, "responses.openai.strict.required_all"),
        ("open", False, None),
        ("open", True, "responses.openai.strict.additional_properties"),
        ("oneOf", True, "responses.openai.strict.oneof"),
        ("union at the root", False, "responses.openai.schema.root_combinator"),
    ],
)
def test_the_emulator_refuses_what_openai_does_not_take(row: str, strict: bool, rule: str | None) -> None:
    found = objections("responses", "openai", ROWS[row].schema, strict=strict)
    assert (rule in found) if rule else found == set()
