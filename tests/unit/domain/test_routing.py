"""From a model id to the target that serves it: spec section 8, and section 10 for the relay's namespace."""

from __future__ import annotations

import pytest

from geode.domain.provider import Provider
from geode.domain.routing import Route, RoutingTable, resolve, target_of
from geode.domain.targets import BUILT_IN, CredentialRoute, Identity, Target

LAB = Provider("lab", "chat", "http://gpu-3:8000/v1").target
# A maker of whom there is but one account, and an adapter of that maker.
ACME = Target("acme-plan", Identity("acme", "Acme"), CredentialRoute("plan", None), None)
TABLE = RoutingTable(
    prefixes=(("gpt-oss-", "lab"), ("gpt-", "openai"), ("hall/", "lab"), ("claude-", "anthropic"), ("far/", "openai")),
    sources={"openai": "payg", "anthropic": "payg", "openrouter": "payg", "glm": "payg"},
    targets={**BUILT_IN, "lab": LAB, "acme-plan": ACME},
)


@pytest.mark.parametrize(
    ("id", "target", "model"),
    [
        ("gpt-5.2", "openai-payg", "gpt-5.2"),
        ("gpt-oss-20b", "lab", "gpt-oss-20b"),
        ("hall/m", "lab", "m"),
        ("far/gpt", "openai-payg", "gpt"),
        ("lab/meta/llama", "lab", "meta/llama"),
        ("lab/gpt-5.2", "lab", "gpt-5.2"),
        ("openai/x", "openai-payg", "x"),
        ("openai/x/y", "openai-payg", "x/y"),
        ("glm/x", "glm-payg", "x"),
        ("codex-oauth/gpt-5.2", "codex-oauth", "gpt-5.2"),
        ("acme/x", "acme-plan", "x"),
        ("acme-plan/x", "acme-plan", "x"),
        ("openrouter/x/y", "openrouter-payg", "x/y"),
        ("openrouter/openrouter/auto", "openrouter-payg", "openrouter/auto"),
        ("openrouter/auto", "openrouter-payg", "openrouter/auto"),
        ("openrouter/free", "openrouter-payg", "openrouter/free"),
        ("openrouter-payg/x/y", "openrouter-payg", "x/y"),
        ("openrouter-payg/auto", "openrouter-payg", "openrouter/auto"),
        ("openrouter/x/openrouter", "openrouter-payg", "x/openrouter"),
        ("gpt-" + "x" * 252, "openai-payg", "gpt-" + "x" * 252),
    ],
)
def test_who_serves_an_id_and_by_which_name(id: str, target: str, model: str) -> None:
    route = resolve(id, TABLE).unwrap()
    assert (route.target.name, route.model, route.id) == (target, model, id)


def test_what_was_asked_for_is_no_part_of_what_a_route_is() -> None:
    assert (
        resolve("gpt-5.2", TABLE).unwrap()
        == Route(BUILT_IN["openai-payg"], "gpt-5.2")
        == resolve("openai/gpt-5.2", TABLE).unwrap()
    )


def test_sources_given_are_stronger_than_those_of_the_table() -> None:
    assert resolve("gpt-5.2", TABLE, sources={"openai": "oauth"}).unwrap().target.name == "codex-oauth"
    assert resolve("gpt-5.2", TABLE, sources={"glm": "coding-plan"}).unwrap().target.name == "openai-payg"
    assert resolve("openai-payg/gpt-5.2", TABLE, sources={"openai": "oauth"}).unwrap().target.name == "openai-payg"


def test_a_target_of_the_callers_takes_the_place_of_its_name() -> None:
    own = Provider("openai-payg", "responses", "http://127.0.0.1:1/v1").target
    assert resolve("gpt-5.2", TABLE, (own,)).unwrap().target == own
    other = Provider("lab", "chat", "http://127.0.0.1:2/v1").target
    assert resolve("lab/m", TABLE, (other,)).unwrap().target == other
    assert resolve("gpt-oss-1", TABLE, (other,)).unwrap().target == other
    # A name of the caller's is stronger than any prefix.
    named = Provider("gpt-x", "chat", "http://127.0.0.1:3/v1").target
    assert resolve("gpt-x/m", TABLE, (named,)).unwrap() == Route(named, "m")
    # One that is called like a maker is asked for that maker's models.
    maker = Provider("openai", "chat", "http://127.0.0.1:4/v1").target
    assert resolve("gpt-5.2", TABLE, (maker,)).unwrap().target == maker


