"""The schema of an answer on its way to a server: what is wrong with it there, its name, and whether it may be strict.

Spec section 11, wire facts A5 and H. Whatever a server makes of a schema, the answer is checked here in full.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from geode.domain.schema_profile import SchemaProfile
from geode.domain.strict import in_strict_form, strict_problem

_UNNAMED: Final = "response"
_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 64


def answer_problem(schema: Mapping[str, Any], profile: SchemaProfile) -> str:
    """Why a server of this kind takes no answer by `schema`; "" where it does."""
    if schema.get("type") != "object":
        return "a response_schema describes an object at its root: put the value into a property of one"
    refused = [word for word in schema if word in profile.root_refused]
    return f"a response_schema has no {refused[0]} at its root here: put it into a property" if refused else ""


def answer_name(schema: Mapping[str, Any]) -> str:
    """Its title in the letters of names, or `response`."""
    title = schema.get("title")
    return (_NOT_OF_NAMES.sub("_", title).strip("_") if isinstance(title, str) else "")[:_LONGEST] or _UNNAMED


def is_strict(schema: Mapping[str, Any], profile: SchemaProfile) -> bool:
    """Whether it is in the server's strict form as it stands: none is changed to be."""
    form = profile.strict
    return form is not None and strict_problem(schema, form) is None and in_strict_form(schema, form) is schema
