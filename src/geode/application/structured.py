"""An answer that has to fit a schema: read and validated here in full, whoever promised it (spec section 11).

The answer of a run, and that to a call beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

from geode.domain.answer_schema import reference_problem
from geode.domain.answers import AnswerTerms
from geode.domain.errors import GeodeError, Misuse
from geode.domain.json_value import clean_json
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.verdicts import AnswerVerdict, Invalid, Valid
from geode.ports.schema import Check, SchemaValidator

# So much of an answer that does not fit is kept for whoever looks for the reason.
MAX_RAW_CHARS: Final = 4000
# Some models leave out the end of a fence.
# Nothing that was passed is tried again: a model may write spaces without end.
_FENCED: Final = re.compile(r"```[ \t]*+[\w-]*+[ \t]*+\r?\n(.*?)(?:```)?", re.DOTALL)
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


class Misfit(ValueError):
    """A value that fits the schema is none of the type all the same; each error is `POINTER: what is wrong`."""

    def __init__(self, errors: tuple[str, ...]) -> None:
        super().__init__("; ".join(errors))
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the answers of a session have to fit: the whole schema, and what makes the value of a type of JSON.

    `convert` raises Misfit, or whatever the type's own code raises.
    """

    schema: Mapping[str, Any]
    check: Check
    convert: Callable[[Any], Any]
    terms: AnswerTerms

    def read(self, text: str) -> Fits | DoesNotFit:
        """The typed value that `text` says, or what is wrong with it."""
        found = _read(text, self.check)
        if isinstance(found, DoesNotFit):
            return found
        try:
            return Fits(self.convert(found.value))
        except Misfit as misfit:
            return DoesNotFit(misfit.errors, text[:MAX_RAW_CHARS])
        except Exception as error:
            return DoesNotFit((f"/: {type(error).__name__}: {error}",), text[:MAX_RAW_CHARS])

    def verdict(self, text: str) -> AnswerVerdict:
        """What the loop is told of `text`."""
        found = self.read(text)
        return Valid() if isinstance(found, Fits) else Invalid(found.errors)

    def value_of(self, text: str) -> Any:
        """The typed value of an answer that was found to fit; AnswerError where the type does not take it any more."""
        return value_of(self.read(text))


def check_of(schema: Mapping[str, Any], validator: SchemaValidator) -> Check:
    """Misuse for a schema that is none, or that no answer can fit."""
    try:
        check = validator.compile(schema)
    except ValueError as error:
        raise Misuse("response-schema", f"response_schema is no JSON Schema: {error}") from None
    if problem := reference_problem(schema):
        raise Misuse("response-schema", problem)
    return check


def typed_answer(reply: AdapterCallResult, check: Check) -> TypedAnswer:
    """What became of the answer. A code fence around all of it is taken off; nothing else is mended."""
    text = reply.text[:MAX_RAW_CHARS]
    if reply.stop in _DECLINED:
        return Declined(text, reply.refusal or {})
    if reply.stop in _CUT:
        return Truncated(text)
    return _read(reply.text, check)


def _read(whole: str, check: Check) -> Fits | DoesNotFit:
    text = whole[:MAX_RAW_CHARS]
    try:
        value = clean_json(json.loads(unfenced(whole), parse_constant=_refused))
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


def unfenced(text: str) -> str:
    """`text` without a code fence around all of it."""
    found = _FENCED.fullmatch(text.strip())
    return text if found is None else found[1]


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")
