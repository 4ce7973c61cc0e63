"""The schema of an answer on its way to a server: what is wrong with it there, its name, and the form that it goes out in.

Spec section 11, wire facts A5 and H. Whatever a server makes of a schema, the answer is checked here in full.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from geode.domain.json_value import dump_json
from geode.domain.projection import projected
from geode.domain.schema_profile import SchemaProfile, StrictForm
from geode.domain.schema_words import Schema, list_in, object_in, places, required_of, resolved, with_children
from geode.domain.strict import in_strict_form, load_of, strict_problem

_UNNAMED: Final = "response"
_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 64
# What a closed object cannot have in its place: left out, the answer could not be what the schema asks for.
_NOT_LOOSENED: Final = frozenset(("patternProperties", "dependentSchemas", "unevaluatedProperties"))


def answer_problem(schema: Mapping[str, Any], profile: SchemaProfile) -> str:
    """Why a server of this kind takes no answer by `schema`; "" where it does."""
    if schema.get("type") != "object":
        return "a response_schema describes an object at its root: put the value into a property of one"
    refused = [word for word in schema if word in profile.root_refused]
    if refused:
        return f"a response_schema has no {refused[0]} at its root here: put it into a property"
    form = profile.strict
    return _closed_problem(schema, profile, form) if profile.answers_closed and form is not None else ""


def reference_problem(schema: Schema) -> str:
    """Why no answer can fit `schema`, whoever is asked: it refers out of itself, where nobody follows, or to nothing in it."""
    inside = [sub for _, sub in places(schema)]
    if any("$id" in sub for sub in inside):
        return ""  # there references are read by another address
    found = (sub["$ref"] for sub in inside if isinstance(sub.get("$ref"), str))
    lost = next((one for one in found if _leads_nowhere(schema, one)), None)
    return "" if lost is None else f"a response_schema refers to {lost}, which is not in it: put it among its $defs"


def _leads_nowhere(schema: Schema, reference: str) -> bool:
    if reference.startswith("#"):
        # The others are names that `$anchor` gives, or have letters that addresses write otherwise.
        return reference[1:2] in ("", "/") and "%" not in reference and resolved(schema, reference) is None
    return True


def answer_name(schema: Mapping[str, Any]) -> str:
    """Its title in the letters of names, or `response`."""
    title = schema.get("title")
    return (_NOT_OF_NAMES.sub("_", title).strip("_") if isinstance(title, str) else "")[:_LONGEST] or _UNNAMED


def is_strict(schema: Mapping[str, Any], profile: SchemaProfile) -> bool:
    """Whether it is in the server's strict form as it stands: none is changed to be."""
    form = profile.strict
    return form is not None and strict_problem(schema, form) is None and in_strict_form(schema, form) is schema


def sent_answer(schema: Mapping[str, Any], profile: SchemaProfile) -> tuple[Schema, bool]:
    """`schema` as a server of `profile` is told it, and whether that is strict.

    Where a server has both, it is strict if nothing has to be done for it but closing objects: an optional property
    that had to be null would not fit the schema any more.
    """
    sent, form = projected(schema, replace(profile, bound_keys=False)), profile.strict
    if form is None:
        return sent, False
    if profile.answers_closed:
        return in_strict_form(_held(sent, form), form), True
    if _is_free(sent) or load_of(sent).optional or strict_problem(sent, form):
        return sent, False
    return in_strict_form(sent, form), True


def _closed_problem(schema: Schema, profile: SchemaProfile, form: StrictForm) -> str:
    """What does not go into a grammar of closed objects, also when all is left out that can be said in words."""
    if _is_free(schema):
        return "a response_schema names the properties of its answer here: objects that are free cannot be asked for"
    sent = _held(projected(schema, replace(profile, bound_keys=False)), form)
    problem = strict_problem(sent, form)
    load = load_of(sent)
    if problem is None and form.optional is not None and load.optional > form.optional:
        problem = f"/: {load.optional} optional properties, at most {form.optional} are permitted"
    if problem is None and form.unions is not None and load.unions > form.unions:
        problem = f"/: {load.unions} unions, at most {form.unions} are permitted"
    return f"in it, at {problem}" if problem else ""


def _is_free(schema: Schema) -> bool:
    """Whether its root takes any properties, and names none."""
    return not schema.get("properties") and schema.get("additionalProperties") is not False


def _held(schema: Schema, form: StrictForm) -> Schema:
    """`schema` as far as the grammar holds it. Where that has no optional properties, the answer gives them all."""
    loosened = _loosened(schema, form)
    return _required(loosened) if form.nullable else loosened


def _required(schema: Schema) -> Schema:
    node = with_children(schema, _required)
    names = list(object_in(node.get("properties")))
    return {**node, "required": names} if names and set(names) != required_of(node) else node


def _loosened(schema: Schema, form: StrictForm) -> Schema:
    """`schema` with what the grammar does not hold said in descriptions: it allows more than it did, never less."""
    node = with_children(schema, lambda child: _loosened(child, form))
    if "oneOf" in node and "anyOf" not in node:
        node = {("anyOf" if word == "oneOf" else word): value for word, value in node.items()}
    lost = {word: value for word, value in node.items() if _is_lost(word, value, form)}
    if not lost:
        return node
    kept = {word: value for word, value in node.items() if word not in lost}
    if "prefixItems" in lost:
        kept["items"] = {"anyOf": [*list_in(node["prefixItems"]), *_following(schema, node)]}
    said = f"It must also fit {dump_json({word: schema.get(word, value) for word, value in lost.items()})}"
    text = kept.get("description")
    return {**kept, "description": f"{text}\n\n{said}" if isinstance(text, str) and text else said}


def _following(schema: Schema, node: Schema) -> list[Schema]:
    """What the items after those of a tuple are, unless there are none: `false` is written as what fits nothing."""
    after = schema.get("items")
    return [node["items"]] if isinstance(after, Mapping) and "not" not in after else []


def _is_lost(word: str, value: Any, form: StrictForm) -> bool:
    if word == "format":
        return value not in form.formats
    if word == "minItems":
        return form.min_items is not None and isinstance(value, int) and value > form.min_items
    return word in form.refused and word not in _NOT_LOOSENED
