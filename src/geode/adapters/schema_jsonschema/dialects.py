"""The drafts of JSON Schema as validators that count their work, and the check of a schema itself."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urljoin

from jsonschema import (
    Draft4Validator,
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
    FormatChecker,
)
from jsonschema.validators import extend, validator_for
from jsonschema_specifications import REGISTRY
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012, specification_with

from geode.adapters.schema_jsonschema.keywords import FEWER_ERRORS, safe_keywords
from geode.adapters.schema_jsonschema.meter import METER, Shape

# The stubs of these say less than they are.
_extended: Any = extend
_contents: Any = REGISTRY.contents
_DRAFTS: Final = (Draft202012Validator, Draft201909Validator, Draft7Validator, Draft6Validator, Draft4Validator)
# The patterns in the drafts' own schemas take no time: this is never reached.
_PATTERNS_OF_DRAFTS_SECONDS: Final = 10.0
# The values of these are data: nothing in them is a schema.
_DATA: Final = frozenset(("const", "default", "enum", "examples"))


def draft_of(schema: Mapping[str, Any]) -> Any:
    """The draft that `$schema` names; 2020-12 where it names none of those above."""
    try:
        found = validator_for(schema, default=Draft202012Validator) if isinstance(schema.get("$schema"), str) else None
    except ValueError:  # what it names is not even an address
        found = None
    return found if found in _DRAFTS else Draft202012Validator


@cache
def counting(draft: Any) -> Any:
    """The draft's validator class, with work that is counted."""
    return _extended(draft, safe_keywords(draft.VALIDATORS))


@cache
def plain(draft: Any) -> Any:
    """The draft's validator class for work that needs no counting; what it says is the same."""
    return _extended(draft, FEWER_ERRORS)


def undeclared(schema: Any) -> Any:
    """A copy without any `$schema`: where `jsonschema` meets one, it goes on with a class whose work is not counted."""
    if isinstance(schema, list):
        return [undeclared(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: one if name in _DATA else undeclared(one)
        for name, one in schema.items()
        if name != "$schema" or not isinstance(one, str)
    }


def errors_of_schema(schema: Any, draft: Any, shape: Shape) -> Iterator[Any]:
    """What is wrong with the schema, by its draft's own schema; and with each pattern, as one of geode's engine.

    The patterns, compiled, are left in `shape`. What `check_schema` of jsonschema does, ten times faster.
    """
    METER.begin(shape, steps=math.inf, seconds=_PATTERNS_OF_DRAFTS_SECONDS)
    yield from _schema_checker(draft).iter_errors(schema)


@cache
def _schema_checker(draft: Any) -> Any:
    formats = FormatChecker(formats=())
    formats.checks("regex", raises=ValueError)(_is_pattern)
    return counting(draft)(_whole(draft.META_SCHEMA), format_checker=formats, registry=Registry())


def _is_pattern(value: object) -> bool:
    if isinstance(value, str):
        METER.compiled(value)
    return True


def _whole(metaschema: Mapping[str, Any]) -> Any:
    """A draft's schema of schemas in one document: what it spreads over several is ten times slower to follow."""
    if "$vocabulary" not in metaschema:
        return undeclared(metaschema)
    parts = [_contents(urljoin(metaschema["$id"], part["$ref"])) for part in metaschema["allOf"]]
    merged = {
        "type": metaschema["type"],
        "properties": {name: one for part in (*parts, metaschema) for name, one in part["properties"].items()},
        "$defs": {name: one for part in parts for name, one in part.get("$defs", {}).items()},
    }
    text = re.sub(r'"\$(dynamicRef": "#meta|recursiveRef": "#)"', '"$ref": "#"', json.dumps(undeclared(merged)))
    return json.loads(re.sub(r'"\$ref": "meta/[a-z-]+#', '"$ref": "#', text))


def registry_with(schema: Any, draft: Any) -> Any:
    """What references in the schema can find: itself, and the schemas of the drafts. Nothing is fetched.

    Nothing at all for None, for a schema without references.
    """
    if schema is None:
        return Registry()
    resource: Resource[Any] = specification_with(draft.META_SCHEMA["$schema"], default=DRAFT202012).create_resource(schema)
    # Crawled now, or it would be again for each reference to an anchor.
    return _registry().with_resource(resource.id() or "", resource).crawl()


@cache
def _registry() -> Any:
    known: Registry[Any] = Registry()
    for uri in REGISTRY:
        contents = _contents(uri)
        specification = specification_with(contents["$schema"], default=DRAFT202012)
        known = known.with_resource(uri, specification.create_resource(undeclared(contents)))
    return known.crawl()
