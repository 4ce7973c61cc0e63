"""How a run ends: closed sets of outcomes and reasons, and the exception for code that would rather raise."""

from __future__ import annotations

from typing import get_args, get_origin

import pytest

from geode.domain.conversation import Conversation
from geode.domain.errors import AuthenticationError, BillingError, GeodeError, ModelCallError, RequestRefused, StreamInterrupted
from geode.domain.loop.outcome import ExhaustedReason, Failed, FailedReason, Outcome
from geode.domain.usage import Usage
from tests.unit.domain.builders import failure


def test_the_six_outcomes() -> None:
    named = [(get_origin(kind) or kind).__name__ for kind in get_args(Outcome)]
    assert sorted(named) == ["Answered", "Exhausted", "Failed", "Refused", "Stopped", "Suspended"]


def test_reasons_are_closed_sets() -> None:
    assert set(get_args(ExhaustedReason)) == {
        *("max_rounds", "time_budget", "tool_budget", "token_budget", "cost_budget", "no_progress"),
        *("context_exhausted", "answer_truncated"),
    }
    assert set(get_args(FailedReason)) == {"billing_error", "auth_error", "request_error", "model_error", "answer_invalid"}


ERRORS: list[tuple[FailedReason, type[ModelCallError]]] = [
    ("billing_error", BillingError),
    ("auth_error", AuthenticationError),
    ("request_error", RequestRefused),
    ("model_error", ModelCallError),
    ("answer_invalid", ModelCallError),
]


@pytest.mark.parametrize(("reason", "kind"), ERRORS, ids=[row[0] for row in ERRORS])
def test_a_failure_carries_its_exception(reason: FailedReason, kind: type[ModelCallError]) -> None:
    error = Failed("", Conversation(), Usage(), "r", reason, "acme-payg: no", failure(500)).error
    assert type(error) is kind
    assert isinstance(error, GeodeError)
    assert (str(error), error.failure) == ("acme-payg: no", failure(500))


def test_what_broke_off_after_something_was_shown_is_an_error_of_its_own() -> None:
    cut = failure(200, phase="stream", after_output=True)
    error = Failed("", Conversation(), Usage(), "r", "model_error", "acme-payg: cut off", cut).error
    assert type(error) is StreamInterrupted
    assert (str(error), error.failure) == ("acme-payg: cut off", cut)


def test_a_call_that_was_never_made_has_no_facts() -> None:
    assert Failed("", Conversation(), Usage(), "r", "request_error", "no").error.failure is None
