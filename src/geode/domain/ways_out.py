"""What a person can do about a call that failed for good (spec section 7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from geode.domain.failures import (
    FLAGGED,
    RETRYABLE,
    CallFailure,
    FailureClass,
    allows_nobody,
    classify_retry_error,
    effective_status,
    lacks_endpoint,
    provider_code,
)
from geode.domain.naming import closest

_UNKNOWN_MODEL_CODES: Final = frozenset({"model_not_found", "1211", "1222"})
# Wire facts E2 and F: GLM says so of an account in arrears, and of a key that came to the address of another plan.
_ARREARS_OR_ADDRESS: Final = "1113"
# OpenRouter's words where the credit would do for a shorter reply.
_TOO_DEAR: Final = "fewer max_tokens"
_REFUSALS: Final = frozenset({FailureClass.REQUEST_FATAL, FailureClass.OTHER_CLIENT})
# Spec section 7: what passes by itself and did not names /model and [model.fallbacks].
_OTHER_MODEL: Final = "Another model may do: choose one (/model, geode model)"
_NAME_SOME: Final = "or name some to fall back on in [model.fallbacks] of routing.toml"


def way_on(failure: CallFailure, *, chained: bool = False) -> str:
    """The way out in a sentence without its full stop; "" where the provider's own words have to do.

    `chained`: there were models to fall back on, so to name some is no news.
    """
    match classify_retry_error(failure):
        case FailureClass.BILLING:
            return _of_billing(failure)
        case FailureClass.AUTH if failure.status is None and failure.phase == "connect":
            return ""  # no server was asked: what could not be read says itself what to do
        case FailureClass.AUTH if failure.error_type == FLAGGED:
            return "The relay's moderation refuses what the conversation says, not the key: change it, or name another model"
        case FailureClass.AUTH if effective_status(failure) == 401:
            return "Check the key: it is wrong, expired or not one of this provider"
        case FailureClass.AUTH:
            return "Check what the key may use; the provider knows it and refuses this"
        case FailureClass.REQUEST_FATAL if lacks_endpoint(failure):
            return _of_no_endpoint(failure)
        case FailureClass.REQUEST_FATAL if allows_nobody(failure):
            return (
                "The model is there, and what your options and the settings of your account allow is nobody who serves it: "
                "widen them, or name another model"
            )
        case FailureClass.REQUEST_FATAL | FailureClass.OTHER_CLIENT if _is_unknown_model(failure):
            return "See: geode models"
        case kind if kind in RETRYABLE:
            reset = _reset(failure) if kind is FailureClass.RATE_LIMIT else ""
            other = _OTHER_MODEL if chained else f"{_OTHER_MODEL}, {_NAME_SOME}"
            return f"{other}. The limit is reset at {reset}" if reset else other
        case _:
            return ""


def of_unknown_model(failure: CallFailure, model: str, known: Iterable[str], namespace: str) -> CallFailure:
    """The failure of a server that has no such model: it names the model, and those of the `known` ones that look like it,
    by the ids under which they are asked for: those of a relay in its `namespace`."""
    if classify_retry_error(failure) not in _REFUSALS or not _is_unknown_model(failure):
        return failure
    message = failure.message if model in failure.message else f'model "{model}" not found: {failure.message}'
    close = closest(model, (name for name in known if name[-1:] not in ("-", "/") and name != model))
    ids = (f"{namespace}/{name}" if "/" in name else name for name in close)
    way_out = f"Known and close: {', '.join(ids)}" if close and not failure.way_out else failure.way_out
    return replace(failure, message=message, way_out=way_out)


def _of_no_endpoint(failure: CallFailure) -> str:
    said = failure.message.lower()
    if "tool_choice" in said:
        lacks, instead = "does not take this tool_choice", 'leave it at "auto"'
    elif "tool" in said:
        lacks, instead = "lacks tool support", "ask without tools"
    else:
        lacks, instead = "does not take a field of the request", "leave it out"
    return f"The model, or the route that the options allow to it, {lacks}: name another model, {instead}, or widen the options"


def _of_billing(failure: CallFailure) -> str:
    reset = _reset(failure)
    if failure.subscription and provider_code(failure) == _ARREARS_OR_ADDRESS:
        return (
            "The plan is used up, or the key is none of this plan: one of pay-as-you-go is answered so at the plan's address. "
            f"Wait for the reset{f' at {reset}' if reset else ''}, check the key, or name a model of another account"
        )
    if failure.subscription:
        return f"The plan is used up: wait for the reset{f' at {reset}' if reset else ''}, or name a model of another account"
    wait = f", or wait for the reset at {reset}" if reset else ""
    if provider_code(failure) == _ARREARS_OR_ADDRESS:
        return (
            f"Add credit in the account at the provider, or check base_url: a key of one plan is answered so on another's{wait}"
        )
    if _TOO_DEAR in failure.message:
        return f"Add credit, or ask for less: Policy(max_output_tokens=…){wait}"
    return f"Add credit or raise the limit in the account at the provider{wait}"


def _reset(failure: CallFailure) -> str:
    """When the limit is full again that ran out; where none says that it did, any that tells."""
    told = [quota for quota in failure.quota if quota.reset_words]
    used_up = [quota for quota in told if quota.remaining == 0]
    best = used_up or told
    return best[0].reset_words if best else ""


def _is_unknown_model(failure: CallFailure) -> bool:
    """By code, or the 404 of a server that names no other thing that is missing, nor says that nobody serves it so."""
    if provider_code(failure) in _UNKNOWN_MODEL_CODES or failure.error_type in _UNKNOWN_MODEL_CODES:
        return True
    if lacks_endpoint(failure) or allows_nobody(failure):
        return False
    said = failure.message
    return effective_status(failure) == 404 and ("model" in said.lower() or said.lower().startswith("no endpoints found for "))
