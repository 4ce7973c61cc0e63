"""What a person is told to do about a failure that is final."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.failures import CallFailure, RetryHint
from geode.domain.quota import Quota
from geode.domain.ways_out import of_unknown_model, way_on
from tests.unit.domain.builders import failure

CHOOSE = "Another model may do: choose one (/model, geode model)"
OTHER_MODEL = f"{CHOOSE}, or name some to fall back on in [model.fallbacks] of routing.toml"
CREDIT = "Add credit or raise the limit in the account at the provider"
LESS = "Add credit, or ask for less: Policy(max_output_tokens=…)"
RESET = Quota("plan", reset="2026-11-30 18:00:00")
FULL = Quota("requests", 50, 40, "noon")


def with_quota(fault: CallFailure, *quota: Quota, subscription: bool = False) -> CallFailure:
    return replace(fault, quota=quota, subscription=subscription)


OTHER_PLAN = (
    "The plan is used up, or the key is none of this plan: one of pay-as-you-go is answered so at the plan's address. "
    "Wait for the reset, check the key, or name a model of another account"
)
NOBODY = (
    "The model is there, and what your options and the settings of your account allow is nobody who serves it: widen them, "
    "or name another model"
)


def lacking(what: str, instead: str) -> str:
    route = f"The model, or the route that the options allow to it, {what}"
    return f"{route}: name another model, {instead}, or widen the options"


WAYS: list[tuple[CallFailure, str]] = [
    # Spec section 7: a transient failure that ran out names the ways on.
    *((failure(status), OTHER_MODEL) for status in (408, 409, 429, 500, 529)),
    (failure(None, phase="connect"), OTHER_MODEL),
    (with_quota(failure(429), RESET), f"{OTHER_MODEL}. The limit is reset at 2026-11-30 18:00:00"),
    (with_quota(failure(503), RESET), OTHER_MODEL),
    # Of several limits the one that is used up tells when it is full again.
    (
        with_quota(failure(429), FULL, replace(RESET, remaining=0)),
        f"{OTHER_MODEL}. The limit is reset at 2026-11-30 18:00:00",
    ),
    (with_quota(failure(429), RESET, FULL), f"{OTHER_MODEL}. The limit is reset at 2026-11-30 18:00:00"),
    # Quota exhausted: what the user can do.
    (failure(402), CREDIT),
    (failure(429, code="insufficient_quota"), CREDIT),
    (with_quota(failure(429, code="1308"), RESET), f"{CREDIT}, or wait for the reset at 2026-11-30 18:00:00"),
    (
        with_quota(failure(429), subscription=True),
        "The plan is used up: wait for the reset, or name a model of another account",
    ),
    (
        with_quota(failure(429), FULL, replace(RESET, remaining=0), subscription=True),
        "The plan is used up: wait for the reset at 2026-11-30 18:00:00, or name a model of another account",
    ),
    (
        with_quota(failure(429), Quota("x"), FULL, subscription=True),
        "The plan is used up: wait for the reset at noon, or name a model of another account",
    ),
    # What OpenRouter says (wire facts E2).
    (failure(402, message="You need more credits, or fewer max_tokens (402)"), f"{LESS}"),
    (
        with_quota(failure(402, message="or fewer max_tokens (402)"), FULL),
        f"{LESS}, or wait for the reset at noon",
    ),
    (
        failure(403, type="moderation"),
        "The relay's moderation refuses what the conversation says, not the key: change it, or name another model",
    ),
    (
        failure(404, message="No endpoints found that support tool use (404)"),
        lacking("lacks tool support", "ask without tools"),
    ),
    (
        failure(404, message="No endpoints found that support the provided 'tool_choice' value. (404)"),
        lacking("does not take this tool_choice", 'leave it at "auto"'),
    ),
    (
        failure(404, message="No endpoints found that can handle the requested parameters. (404)"),
        lacking("does not take a field of the request", "leave it out"),
    ),
    (failure(404, message="No endpoints found for nobody/nothing. (404)"), "See: geode models"),
    (failure(404, message="No endpoints found matching your data policy (404)"), NOBODY),
    (failure(404, message="No allowed providers are available for the selected model. (404)"), NOBODY),
    (failure(404, message="No endpoints available matching your guardrail restrictions and data policy (404)"), NOBODY),
    # GLM answers a key of the other plan as it answers a plan that is used up (wire facts F).
    (
        replace(failure(429, code="1113"), subscription=True),
        OTHER_PLAN,
    ),
    (failure(401), "Check the key: it is wrong, expired or not one of this provider"),
    (failure(403), "Check what the key may use; the provider knows it and refuses this"),
    (failure(200, type="authentication_error"), "Check the key: it is wrong, expired or not one of this provider"),
    # No server was asked: what could not be read says itself what to do.
    (failure(None, phase="connect", type="authentication_error"), ""),
    (
        failure(None, phase="stream", type="authentication_error"),
        "Check the key: it is wrong, expired or not one of this provider",
    ),
    # A model that is not there.
    (failure(404, code="model_not_found"), "See: geode models"),
    (failure(404, "model: claude-nope", type="not_found_error"), "See: geode models"),
    (failure(429, code="1211"), "See: geode models"),
    (failure(400, type="1222"), "See: geode models"),
    (failure(404, "no such page"), ""),
    # The provider's own words have to do.
    (failure(400, "tools.0.name: too long"), ""),
    (failure(400, "the model takes no such field"), ""),
    (failure(413), ""),
    (failure(400, code="context_length_exceeded"), ""),
    (failure(503, after_output=True), ""),
    (failure(200), ""),
]


@pytest.mark.parametrize(("fault", "way"), WAYS, ids=range(len(WAYS)))
def test_the_way_on(fault: CallFailure, way: str) -> None:
    assert way_on(fault) == way


def test_a_plan_that_says_when_to_come_back_is_a_rate_limit() -> None:
    fault = replace(failure(429, hint=RetryHint(5.0, False, "5")), subscription=True)
    assert way_on(fault) == OTHER_MODEL


def test_a_chain_is_not_proposed_where_one_was_used_up() -> None:
    assert way_on(failure(503), chained=True) == CHOOSE
    told = way_on(with_quota(failure(429), RESET), chained=True)
    assert told == f"{CHOOSE}. The limit is reset at 2026-11-30 18:00:00"
    assert way_on(failure(402), chained=True) == CREDIT


# ---- a model that the server does not have -----------------------------------------------------------

KNOWN = ("claude-", "lab/", "claude-opus-4-1", "gpt-5.2")
MISSING = failure(404, "no such model", code="model_not_found")


def test_a_model_that_is_not_there_is_named_with_those_that_look_like_it() -> None:
    told = of_unknown_model(MISSING, "claude-opus-4.1", KNOWN, "lab-1")
    assert told == replace(
        MISSING,
        message='model "claude-opus-4.1" not found: no such model',
        way_out="Known and close: claude-opus-4-1",
    )
    several = of_unknown_model(MISSING, "gpt-5.3", ("gpt-5.2", "gpt-5.1"), "lab-1")
    assert several.way_out == "Known and close: gpt-5.1, gpt-5.2"
    relayed = ("anthropic/claude-opus-4.1", "anthropic/claude-opus-4.5")
    one = of_unknown_model(MISSING, "anthropic/claude-opus-4.1", relayed, "openrouter-payg")
    assert one.way_out == "Known and close: openrouter-payg/anthropic/claude-opus-4.5"


def test_families_are_no_models_to_propose() -> None:
    assert of_unknown_model(MISSING, "claude", ("claude-", "claude/"), "lab-1").way_out == MISSING.way_out


def test_a_message_that_names_the_model_stays_as_it_is() -> None:
    said = replace(MISSING, message="no gpt-9 here")
    assert of_unknown_model(said, "gpt-9", (), "lab-1") == said


def test_a_way_out_that_is_known_already_stays() -> None:
    said = replace(MISSING, way_out="ask the operator")
    assert of_unknown_model(said, "gpt-5.3", KNOWN, "lab-1").way_out == "ask the operator"


@pytest.mark.parametrize(
    "fault",
    [
        failure(500, "no such model"),
        failure(404, "no such page"),
        failure(401, "model"),
        failure(404, "No allowed providers are available for the selected model."),
    ],
)
def test_any_other_failure_stays_as_it_is(fault: CallFailure) -> None:
    assert of_unknown_model(fault, "gpt-5.3", KNOWN, "lab-1") is fault
