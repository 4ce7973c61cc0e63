"""What the servers of single models refuse, as a table.

Nothing is known of a model that has no row, and nothing is held against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from geode.entrypoints.emulator.rule import ident

Trait: TypeAlias = Literal[
    # Claude
    "prefill",
    "forced choice",
    "manual thinking",
    "adaptive thinking",
    "disabled thinking",
    "strong effort without thinking",
    "system message",
    "sampling",
    "temperature beside top_p",
    "history without tools",
    "changed prefix",
    # OpenAI; sampling as above, but taken with the effort none
    "sampling with effort only",
    "max_tokens",
    "stop",
    "instructions",
    "audio",
    "web search options",
    "tools with effort",
    "tools with unset effort",
    # others
    "outputs apart",
    "parts but text",
    "long call ids",
]


@dataclass(frozen=True, slots=True)
class Model:
    """One row: what is refused, the efforts that are taken (None: unknown), and the window in tokens.

    `strict_window` says that the answer has to fit into the window too; `partial_answers` is a server that
    was recorded to take a round with some of its results.
    """

    refuses: frozenset[Trait] = frozenset()
    efforts: tuple[str, ...] | None = None
    window: int | None = None
    strict_window: bool = False
    partial_answers: bool = False


UNKNOWN: Final = Model()

_UP_TO_HIGH: Final = ("low", "medium", "high")
_MINIMAL: Final = ("minimal", *_UP_TO_HIGH)
_CLAUDE_46: Final = (*_UP_TO_HIGH, "max")
_CLAUDE_ALL: Final = (*_UP_TO_HIGH, "xhigh", "max")
_GPT_51: Final = ("none", *_UP_TO_HIGH)
_GPT_52: Final = (*_GPT_51, "xhigh")
_GPT_56: Final = (*_GPT_52, "max")

# Windows are the widest that a model is offered with, so that only what can never fit is refused.
_CLAUDE_3: Final[tuple[Trait, ...]] = ("adaptive thinking", "system message", "history without tools")
_CLAUDE_4: Final[tuple[Trait, ...]] = ("adaptive thinking", "system message")
_PAIRED: Final[tuple[Trait, ...]] = (*_CLAUDE_4, "temperature beside top_p")
_CLAUDE_47: Final[tuple[Trait, ...]] = ("prefill", "manual thinking")
_BOUND: Final[tuple[Trait, ...]] = (*_CLAUDE_47, "changed prefix")
_OPENAI: Final[tuple[Trait, ...]] = ("web search options",)
_REASONING: Final[tuple[Trait, ...]] = (*_OPENAI, "max_tokens", "sampling", "audio")
_IDLE: Final[tuple[Trait, ...]] = (*_OPENAI, "max_tokens", "sampling with effort only", "audio")
_RESPONSES_ONLY: Final[tuple[Trait, ...]] = (*_REASONING, "tools with effort", "tools with unset effort")
_DEEPSEEK: Final[tuple[Trait, ...]] = ("outputs apart", "parts but text")


def _rows() -> Iterator[tuple[str, Model]]:
    def row(names: str, traits: tuple[Trait, ...], **facts: Any) -> Iterator[tuple[str, Model]]:
        return ((name, Model(frozenset(traits), **facts)) for name in names.split())

    small: dict[str, Any] = {"window": 200_000}
    wide: dict[str, Any] = {"window": 1_050_000}
    yield from row(
        "claude-3-opus claude-3-haiku claude-3-sonnet claude-3-5-haiku claude-3-5-sonnet claude-3-7-sonnet",
        _CLAUDE_3,
        **small,
        efforts=(),
        strict_window=True,
    )
    yield from row("claude-opus-4", _CLAUDE_4, **small, efforts=())
    yield from row("claude-sonnet-4", _CLAUDE_4, **wide, efforts=())
    yield from row("claude-opus-4-1 claude-haiku-4-5", _PAIRED, **small, efforts=())
    yield from row("claude-sonnet-4-5", _PAIRED, **wide, efforts=())
    yield from row("claude-opus-4-5", _CLAUDE_4, **small, efforts=_UP_TO_HIGH)
    yield from row("claude-opus-4-6 claude-sonnet-4-6", ("prefill", "system message"), **wide, efforts=_CLAUDE_46)
    yield from row("claude-opus-4-7", (*_CLAUDE_47, "sampling", "system message"), **wide, efforts=_CLAUDE_ALL)
    yield from row("claude-opus-4-8", (*_CLAUDE_47, "sampling"), **wide, efforts=_CLAUDE_ALL)
    yield from row(
        "claude-opus-5",
        (*_CLAUDE_47, "sampling", "strong effort without thinking", "history without tools"),
        **wide,
        efforts=_CLAUDE_ALL,
    )
    yield from row("claude-sonnet-5 claude-haiku-5", _CLAUDE_47, **wide, efforts=_CLAUDE_ALL)
    yield from row("claude-fable-5", (*_CLAUDE_47, "disabled thinking"), **wide, efforts=_CLAUDE_ALL)
    yield from row("claude-fable-5-1", (*_BOUND, "disabled thinking", "forced choice"), **wide, efforts=_CLAUDE_ALL)
    yield from row("claude-fable-5-2", (*_BOUND, "disabled thinking"), **wide, efforts=_CLAUDE_ALL)
    yield from row("claude-opus-5-5 claude-mythos-5-1", (*_BOUND, "forced choice"), **wide, efforts=_CLAUDE_ALL)
    yield from row("claude-mythos-5-2 claude-sonnet-5-5 claude-haiku-5-5", _BOUND, **wide, efforts=_CLAUDE_ALL)

    yield from row("gpt-4o gpt-4o-mini", _OPENAI, window=128_000, efforts=())
    yield from row("gpt-4.1 gpt-4.1-mini gpt-4.1-nano", _OPENAI, window=1_047_576, efforts=())
    yield from row("o1-mini o1-preview", (*_REASONING, "stop", "instructions"), window=128_000, efforts=())
    yield from row("o1 o3 o3-mini o4-mini", _REASONING, **small, efforts=_UP_TO_HIGH)
    yield from row("gpt-5 gpt-5-mini gpt-5-nano", (*_REASONING, "stop"), window=400_000, efforts=_MINIMAL)
    yield from row("gpt-5-pro", _REASONING, window=400_000, efforts=("high",))
    yield from row("gpt-5.1", _IDLE, window=400_000, efforts=_GPT_51)
    yield from row("gpt-5.2", _IDLE, window=400_000, efforts=_GPT_52)
    yield from row("gpt-5.3-codex", _REASONING, window=400_000, efforts=(*_UP_TO_HIGH, "xhigh"))
    yield from row("gpt-5.4", (*_REASONING, "tools with effort"), **wide, efforts=_GPT_52)
    yield from row("gpt-5.4-mini gpt-5.4-nano", (*_IDLE, "tools with effort"), window=400_000, efforts=_GPT_52)
    yield from row("gpt-5.5", _RESPONSES_ONLY, **wide, efforts=_GPT_52)
    yield from row("gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna", _RESPONSES_ONLY, **wide, efforts=_GPT_56)
    yield from row("gpt-6-sol gpt-6-luna", _RESPONSES_ONLY, **wide, efforts=_GPT_56)
    yield from row("gpt-6-astra", _RESPONSES_ONLY, **wide, efforts=_CLAUDE_ALL)

    yield from row("deepseek-chat deepseek-reasoner deepseek-v4-flash deepseek-v4-pro", _DEEPSEEK, window=1_048_565)
    yield from row("mistral-large mistral-medium mistral-small mistral-tiny", ("long call ids",))


MODELS: Final[Mapping[str, Model]] = dict(_rows())
# What stands around a name where a model is relayed, and what says which build of it is meant.
RELAY: Final = re.compile(r"^(?:.*/)?(?:[a-z-]{2,6}\.)?(?:(?:anthropic|openai)[./])")
BUILD: Final = re.compile(r"(?:-\d{8}|-\d{4}-\d{2}-\d{2}|@.*|-v\d+(?::\d+)?)+$")
VARIANT: Final = re.compile(r":[a-z]+$")
TAGGED: Final = re.compile(r"[^/:]+:[^/:]+")
_TAGGED: Final = Model(partial_answers=True)


def bare(name: str) -> str:
    """A model's own name: without relay, build and date, and with the dashes that its maker writes."""
    relayed = RELAY.sub("", name)
    own = BUILD.sub("", VARIANT.sub("", relayed) if relayed != name else name)
    if own.startswith("claude-"):
        own = own.replace(".", "-").removesuffix("-latest")
        own = own.removesuffix("-0") if own in ("claude-opus-4-0", "claude-sonnet-4-0") else own
    return own


def model_of(request: Mapping[str, Any]) -> Model:
    """The row of the model that a request asks for."""
    name = ident(request.get("model"))[:200]
    found = MODELS.get(bare(name))
    if found is not None:
        return found
    # Ollama names its models so, and has been recorded to answer with a call left open.
    return _TAGGED if TAGGED.fullmatch(name) else UNKNOWN
