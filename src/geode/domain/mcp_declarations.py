"""Servers of the Model Context Protocol as files declare them: `[mcp.servers.NAME]`, and the `mcpServers` of other programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from returns.result import Failure, Result, Success

from geode.domain.configuration import Problem, toml_kind
from geode.domain.errors import Misuse
from geode.domain.mcp_server import NAMED_VARIABLE, McpServer
from geode.domain.naming import closest

Form: TypeAlias = Literal["toml", "json"]
LookUp: TypeAlias = Callable[[str], str | None]
Kind: TypeAlias = Literal["text", "texts", "table", "names", "flag", "number"]

_SECONDS: Final = ("start_timeout_seconds", "list_timeout_seconds", "call_timeout_seconds")
_FLAGS: Final = ("required", "trusted", "prefix", "deferred", "framed", "descriptions", "disabled")
_TOML: Final[Mapping[str, Kind]] = {
    "command": "texts",
    "url": "text",
    "env": "names",
    "headers": "table",
    "cwd": "text",
    "tiers": "table",
    **dict.fromkeys(_FLAGS, "flag"),
    **dict.fromkeys(_SECONDS, "number"),
}
_JSON: Final[Mapping[str, Kind]] = {
    "command": "text",
    "args": "texts",
    "env": "table",
    "cwd": "text",
    "type": "text",
    "url": "text",
    "headers": "table",
    "disabled": "flag",
}
_WANTED: Final[Mapping[Kind, str]] = {
    "text": "text",
    "texts": "a list of texts",
    "table": "a table of texts",
    "flag": "true or false",
    "names": "a list of names of variables, or a table of values",
    "number": "a number of seconds",
}
# What other programs call it, by its name in config.toml.
_ELSEWHERE: Final = {
    "args": 'command = ["PROGRAM", "ARGUMENT", …]',
    "timeout": "start_timeout_seconds, list_timeout_seconds or call_timeout_seconds",
}
# What others call the transport that is spoken to an address.
_HTTP: Final = frozenset(("http", "streamable-http", "streamableHttp", "streamable_http"))
_BRACED: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
# What makes a program's tools run without being asked about.
_RAISES_TRUST: Final = ("trusted", "tiers")


@dataclass(frozen=True, slots=True)
class Declaration:
    """A server as it is declared. `settings` are those of McpServer, in which variables are still named."""

    name: str
    settings: Mapping[str, Any] = field(repr=False)
    form: Form = "toml"
    disabled: bool = False

    @property
    def required(self) -> bool:
        """Whether a run needs it."""
        return self.settings.get("required", True) is not False

    @property
    def raises_trust(self) -> bool:
        """Whether it says that calls of its tools need no answer of a person."""
        return any(self.settings.get(word) for word in _RAISES_TRUST)

    def without_trust(self) -> Declaration:
        """The same, saying nothing of whether its tools can be trusted."""
        kept = {word: value for word, value in self.settings.items() if word not in _RAISES_TRUST}
        return Declaration(self.name, kept, self.form, self.disabled)


@dataclass(frozen=True, slots=True)
class McpTable:
    """The table `[mcp]` of a config.toml, beside what is a setting like any other."""

    servers: tuple[Declaration, ...] = ()
    trust_projects: tuple[str, ...] = ()


def mcp_table(document: Mapping[str, object]) -> tuple[McpTable, tuple[Problem, ...]]:
    """What a config.toml says below `mcp`, and everything that is wrong with it."""
    table = document.get("mcp")
    if not isinstance(table, Mapping):
        return McpTable(), ()
    mcp = cast("Mapping[str, object]", table)
    servers, problems = _tables(mcp.get("servers", {}))
    trusted = mcp.get("trust_projects", [])
    if not _is_texts(trusted):
        form = 'trust_projects must be a list of folders: ["~/code/site"]'
        problems = [*problems, Problem(("mcp", "trust_projects"), "value", f"{form}, got {toml_kind(trusted)}")]
        trusted = []
    return McpTable(tuple(servers), tuple(cast("list[str]", trusted))), tuple(problems)


def _tables(value: object) -> tuple[list[Declaration], list[Problem]]:
    path = ("mcp", "servers")
    if not isinstance(value, Mapping):
        return [], [Problem(path, "value", f"mcp.servers must be a table, got {toml_kind(value)}. Write [mcp.servers.NAME]")]
    found: list[Declaration] = []
    problems: list[Problem] = []
    for name, given in cast("Mapping[str, object]", value).items():
        said = list(_said(name, given, _TOML, (*path, name)))
        wrong = [one for one in said if isinstance(one, Problem)]
        declaration = _declaration(name, dict(one for one in said if not isinstance(one, Problem)), "toml")
        if not wrong and (problem := _made(declaration).swap().value_or("")):
            wrong = [Problem((*path, name), "value", problem)]
        problems += wrong
        found += [] if wrong else [declaration]
    return found, problems


def servers_of_others(document: object) -> tuple[tuple[Declaration, ...], tuple[Problem, ...]]:
    """The servers of a JSON file of other programs. Problems of the kind `key` are of words that are passed over."""
    if not isinstance(document, Mapping) or not isinstance(document.get("mcpServers"), Mapping):
        form = '{"mcpServers": {"NAME": {"command": …, "args": […]}}}'
        return (), (Problem((), "value", f"this has no servers: write {form}"),)
    found: list[Declaration] = []
    problems = [_passed_over((word,)) for word in cast("Mapping[str, object]", document) if word != "mcpServers"]
    for name, given in cast("Mapping[str, object]", document["mcpServers"]).items():
        said = list(_said(name, given, _JSON, ("mcpServers", name)))
        wrong = [one for one in said if isinstance(one, Problem)]
        settings: dict[str, Any] = dict(one for one in said if not isinstance(one, Problem))
        wrong += _transport(name, settings.pop("type", None))
        problems += wrong
        if not any(one.kind == "value" for one in wrong):
            words = (settings.pop("command", None), *settings.pop("args", ()))
            command = {} if words[0] is None else {"command": words}
            found.append(_declaration(name, {**settings, **command}, "json"))
    return tuple(found), tuple(problems)


def _transport(name: str, kind: object) -> Iterator[Problem]:
    if kind == "sse":
        yield Problem(("mcpServers", name, "type"), "value", f"{name}: the transport sse is not spoken; the newer one is http")
    elif kind is not None and kind != "stdio" and kind not in _HTTP:
        yield Problem(("mcpServers", name, "type"), "value", f"{name}: its type is unknown. Known: stdio, http")


def _declaration(name: str, settings: dict[str, Any], form: Form) -> Declaration:
    disabled = settings.pop("disabled", False) is True
    return Declaration(name, settings, form, disabled)


def _said(name: str, given: object, known: Mapping[str, Kind], path: tuple[str, ...]) -> Iterator[tuple[str, object] | Problem]:
    """Every word with its value, or what is wrong with it; a value is never shown, for it may be a secret."""
    if not isinstance(given, Mapping):
        yield Problem(path, "value", f"{'.'.join(path)} must be a table, got {toml_kind(given)}")
        return
    for word, value in cast("Mapping[str, object]", given).items():
        if word not in known:
            yield _passed_over((*path, word)) if known is _JSON else Problem((*path, word), "key", _unknown(name, word))
        elif not _is(known[word], value):
            text = f"{word} of the MCP server {name} must be {_WANTED[known[word]]}, got {toml_kind(value)}"
            yield Problem((*path, word), "value", text)
        else:
            yield word, value


def _passed_over(path: tuple[str, ...]) -> Problem:
    return Problem(path, "key", f"{'.'.join(path)} is passed over: geode does not know it")


def _unknown(name: str, word: str) -> str:
    close = (_ELSEWHERE[word],) if word in _ELSEWHERE else closest(word, _TOML)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(_TOML)}"
    return f'the MCP server {name} has no "{word}"; {hint}'


def _is(kind: Kind, value: object) -> bool:
    match kind:
        case "text":
            return isinstance(value, str)
        case "texts":
            return _is_texts(value)
        case "table":
            return isinstance(value, Mapping) and _is_texts(list(cast("Mapping[str, object]", value).values()))
        case "names":
            return _is_texts(value) or _is("table", value)
        case "flag":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[object]", value))


# ---- variables ---------------------------------------------------------------------------------


class _Unset(Exception):
    def __init__(self, name: str) -> None:
        self.name = name


def filled(declaration: Declaration, look_up: LookUp) -> Result[McpServer, str]:
    """The server, with the values of the variables that it names; or what keeps it from being one.

    In a config.toml `env = ["NAME"]` names variables, and in the values of `env` and `headers` `env:NAME` does, alone or
    after a space. In the JSON of other programs `${NAME}` does, in any text, and `${NAME:-otherwise}`.
    """
    try:
        settings = _of_toml(declaration, look_up) if declaration.form == "toml" else _of_json(declaration.settings, look_up)
    except _Unset as error:
        return Failure(f"the variable {error.name} is not set")
    return _made(Declaration(declaration.name, settings))


def _made(declaration: Declaration) -> Result[McpServer, str]:
    try:
        return Success(McpServer(declaration.name, **declaration.settings))
    except Misuse as error:
        return Failure(str(error).removesuffix(f" [{error.id}]"))


def _of_toml(declaration: Declaration, look_up: LookUp) -> Mapping[str, Any]:
    settings = dict(declaration.settings)
    env: Sequence[str] | Mapping[str, str] = settings.get("env", ())
    named = env if isinstance(env, Mapping) else {name: f"env:{name}" for name in env}
    for word, texts in (("env", named), ("headers", settings.get("headers", {}))):
        if texts:
            settings[word] = {name: _named(text, look_up) for name, text in texts.items()}
    return settings


def _named(text: str, look_up: LookUp) -> str:
    return NAMED_VARIABLE.sub(lambda found: _value(found, look_up), text)


def _of_json(value: Any, look_up: LookUp) -> Any:
    """Whatever text there is in it, with its variables."""
    match value:
        case str():
            return _BRACED.sub(lambda found: _value(found, look_up), value)
        case Mapping():
            return {key: _of_json(one, look_up) for key, one in value.items()}
        case list() | tuple():
            return [_of_json(one, look_up) for one in value]
        case _:
            return value


def _value(found: re.Match[str], look_up: LookUp) -> str:
    value = look_up(found[1])
    if value is None and found.re is _BRACED:
        value = found[2]
    if value is None:
        raise _Unset(found[1])
    return value
