"""The answer to a request with a `response_schema`: read and validated here in full, whoever promised it (spec section 11)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from geode.domain.errors import GeodeError, Misuse
from geode.domain.json_value import clean_json
from geode.domain.reply import AdapterCallResult, Stop
from geode.ports.schema import Check, SchemaValidator

# So much of an answer that does not fit is kept for whoever looks for the reason.
MAX_RAW_CHARS: Final = 4000
_FENCED: Final = re.compile(r"```[ \t]*[\w-]*[ \t]*\r?\n(.*)```", re.DOTALL)
_CUT: Final = frozenset({Stop.MAX_TOKENS, Stop.CONTEXT_EXCEEDED, Stop.PAUSE})
_DECLINED: Final = frozenset({Stop.REFUSAL, Stop.CONTENT_FILTER})


@dataclass(frozen=True, slots=True)
class Fits:
    """The answer fits the schema. `value` is what it says, as JSON values are in Python."""

    value: Any


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """The answer is no JSON, or not of the schema: each error is `POINTER: what is wrong`. `text` is its beginning."""

    errors: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Declined:
    """The model, or its provider, declined; what it said instead was not validated."""

    text: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Truncated:
    """The answer was cut off, and its beginning was not validated."""

    text: str


TypedAnswer: TypeAlias = Fits | DoesNotFit | Declined | Truncated


class AnswerError(GeodeError):
    """There is no value: `answer` says which of `DoesNotFit`, `Declined` and `Truncated` it was."""

    def __init__(self, why: str, answer: DoesNotFit | Declined | Truncated) -> None:
        super().__init__(why)
        self.answer = answer


def check_of(schema: Mapping[str, Any], validator: SchemaValidator) -> Check:
    """Misuse for a schema that is none."""
    try:
        return validator.compile(schema)
    except ValueError as error:
        raise Misuse("response-schema", f"response_schema is no JSON Schema: {error}") from None


def typed_answer(reply: AdapterCallResult, check: Check) -> TypedAnswer:
    """What became of the answer. A code fence around all of it is taken off; nothing else is mended."""
    text = reply.text[:MAX_RAW_CHARS]
    if reply.stop in _DECLINED:
        return Declined(text, reply.refusal or {})
    if reply.stop in _CUT:
        return Truncated(text)
    try:
        value = clean_json(json.loads(_unfenced(reply.text), parse_constant=_refused))
    except (ValueError, RecursionError) as error:
        return DoesNotFit((f"/: the answer is no JSON ({str(error) or type(error).__name__})",), text)
    # A schema may be of any value, not of objects alone.
    errors = check(cast("Mapping[str, Any]", value))
    return DoesNotFit(tuple(errors), text) if errors else Fits(value)


def value_of(answer: TypedAnswer) -> Any:
    """The value; AnswerError where there is none."""
    match answer:
        case Fits(value):
            return value
        case DoesNotFit(errors):
            raise AnswerError(f"the answer does not fit response_schema: {'; '.join(errors)}", answer)
        case Declined():
            raise AnswerError("the model declined to answer", answer)
        case Truncated():
            raise AnswerError("the answer was cut off: raise Policy(max_output_tokens=…), or ask for less", answer)


def _unfenced(text: str) -> str:
    found = _FENCED.fullmatch(text.strip())
    return text if found is None else found[1]


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")
