"""Tools as one kind of server takes them: what is sent of a tool, what is wrong with it, and its calls taken back.

A tool keeps what was worked out of it, so that a request with known tools pays nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from geode.domain.content import ToolUseBlock
from geode.domain.json_value import dump_json
from geode.domain.projection import projected
from geode.domain.reply import AdapterCallResult, ReplyItem
from geode.domain.schema_profile import SchemaProfile, StrictForm
from geode.domain.schema_words import Schema, list_in, object_in, required_of, resolved
from geode.domain.strict import Load, accepts_null, in_strict_form, load_of, strict_problem
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Turn
from geode.domain.wire_names import clash, sent_key, sent_name

_WAY_OUT = "Leave strict off for this tool, or change its schema"


def sent_schema(tool: ToolSpec, profile: SchemaProfile) -> Schema:
    """The schema of `tool` as a server of `profile` is told it."""
    schema = projected(tool.input_schema, profile)
    return in_strict_form(schema, profile.strict) if tool.strict and profile.strict else schema


def tools_problem(tools: Sequence[ToolSpec], profile: SchemaProfile) -> str | None:
    """Why these tools cannot be sent together to a server of `profile`: the tools by name, the place, the way out."""
    if pair := clash((tool.name for tool in tools), sent_name):
        one, other = map(dump_json, pair)
        return f"the tools {one} and {other} would go out under one name, {sent_name(pair[0])}. Rename one of them"
    if profile.most_tools is not None and len(tools) > profile.most_tools:
        return f"{len(tools)} tools are too many for this server, which takes {profile.most_tools}; give the session fewer"
    for tool in tools:
        if problem := _judged(tool, profile).problem:
            return problem
    return _strict_together([tool for tool in tools if tool.strict], profile)


def restored(reply: AdapterCallResult, tools: Sequence[ToolSpec], profile: SchemaProfile) -> AdapterCallResult:
    """`reply` with its calls as the tools know them: their own names, those of their properties, and no null that
    stands for a property left out of a strict tool. The very same reply where nothing was renamed.

    A call of no tool, or with arguments that are no object, keeps its own.
    """
    if not reply.calls:
        return reply
    named = {sent_name(tool.name): tool for tool in tools}
    items = tuple(_restored(item, named, profile) for item in reply.items)
    changed = any(one is not other for one, other in zip(items, reply.items, strict=True))
    return replace(reply, items=items) if changed else reply


def names_back(tools: Sequence[ToolSpec]) -> Mapping[str, str]:
    """By the name on the wire, the tool's own: those that differ."""
    return {sent: tool.name for tool in tools if (sent := sent_name(tool.name)) != tool.name}


def keys_sent(tools: Sequence[ToolSpec], profile: SchemaProfile) -> Mapping[str, Mapping[str, str]]:
    """By tool, the names under which its top-level properties go out: those that differ. Other keys of a call stay."""
    if not profile.bound_keys:
        return {}
    return {tool.name: keys for tool in tools if (keys := _keys_sent(tool, profile))}


def with_keys(turn: Turn, keys: Mapping[str, Mapping[str, str]]) -> Turn:
    """`turn` with its calls under the names that `keys_sent` gave; `turn` itself if it calls none of those tools."""
    if not isinstance(turn, AssistantTurn) or not any(call.name in keys for call in turn.calls):
        return turn
    return replace(turn, items=tuple(_with_keys(item, keys) for item in turn.items))


def _with_keys(item: ReplyItem, keys: Mapping[str, Mapping[str, str]]) -> ReplyItem:
    if not isinstance(item, ToolUseBlock) or item.name not in keys:
        return item
    sent = keys[item.name]
    return replace(item, input={sent.get(key, key): value for key, value in item.input.items()})


# ---- refusing ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is wrong with a tool, and what it adds to the bounds of a request."""

    problem: str | None = None
    load: Load = Load()


def _judged(tool: ToolSpec, profile: SchemaProfile) -> _Judged:
    key = f"judged {profile.name}"
    if key not in tool.memo:
        tool.memo[key] = _judge(tool, profile)
    judged: _Judged = tool.memo[key]
    return judged


def _judge(tool: ToolSpec, profile: SchemaProfile) -> _Judged:
    about = f"tool {tool.name}"
    if profile.bound_keys and (pair := clash(_own_keys(tool, profile), sent_key)):
        one, other = map(dump_json, pair)
        return _Judged(f"{about}: the properties {one} and {other} would go out under one name. Rename one of them")
    if not tool.strict:
        return _Judged()
    if profile.strict is None:
        return _Judged(f"{about}: this server has no strict tools. Leave strict off for this tool")
    refused = [word for word in ("$ref", *sorted(profile.root_refused)) if word in tool.input_schema]
    problem = f"/{refused[0]}: it is not permitted at the root" if refused else None
    schema = projected(tool.input_schema, profile)
    problem = problem or strict_problem(schema, profile.strict)
    if problem:
        return _Judged(f"{about}: its schema cannot be strict here; {problem}. {_WAY_OUT}")
    return _Judged(None, load_of(in_strict_form(schema, profile.strict)))


