"""Who makes a model, who pays for it, and how it is reached: three declarations, and the adapters that geode ships of them.

Spec section 8. Which of them serves a model is decided in `geode.domain.routing`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from geode.domain.errors import Misuse
from geode.domain.key_sources import GivesSecrets
from geode.domain.relay import NO_OPTIONS, RelayOptions

WireName: TypeAlias = Literal["messages", "responses", "chat"]
DialectName: TypeAlias = Literal["openai", "openrouter", "glm", "generic", "codex"]
Billing: TypeAlias = Literal["api", "subscription", "credits", "unknown"]
ContentBesideCalls: TypeAlias = Literal["null", "empty", "absent"]
ImagePlace: TypeAlias = Literal["in_result", "after_results", "none"]
OutputLimitName: TypeAlias = Literal["max_tokens", "max_completion_tokens"]
ChoiceKind: TypeAlias = Literal["auto", "none", "required", "named"]
ProgramWord: TypeAlias = Literal["claude", "codex"]

# Every run gives the model its choice, and takes it to conclude (spec section 6): a server that takes neither takes no
# tools.
OF_EVERY_RUN: Final[tuple[ChoiceKind, ...]] = ("auto", "none")

# Which dialects each wire has.
SPOKEN_IN: Final[Mapping[WireName, tuple[DialectName, ...]]] = {
    "messages": ("generic",),
    "responses": ("generic", "openai", "codex"),
    "chat": ("generic", "openai", "openrouter", "glm"),
}


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a compatible Chat server does otherwise than its dialect; None is as the dialect.

    `tools`: takes tools at all. `choice`: the kinds of tool choice it takes, of auto, none, required and named; the
    first two are always among them. `content_beside_calls`: what it wants as the text of a reply that only called:
    null, "" or no such field. `images`: where it takes pictures in results. `stream_usage`: whether usage in a stream
    is asked for by an option (false for servers that refuse the option). `output_limit`: the name of the bound of
    output tokens. `response_schema`: whether it takes a JSON Schema for the answer. Misuse for a value that is none of
    these.
    """

    tools: bool | None = None
    choice: frozenset[str] | None = None
    content_beside_calls: ContentBesideCalls | None = None
    images: ImagePlace | None = None
    stream_usage: bool | None = None
    output_limit: OutputLimitName | None = None
    response_schema: bool | None = None

    def __post_init__(self) -> None:
        for name, words in _QUIRK_WORDS.items():
            value: object = getattr(self, name)
            if value is not None and not any(value is word or (isinstance(word, str) and value == word) for word in words):
                raise Misuse("provider", f"Quirks({name}=…) takes {', '.join(map(repr, words))}, got {value!r:.80}")
        if self.choice is None:
            return
        if problem := choice_problem(self.choice):
            raise Misuse("provider", f"Quirks(choice=…): {problem}")
        object.__setattr__(self, "choice", frozenset(self.choice))


_QUIRK_WORDS: Final[Mapping[str, tuple[str | bool, ...]]] = {
    "tools": (True, False),
    "content_beside_calls": get_args(ContentBesideCalls),
    "images": get_args(ImagePlace),
    "stream_usage": (True, False),
    "output_limit": get_args(OutputLimitName),
    "response_schema": (True, False),
}


def choice_problem(kinds: object) -> str:
    """What is wrong with the kinds of tool choice that a server is said to take; "" if nothing is."""
    known = get_args(ChoiceKind)
    if isinstance(kinds, str) or not isinstance(kinds, Collection) or any(kind not in known for kind in kinds):
        return f"the kinds of tool choice are {', '.join(known)}, got {kinds!r:.80}"
    missing = [kind for kind in OF_EVERY_RUN if kind not in kinds]
    if missing:
        return (
            f'a server takes at least {" and ".join(OF_EVERY_RUN)}, "{missing[0]}" is missing. One that does not: tools = false'
        )
    return ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes or relays models: what a model id leads to."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class CredentialRoute:
    """Which account pays. `key` says where its secret is found: `env:VARIABLE`, `file:PATH`, `command:…`, `oauth:PATH`.

    `source` is the word by which the operator chooses between the routes of one identity. `limits` is what its
    provider is known to restrict, for people.
    """

    source: str
    key: str | GivesSecrets | None = field(repr=False)
    billing: Billing = "unknown"
    limits: str = ""


@dataclass(frozen=True, slots=True)
class Transport:
    """A wire, its dialect, and the address before the wire's own path.

    `moved_by` is the variable that moves the address. `headers` go with each request; no secret is in them.
    `origin` says where the address was taken from, for messages. `options` are the caller's for the dialect `openrouter`.
    """

    wire: WireName
    base_url: str
    dialect: DialectName = "generic"
    quirks: Quirks = Quirks()
    moved_by: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    origin: str = field(default="", compare=False)
    options: RelayOptions = NO_OPTIONS


