"""From a model id to the provider that serves it: a plain table of prefixes, or a provider given by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from returns.result import Failure, Result, Success

from geode.domain.errors import Misuse
from geode.domain.naming import closest

WireName: TypeAlias = Literal["messages", "responses", "chat"]
DialectName: TypeAlias = Literal["openai", "openrouter", "glm", "generic"]

_ENV: Final = "env:"
_ADDRESS: Final = re.compile(
    r"https?://([^\s/?#@]*@)?(\[[0-9a-f:.]+\]|[^\s/?#@:\[\]\\]+)(:\d{1,5})?(/[^\s?#\\]*)?", re.IGNORECASE
)
_KEY: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Provider:
    """A server that speaks one of the three wires, reached with one credential.

    Models are named `NAME/MODEL`. `base_url` is the address before the wire's own path (`/v1/messages`,
    `/responses`, `/chat/completions`). `key` is `"env:VARIABLE"`, the key itself, or None for a server
    that wants none. `dialect` tells compatible Chat servers apart. `origin` says in messages where the
    address was taken from. What cannot work is Misuse, which never shows the key.
    """

    name: str
    wire: WireName
    base_url: str
    key: str | None = field(default=None, repr=False)
    dialect: DialectName = "generic"
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not re.fullmatch(r"[^\s/]+", name):
            raise Misuse("provider", f"Provider: name must be one word without a slash, got {name!r}. Models are NAME/MODEL")
        self._refuse(_word_problem("wire", self.wire, get_args(WireName)))
        self._refuse(_address_problem(self.base_url, self.origin))
        self._refuse(_word_problem("dialect", self.dialect, get_args(DialectName)))
        self._refuse(_source_problem(self.key))

    def _refuse(self, problem: str) -> None:
        if problem:
            raise Misuse("provider", f'Provider("{self.name}"): {problem}')


def key_problem(key: object) -> str:
    """What keeps `key` from being sent, in words that do not show it; "" if nothing does."""
    if not isinstance(key, str):
        return f"must be text, got {type(key).__name__}"
    if not key:
        return "is empty"
    return "" if _KEY.fullmatch(key) else "has white space, a line end or letters beyond ASCII in it, which no key has"


def _source_problem(key: object) -> str:
    if key is None:
        return ""
    if isinstance(key, str) and key.startswith(_ENV):
        variable = key.removeprefix(_ENV)
        return "" if _KEY.fullmatch(variable) and "=" not in variable else 'key="env:VARIABLE" names no variable'
    problem = key_problem(key)
    return f'key {problem}. Write key="env:VARIABLE", the key itself, or None' if problem else ""


def _word_problem(what: str, word: object, known: Sequence[str]) -> str:
    if isinstance(word, str) and word in known:
        return ""
    close = closest(word, known) if isinstance(word, str) else ()
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{what} {word!r} is unknown; {hint}Accepted: {', '.join(known)}"


def _address_problem(base_url: object, origin: str) -> str:
    if isinstance(base_url, str) and _ADDRESS.fullmatch(base_url):
        return ""
    source = f" (it comes from {origin})" if origin else ""
    return f"base_url must be http://HOST:PORT/… or https://…, without ? and #, got {base_url!r}{source}"


@dataclass(frozen=True, slots=True)
class Route:
    """A provider and the model id that it is asked for."""

    provider: Provider
    model: str


# Base addresses: spec section 8, wire facts F.
SHIPPED: Final[Mapping[str, Provider]] = {
    "anthropic-payg": Provider("anthropic-payg", "messages", "https://api.anthropic.com", "env:ANTHROPIC_API_KEY"),
    "openai-payg": Provider("openai-payg", "responses", "https://api.openai.com/v1", "env:OPENAI_API_KEY", "openai"),
    "openrouter-payg": Provider(
        "openrouter-payg", "chat", "https://openrouter.ai/api/v1", "env:OPENROUTER_API_KEY", "openrouter"
    ),
    "glm-payg": Provider("glm-payg", "chat", "https://api.z.ai/api/paas/v4", "env:ZAI_API_KEY", "glm"),
}
# The first that fits wins. A namespace ends with a slash and is taken off the id.
PREFIXES: Final[Sequence[tuple[str, str]]] = (
    ("openrouter/", "openrouter-payg"),
    ("claude-", "anthropic-payg"),
    ("glm-", "glm-payg"),
    ("gpt-", "openai-payg"),
    ("o1", "openai-payg"),
    ("o3", "openai-payg"),
    ("o4-", "openai-payg"),
)


def resolve(model: str, providers: Sequence[Provider] = ()) -> Result[Route, str]:
    """The route of `model`: one of the given providers by its name, else by the table of prefixes; or why there is none.

    A given provider with the name of one that ships takes its place.
    """
    name, _, rest = model.partition("/")
    for provider in providers:
        if rest and provider.name == name:
            return Success(Route(provider, rest))
    own = {provider.name: provider for provider in reversed(providers)}
    for prefix, shipped in PREFIXES:
        if model.startswith(prefix):
            served = own.get(shipped, SHIPPED[shipped])
            return Success(Route(served, model.removeprefix(prefix) if prefix.endswith("/") else model))
    known = [f"{provider.name}/…" for provider in providers] + [f"{prefix}…" for prefix, _ in PREFIXES]
    close = closest(name, [provider.name for provider in providers])
    hint = f"; did you mean {close[0]}/{rest or '…'}?" if close else "."
    return Failure(
        f'no provider serves the model "{model}"{hint} Known: {", ".join(known)}, or give session(providers=[Provider(…)])'
    )
