"""`answer=`: what the answer of a run has to be, as a type or as a JSON Schema."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, cast

import typing_extensions

from geode.application.structured import Wanted
from geode.domain.answer_schema import answer_problem, reference_problem
from geode.domain.answers import answer_terms
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json
from geode.domain.root_schema import merged_root
from geode.domain.schema_profile import PLAIN
from geode.ports.schema import SchemaValidator

_WAY_OUT = "answer= takes a pydantic model, a dataclass, a TypedDict or a JSON Schema as a mapping"


def wanted_answer(answer: object, validator: SchemaValidator) -> Wanted | None:
    """What `answer=` wants, or None without one. Misuse for what no answer can fit."""
    if answer is None:
        return None
    if isinstance(answer, Mapping):
        return _wanted(_plain(cast("Mapping[str, Any]", answer)), validator, lambda value: value)
    if not _is_typed(answer):
        raise Misuse("answer-schema", f"{_WAY_OUT}; got {answer!r:.80}")
    from geode.entrypoints.tools.described import described_answer

    schema, convert = described_answer(answer)
    # A type that contains itself is a reference at its root, which no server takes.
    return _wanted(dict(merged_root(schema, ())), validator, convert)


def _is_typed(answer: object) -> bool:
    if not isinstance(answer, type):
        # With parameters, such as Page[Item].
        origin = typing.get_origin(answer)
        return isinstance(origin, type) and _is_typed(origin)
    if is_dataclass(answer) or typing_extensions.is_typeddict(answer) or typing.is_typeddict(answer):
        return True
    return hasattr(answer, "model_json_schema")


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        return cast("Mapping[str, Any]", clean_json(dict(schema)))
    except ValueError as error:
        raise Misuse("answer-schema", f"the JSON Schema of answer= is no JSON: {error}") from None


def _wanted(schema: Mapping[str, Any], validator: SchemaValidator, convert: Any) -> Wanted:
    try:
        check = validator.compile(schema)
    except ValueError as error:
        raise Misuse("answer-schema", f"the mapping of answer= is no JSON Schema: {error}") from None
    if problem := answer_problem(schema, PLAIN) or reference_problem(schema):
        raise Misuse("answer-schema", f"answer=: {problem}")
    return Wanted(schema, check, convert, answer_terms(schema))