@dataclass(frozen=True, slots=True)
class Program:
    """A command line program in the place of a server. `bin` is its name or its path.

    Who pays is said in so many words: `login` is the folder of the program's own login, which a plan pays; without one a
    key does (`CredentialRoute.key`); without either nobody is asked. `base_url` "" is the program's own address.
    """

    word: ProgramWord
    bin: str
    login: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """An adapter's declaration: `name` is the adapter's, and what its models may be addressed by: `NAME/MODEL`.

    Without a `transport` it is a `program`, or an adapter from elsewhere, which knows by itself how its server is reached.
    """

    name: str
    identity: Identity
    credential: CredentialRoute
    transport: Transport | None
    program: Program | None = None


ANTHROPIC: Final = Identity("anthropic", "Anthropic")
OPENAI: Final = Identity("openai", "OpenAI")
OPENROUTER: Final = Identity("openrouter", "OpenRouter")
GLM: Final = Identity("glm", "Z.ai GLM")

_MESSAGES: Final = Transport("messages", "https://api.anthropic.com", moved_by="ANTHROPIC_BASE_URL")
# An OAuth token needs this beta; without it the answer is 401 (wire facts F). It says nothing of who the client is.
_MESSAGES_OAUTH: Final = Transport(
    "messages",
    "https://api.anthropic.com",
    moved_by="ANTHROPIC_BASE_URL",
    headers={"anthropic-beta": "oauth-2025-04-20"},
)
_RESPONSES: Final = Transport("responses", "https://api.openai.com/v1", "openai", moved_by="OPENAI_BASE_URL")
_CODEX: Final = Transport(
    "responses",
    "https://chatgpt.com/backend-api/codex",
    "codex",
    moved_by="CODEX_BASE_URL",
    headers={"originator": "geode", "User-Agent": "geode"},
)
_OPENROUTER: Final = Transport("chat", "https://openrouter.ai/api/v1", "openrouter", moved_by="OPENROUTER_BASE_URL")
_GLM: Final = Transport("chat", "https://api.z.ai/api/paas/v4", "glm", moved_by="ZAI_BASE_URL")
_GLM_CODING: Final = Transport("chat", "https://api.z.ai/api/coding/paas/v4", "glm", moved_by="ZAI_CODING_BASE_URL")

_PAYG: Final = "payg"
_OAUTH: Final = "oauth"
_CLI: Final = "cli"
_TEXT_ALONE: Final = "a program on this machine that takes and gives text alone: no tools, no pictures"
# Addresses, keys and limits: spec section 8, wire facts F.
_DECLARED: Final = (
    Target("anthropic-payg", ANTHROPIC, CredentialRoute(_PAYG, "env:ANTHROPIC_API_KEY", "api"), _MESSAGES),
    Target(
        "anthropic-oauth",
        ANTHROPIC,
        CredentialRoute(
            _OAUTH,
            "env:ANTHROPIC_AUTH_TOKEN",
            limits="Anthropic takes OAuth tokens of workloads; those of consumer subscriptions it refuses to other programs",
        ),
        _MESSAGES_OAUTH,
    ),
    Target("openai-payg", OPENAI, CredentialRoute(_PAYG, "env:OPENAI_API_KEY", "api"), _RESPONSES),
    Target(
        "codex-oauth",
        OPENAI,
        CredentialRoute(
            _OAUTH,
            "oauth:~/.geode/credentials/codex-oauth.json",
            "subscription",
            "no terms of OpenAI that allow or forbid it to other programs are known: the risk is the account's owner's",
        ),
        _CODEX,
    ),
    Target("openrouter-payg", OPENROUTER, CredentialRoute(_PAYG, "env:OPENROUTER_API_KEY", "credits"), _OPENROUTER),
    Target("glm-payg", GLM, CredentialRoute(_PAYG, "env:ZAI_API_KEY", "api"), _GLM),
    Target(
        "glm-coding-plan",
        GLM,
        CredentialRoute(
            "coding-plan",
            "env:ZAI_CODING_API_KEY",
            "subscription",
            "Z.ai limits its coding plan to the tools that it lists, and may restrict accounts that use it from others",
        ),
        _GLM_CODING,
    ),
    Target("claude-cli", ANTHROPIC, CredentialRoute(_CLI, None, limits=_TEXT_ALONE), None, Program("claude", "claude")),
    Target("codex-cli", OPENAI, CredentialRoute(_CLI, None, limits=_TEXT_ALONE), None, Program("codex", "codex")),
)
BUILT_IN: Final[Mapping[str, Target]] = {target.name: target for target in _DECLARED}
IDENTITIES: Final[Mapping[str, Identity]] = {target.identity.id: target.identity for target in _DECLARED}