def _strict_together(tools: Sequence[ToolSpec], profile: SchemaProfile) -> str | None:
    form: StrictForm | None = profile.strict
    if form is None:
        return None
    loads = [_judged(tool, profile).load for tool in tools]
    counted = (
        (len(tools), form.tools, "strict tools"),
        (sum(load.optional for load in loads), form.optional, "optional properties in strict tools"),
        (sum(load.unions for load in loads), form.unions, "unions in strict tools"),
    )
    for number, most, what in counted:
        if most is not None and number > most:
            heaviest = max(zip(loads, tools, strict=True), key=lambda one: one[0].optional + one[0].unions)[1].name
            return f"{number} {what}, this server takes {most}. Leave strict off for some of them, such as {heaviest}"
    return None


# ---- taking back -------------------------------------------------------------------------------


def _restored(item: ReplyItem, named: Mapping[str, ToolSpec], profile: SchemaProfile) -> ReplyItem:
    tool = named.get(item.name) if isinstance(item, ToolUseBlock) else None
    if tool is None or not isinstance(item, ToolUseBlock):
        return item
    input = item.input
    if profile.bound_keys:
        back = {sent: own for own, sent in _keys_sent(tool, profile).items()}
        input = {back.get(key, key): value for key, value in input.items()} if back else input
    if tool.strict and profile.strict and profile.strict.nullable:
        input = _without_nulls(input, tool.input_schema, tool.input_schema)
    return item if input is item.input and item.name == tool.name else replace(item, name=tool.name, input=input)


def _own_keys(tool: ToolSpec, profile: SchemaProfile) -> list[str]:
    """The top-level properties under their own names, those of merged branches included."""
    return list(object_in(projected(tool.input_schema, replace(profile, bound_keys=False)).get("properties")))


def _keys_sent(tool: ToolSpec, profile: SchemaProfile) -> Mapping[str, str]:
    key = f"keys {profile.name}"
    if key not in tool.memo:
        tool.memo[key] = {own: sent for own in _own_keys(tool, profile) if (sent := sent_key(own)) != own}
    sent_keys: Mapping[str, str] = tool.memo[key]
    return sent_keys


def _without_nulls(value: Any, schema: Schema, root: Schema) -> Any:
    """`value` without the nulls of properties that are optional and do not take null; `value` itself if there are none."""
    schema = _met(value, schema, root)
    if isinstance(value, list):
        items = object_in(schema.get("items"))
        members = [_without_nulls(one, items, root) for one in value]
        return value if all(one is other for one, other in zip(members, value, strict=True)) else members
    if not isinstance(value, Mapping):
        return value
    properties, required = object_in(schema.get("properties")), required_of(schema)
    kept: dict[str, Any] = {}
    for name, item in value.items():
        inner = object_in(properties.get(name))
        if item is not None or name not in properties or name in required or accepts_null(inner, root):
            kept[name] = _without_nulls(item, inner, root)
    same = len(kept) == len(value) and all(item is value[name] for name, item in kept.items())
    return value if same else kept


def _met(value: Any, schema: Schema, root: Schema) -> Schema:
    """The schema behind references, and of a union the branch that `value` was made for."""
    seen = set[str]()
    while True:
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            schema = resolved(root, reference) or {}
        elif branch := next((one for one in list_in(schema.get("anyOf")) if _made_for(value, one, root)), None):
            schema = object_in(branch)
        else:
            return schema


def _made_for(value: Any, branch: Any, root: Schema) -> bool:
    """Whether a strict branch can have made `value`: it has all properties of its object and no others, and its constants."""
    branch = object_in(branch)
    seen = set[str]()
    while isinstance(reference := branch.get("$ref"), str) and reference not in seen:
        seen.add(reference)
        branch = resolved(root, reference) or {}
    if isinstance(value, list):
        return "items" in branch
    if not isinstance(value, Mapping):
        return False
    properties = object_in(branch.get("properties"))
    return properties.keys() == value.keys() and all(_may_be(value[name], object_in(one)) for name, one in properties.items())


def _may_be(value: Any, schema: Schema) -> bool:
    if "const" in schema:
        return bool(schema["const"] == value)
    return value is None or "enum" not in schema or value in list_in(schema["enum"])
