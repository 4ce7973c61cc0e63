"""What a tool is, for any provider."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from geode.domain.errors import Misuse
from geode.domain.json_value import clean_json, clean_text, same_json
from geode.domain.tiers import SafetyTier

# Keywords of JSON Schema that say something to a reader and nothing to a validator.
_ANNOTATIONS: Final = frozenset(("title", "description", "default", "examples", "$comment", "deprecated"))
# Keywords whose value is data, and those whose value holds schemas by name.
_VALUES: Final = frozenset(("const", "enum"))
_NAMED: Final = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """Name, description and the JSON Schema of the arguments.

    `strict` asks the provider to hold the model to the schema; a schema that does not fit the provider's
    strict form is refused before the request leaves. Raises Misuse for a blank name and for a schema that
    is not a JSON object of `type: "object"` (NaN, Infinity and keys that are not strings included).
    `memo` keeps what adapters worked out of the tool.
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    strict: bool = False
    memo: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise Misuse("tool-name", "a tool has a blank name. Give it one: @tool(name=…) or ToolSpec(name, …)")
        object.__setattr__(self, "name", clean_text(self.name))
        object.__setattr__(self, "description", clean_text(self.description))
        object.__setattr__(self, "input_schema", _object_schema(self.name, self.input_schema))


def _object_schema(name: str, schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise Misuse("tool-schema", f"tool {name}: input_schema must be a JSON object, got {type(schema).__name__}")
    try:
        cleaned: dict[str, Any] = clean_json(schema)
    except ValueError as error:
        raise Misuse("tool-schema", f"tool {name}: input_schema is not JSON: {error}") from None
    kind = cleaned.get("type")
    if kind != "object":
        has = f"has {json.dumps(kind)}" if kind is not None else "has none"
        wrap = 'Wrap it: {"type":"object","properties":{"items":…}}'
        raise Misuse("tool-schema", f'tool {name}: input_schema must have type "object", {has}. {wrap}')
    return cleaned


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What the loop needs to know of a tool: no handler, so that it can be stored.

    `schema_digest` lets a resumed run notice that a tool is not the one it was. `alternative` and
    `fallback` name the tools that stand in for this one when it keeps failing. `max_calls` bounds its
    executions in a run. `poller`: to call it again with the same arguments is what it is for.
    `idempotent`: running a call twice has the effect of once; `reconciles`: the tool can tell what became
    of a call. `origin` says which source it comes from, for a source that has to be asked for its tools.
    `forwards`: a call of it that names a tool is a call of that tool (`geode.domain.tool_search`).
    """

    tier: SafetyTier
    schema_digest: str
    timeout_seconds: float | None = None
    alternative: str | None = None
    fallback: str | None = None
    max_calls: int | None = None
    poller: bool = False
    idempotent: bool = False
    reconciles: bool = False
    origin: str = ""
    forwards: bool = False

    @property
    def asked_about(self) -> str:
        """What a person was asked about, in short: its schema, its tier, and whose it is."""
        return " ".join(filter(None, (self.schema_digest, self.tier.name, self.origin)))


def same_contract(one: ToolSpec, other: ToolSpec) -> bool:
    """Whether two tools take the same arguments: equal input schemas, whatever these say in words."""
    return same_json(_contract(one.input_schema), _contract(other.input_schema))


def _contract(schema: object) -> object:
    """A schema without its annotations. What stands under `properties` or `$defs` is a name, and no annotation."""
    if isinstance(schema, list):
        return [_contract(item) for item in cast("list[object]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: value for key, value in cast("Mapping[str, object]", schema).items() if key not in _ANNOTATIONS}
    return {key: _contract_of(key, value) for key, value in kept.items()}


def _contract_of(key: str, value: object) -> object:
    if key in _VALUES:
        return value
    if key in _NAMED and isinstance(value, Mapping):
        return {name: _contract(inner) for name, inner in cast("Mapping[str, object]", value).items()}
    if key == "required" and isinstance(value, list):
        return sorted(map(str, cast("list[object]", value)))
    return _contract(value)


def schema_digest(spec: ToolSpec, *, described: bool = False) -> str:
    """A short fingerprint of the input schema, equal for equal JSON; where it is `described`, of the description too."""
    text = json.dumps([spec.input_schema, spec.description] if described else spec.input_schema, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
