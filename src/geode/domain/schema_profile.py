"""What servers take of a JSON Schema, as data (wire facts A1, H; recorded traffic)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

TupleForm: TypeAlias = Literal["prefixItems", "items"]


@dataclass(frozen=True, slots=True)
class StrictForm:
    """The part of JSON Schema that a server turns into a grammar.

    `refused` are the words that are not permitted, `formats` those of `format` that are; `nullable` says
    whether an optional property has to be a required one that may be null. `recursion`: may a definition
    lead back to itself? `scalars`: enums of plain values alone. The bounds are those of one schema
    (`levels` of objects, `properties`, `enum_values`, `characters` of names and values), then those of
    all strict tools of a request together (`tools`, `optional` properties, `unions`); None: none known.
    """

    refused: frozenset[str]
    formats: frozenset[str]
    nullable: bool = False
    recursion: bool = True
    scalars: bool = False
    min_items: int | None = None
    levels: int | None = None
    properties: int | None = None
    enum_values: int | None = None
    characters: int | None = None
    tools: int | None = None
    optional: int | None = None
    unions: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaProfile:
    """What one kind of server takes of a tool's schema; `name` tells profiles apart.

    `root_refused` are words that must not stand at the root. `root_properties` says whether the root must
    have those, `root_required` whether a root with properties must say which of them are required,
    `array_items` whether an array must say what it holds, `tuples` how a list of different items is
    written, `bound_keys` whether top-level properties have an alphabet.
    `strict` is None for a server that has no such mode; `most_tools` bounds the tools of a request (wire facts A1).
    `answers_closed`: the schema of an answer becomes a grammar in any case.
    """

    name: str
    root_refused: frozenset[str]
    root_properties: bool = True
    root_required: bool = False
    array_items: bool = True
    tuples: TupleForm = "items"
    bound_keys: bool = False
    strict: StrictForm | None = None
    most_tools: int | None = None
    answers_closed: bool = False


_UNIONS: Final = ("oneOf", "anyOf", "allOf")
_CONDITIONS: Final = (
    *("not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "patternProperties"),
    *("propertyNames", "unevaluatedProperties", "unevaluatedItems", "minProperties", "maxProperties", "contains"),
    *("minContains", "maxContains", "uniqueItems", "prefixItems", "additionalItems"),
)
_BOUNDS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("maxItems", "pattern"),
)
_FORMATS: Final = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_OPENAI_STRICT: Final = StrictForm(
    # Bounds and patterns are let through: which of them are taken is the model's.
    refused=frozenset(("oneOf", "allOf", *_CONDITIONS)),
    formats=_FORMATS,
    nullable=True,
    levels=10,
    properties=5000,
    enum_values=1000,
    characters=120_000,
)
_ANTHROPIC_STRICT: Final = StrictForm(
    refused=frozenset(("oneOf", *_CONDITIONS, *_BOUNDS)),
    formats=_FORMATS | {"uri"},
    recursion=False,
    scalars=True,
    min_items=1,
    tools=20,
    optional=24,
    unions=16,
)
_OPENAI_ROOT: Final = frozenset((*_UNIONS, "enum", "not"))

ANTHROPIC: Final = SchemaProfile(
    "anthropic",
    frozenset(_UNIONS),
    root_properties=False,
    array_items=False,
    tuples="prefixItems",
    bound_keys=True,
    strict=_ANTHROPIC_STRICT,
    answers_closed=True,
)
OPENAI: Final = SchemaProfile("openai", _OPENAI_ROOT, strict=_OPENAI_STRICT, most_tools=128)
# The programs: one makes a tool of the schema of an answer, the other has it strict in any case.
CLAUDE_CLI: Final = replace(ANTHROPIC, name="claude-cli", answers_closed=False)
CODEX_CLI: Final = replace(OPENAI, name="codex-cli", answers_closed=True)
# What any server that knows JSON Schema takes: for reading a schema that somebody else wrote.
PLAIN: Final = SchemaProfile("plain", frozenset(), root_properties=False, array_items=False, tuples="prefixItems")
# Strict is passed on to whoever serves the model.
OPENROUTER: Final = SchemaProfile("openrouter", _OPENAI_ROOT, strict=_OPENAI_STRICT)
GLM: Final = SchemaProfile("glm", _OPENAI_ROOT)
# Some gateways take no schema without a list of what is required.
GENERIC: Final = SchemaProfile("generic", _OPENAI_ROOT, root_required=True, strict=_OPENAI_STRICT)