def why_not(id: str, own: tuple[Target, ...] = (), **sources: str) -> str:
    return resolve(id, TABLE, own, sources).swap().unwrap()


KNOWN = "lab/…, acme-plan/…, openrouter/…, gpt-oss-…, gpt-…, hall/…, claude-…, far/…"
WAYS = "or give session(providers=[Provider(…)]), or declare it in routing.toml"


@pytest.mark.parametrize(
    ("id", "why"),
    [
        ("llama", f'no provider serves the model "llama". Known: {KNOWN}, {WAYS}'),
        ("antropic", f'no provider serves the model "antropic". Known: {KNOWN}, {WAYS}'),
        ("lab", f'no provider serves the model "lab"; did you mean lab/…? Known: {KNOWN}, {WAYS}'),
        ("lap/llama", f'no provider serves the model "lap/llama"; did you mean lab/llama? Known: {KNOWN}, {WAYS}'),
        ("opnai/llama", f'no provider serves the model "opnai/llama"; did you mean openai/llama? Known: {KNOWN}, {WAYS}'),
        # The beginning of an id is looked at only where it has no name before it.
        ("gpt-5/x", f'no provider serves the model "gpt-5/x". Known: {KNOWN}, {WAYS}'),
        ("openai/", 'the model id "openai/" names no model after its namespace'),
        ("hall/", 'the model id "hall/" names no model after its namespace'),
        ("lab/", 'the model id "lab/" names no model after its namespace'),
        ("openrouter/x", 'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "openrouter/x"'),
        ("openrouter/x/", 'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "openrouter/x/"'),
        ("openrouter-payg/x", 'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "openrouter-payg/x"'),
        ("openrouter/x/y/z", 'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "openrouter/x/y/z"'),
        ("openrouter//x", 'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "openrouter//x"'),
        ("openrouter/x y/z", 'a model of OpenRouter is openrouter/PUBLISHER/MODEL, got "openrouter/x y/z"'),
        ("", "the model id '' is empty or has white space around it"),
        (" gpt-5", "the model id ' gpt-5' is empty or has white space around it"),
        ("gpt-5\x00", "the model id 'gpt-5\\x00' has line ends, control characters or half of a character in it"),
        ("gpt-" + "x" * 253, f"the model id 'gpt-{'x' * 75} has 257 characters; no id has more than 256"),
    ],
)
def test_why_an_id_is_served_by_nobody(id: str, why: str) -> None:
    assert why_not(id) == why


def test_what_the_caller_has_is_known_too_and_told_first() -> None:
    other = Provider("other", "chat", "http://127.0.0.1:2/v1").target
    assert "Known: other/…, lab/…, acme-plan/…, openrouter/…" in why_not("llama", (other,))
    assert "Known: lab/…, acme-plan/…, openrouter/…" in why_not("llama", (LAB,))


def test_a_source_that_nobody_has_is_told_with_those_that_there_are() -> None:
    assert why_not("gpt-5.2", openai="cash") == "openai has no such credential source. It has: payg, oauth, cli"
    table = RoutingTable(prefixes=(("gpt-", "openai"),))
    assert resolve("gpt-5.2", table).swap().unwrap() == "openai has no such credential source. It has: payg, oauth, cli"


def test_the_target_of_a_pair() -> None:
    assert target_of("glm", "coding-plan", BUILT_IN).unwrap() == BUILT_IN["glm-coding-plan"]
    assert target_of("acme", "plan", TABLE.targets).unwrap() == ACME
    assert (
        target_of("who", "payg", BUILT_IN).swap().unwrap() == "nobody serves 'who'. Known: anthropic, glm, openai, openrouter"
    )
    assert "Known: acme, anthropic" in target_of("who", "payg", {"acme-plan": ACME}).swap().unwrap()
    twice = {"a": ACME, "b": Target("b", ACME.identity, ACME.credential, None)}
    assert target_of("acme", "plan", twice).swap().unwrap() == (
        "several adapters serve acme by the source 'plan': acme-plan, b. Name one: NAME/MODEL"
    )
