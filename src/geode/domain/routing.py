"""From a model id to the provider that serves it: a plain table of prefixes, or a provider given by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from returns.result import Failure, Result, Success

from geode.domain.naming import closest

WireName: TypeAlias = Literal["messages", "responses", "chat"]
DialectName: TypeAlias = Literal["openai", "openrouter", "glm", "generic"]


@dataclass(frozen=True, slots=True)
class Provider:
    """A server that speaks one of the three wires, reached with one credential.

    Models are named `NAME/MODEL`. `base_url` is the address before the wire's own path (`/v1/messages`,
    `/responses`, `/chat/completions`). `key` is `"env:VARIABLE"`, the key itself, or None for a server
    that wants none. `dialect` tells compatible Chat servers apart. `origin` says in messages where the
    address was taken from.
    """

    name: str
    wire: WireName
    base_url: str
    key: str | None = field(default=None, repr=False)
    dialect: DialectName = "generic"
    origin: str = field(default="", compare=False)


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
    """The route of `model`: one of the given providers by its name, else by the table of prefixes; or why there is none."""
    name, _, rest = model.partition("/")
    for provider in providers:
        if rest and provider.name == name:
            return Success(Route(provider, rest))
    for prefix, shipped in PREFIXES:
        if model.startswith(prefix):
            return Success(Route(SHIPPED[shipped], model.removeprefix(prefix) if prefix.endswith("/") else model))
    known = [f"{provider.name}/…" for provider in providers] + [f"{prefix}…" for prefix, _ in PREFIXES]
    close = closest(name, [provider.name for provider in providers])
    hint = f"; did you mean {close[0]}/{rest or '…'}?" if close else ""
    return Failure(
        f'no provider serves the model "{model}"{hint}. Known: {", ".join(known)}, or give session(providers=[Provider(…)])'
    )
