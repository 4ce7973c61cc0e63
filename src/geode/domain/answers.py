"""The answer that a run has to give: what is kept of its schema, and what the model is told where the answer does not fit.

Spec section 11.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from geode.domain.json_value import dump_json

# The model is told so much of a schema and of each error, and so many errors.
MAX_SCHEMA_CHARS: Final = 8000
MAX_ERROR_CHARS: Final = 300
MAX_ERRORS: Final = 10
# So much of a wrong answer is told to the operator.
MAX_TEXT_CHARS: Final = 500


@dataclass(frozen=True, slots=True)
class AnswerTerms:
    """What the answer of a run has to fit: `digest` tells schemas apart, `shown` is the schema as the model is told it."""

    digest: str
    shown: str


def answer_terms(schema: Mapping[str, Any]) -> AnswerTerms:
    """What a run keeps of the schema of its answer."""
    text = dump_json(schema)
    return AnswerTerms(hashlib.sha256(text.encode()).hexdigest()[:16], _bounded(text, MAX_SCHEMA_CHARS))


def repair_text(errors: Sequence[str], terms: AnswerTerms) -> str:
    """What the model is told of an answer that does not fit: each error with its place, and the schema."""
    return "\n".join(
        (
            "Your answer does not fit the schema that it has to fit:",
            *shown_errors(errors),
            "Answer again, with nothing but the JSON of the whole answer. It has to fit this JSON Schema:",
            terms.shown,
        )
    )


def invalid_text(errors: Sequence[str], text: str, repairs: int) -> str:
    """Why a run failed whose answer does not fit: the errors, and how the answer begins."""
    after = f" after {repairs} {'repair' if repairs == 1 else 'repairs'}" if repairs else ""
    found = "; ".join(shown_errors(errors))
    return f"the answer does not fit its schema{after}: {found}. It begins: {_bounded(text, MAX_TEXT_CHARS)}"


def shown_errors(errors: Sequence[str]) -> list[str]:
    """The first errors, each bounded, and how many more there are."""
    more = [f"and {len(errors) - MAX_ERRORS} more"] if len(errors) > MAX_ERRORS else []
    return [*(_bounded(one, MAX_ERROR_CHARS) for one in errors[:MAX_ERRORS]), *more]


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
