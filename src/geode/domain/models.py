"""What families of models take, as rows of data: the longest beginning of the model's id wins (spec sections 2, 3 and 9).

A row says what is known. A model without a row is used as the tables of the specification say, and only
a known limit refuses anything. The rows themselves are in `routing.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from geode.domain.targets import Target

ThinkingKind: TypeAlias = Literal["adaptive", "budget"]
EffortBesideTools: TypeAlias = Literal["any", "unset_or_none", "none"]

THINKING_KINDS: Final[frozenset[ThinkingKind]] = frozenset({"adaptive", "budget"})


@dataclass(frozen=True, slots=True)
class ModelRow:
    """The limits of the models whose id starts with `prefix`.

    `forced_choice`: takes a forced tool choice at all; `forced_with_effort`: keeps its reasoning beside one.
    `thinking`: the modes it takes. `sampling`: takes a temperature other than the provider's default;
    `sampling_at_none`: takes one at effort `none`, which is its effort unless told otherwise.
    `efforts`: the words it takes, None where that is not known; `default_effort`: the provider's own, where that
    is known. `effort_beside_tools`: those it takes in a request with tools. `binds_prefix`: its thinking holds
    only after the very prefix it was made after. `tool_search`: its server searches tools that it is sent and does not
    show to the model. `window` and `output`: tokens that it reads, and writes, at most.
    `maker`: the identity that makes it; "" where that is open, and then the row holds for whoever serves the id.
    `here`: it was declared for one target alone.
    """

    prefix: str
    forced_choice: bool = True
    forced_with_effort: bool = True
    thinking: frozenset[ThinkingKind] = THINKING_KINDS
    sampling: bool = True
    sampling_at_none: bool = False
    efforts: tuple[str, ...] | None = None
    default_effort: str | None = None
    effort_beside_tools: EffortBesideTools = "any"
    binds_prefix: bool = False
    tool_search: bool = False
    window: int | None = None
    output: int | None = None
    maker: str = ""
    here: bool = False

    @property
    def known(self) -> bool:
        """Whether it is a row that somebody wrote; one of all the models of a target has no prefix there."""
        return bool(self.prefix) or self.here


_NO_ROW: Final = ModelRow("")


# What may follow where a row's name ends: a date, a variant; but no further number of a version, for that is another model.
_GOES_ON: Final = re.compile(r"$|[@:]|-(?!\d{1,3}(?!\d))")


def row_of(model: str, rows: Iterable[ModelRow]) -> ModelRow:
    """The row of `model`: the one with the longest prefix that holds for it, or one that limits nothing."""
    return max((row for row in rows if _holds(row.prefix, model)), key=lambda row: len(row.prefix), default=_NO_ROW)


def _holds(prefix: str, model: str) -> bool:
    """Whether a row with the prefix is one of the model: a name that ends in - or / is one of a whole family."""
    if not model.startswith(prefix):
        return False
    return not prefix or prefix[-1] in "-/" or _GOES_ON.match(model, len(prefix)) is not None


# Whose models are known to speak as their maker says, by wire and dialect.
_MAKERS: Final[Mapping[tuple[str, str], str]] = {
    ("messages", "generic"): "anthropic",
    ("responses", "generic"): "openai",
    ("responses", "openai"): "openai",
    ("responses", "codex"): "openai",
    ("chat", "openai"): "openai",
    ("chat", "glm"): "glm",
}
# The servers that search tools themselves, by wire and address. That of Responses does it too, but it puts what it found
# into a namespace and refuses each call in a history that does not name it; a call that another model made never does.
_SEARCHING: Final = frozenset({("messages", "https://api.anthropic.com")})
# What this relay calls the makers.
_PUBLISHERS: Final[Mapping[str, str]] = {"anthropic": "anthropic", "openai": "openai", "glm": "z-ai"}


def rows_for(target: Target, rows: Iterable[ModelRow]) -> tuple[ModelRow, ...]:
    """The rows that hold for the models of `target`, by the ids that it knows them by.

    A row whose prefix begins with the namespace of a target holds there alone. Tools are searched by the makers' own
    servers, and by others only where a row for them alone says so.
    """
    searches = target.transport is not None and (target.transport.wire, target.transport.base_url.rstrip("/")) in _SEARCHING
    held = [replace(one, tool_search=one.tool_search and (searches or one.here)) for row in rows for one in _held(target, row)]
    # Of two with the same name the one that is for this target alone comes first, and so is found.
    return tuple(sorted(held, key=lambda one: not one.here))


def _held(target: Target, row: ModelRow) -> Iterator[ModelRow]:
    wire, dialect = ("", "") if target.transport is None else (target.transport.wire, target.transport.dialect)
    namespace, slash, rest = row.prefix.partition("/")
    if slash and namespace in (target.name, target.identity.id):
        yield replace(row, prefix=rest, here=True)
    elif dialect == "openrouter" and row.maker in _PUBLISHERS:
        yield from _relayed(row)
    elif not slash and row.maker in ("", target.identity.id, _MAKERS.get((wire, dialect))):
        yield row if wire == "chat" else replace(row, effort_beside_tools="any")


_DASHED_VERSION: Final = re.compile(r"-(\d)-(\d)(?!\d)")


def dotted_version(model: str) -> str:
    """The id of a model of Anthropic's as OpenRouter writes it (wire facts A2)."""
    return _DASHED_VERSION.sub(r"-\1.\2", model)


def _relayed(row: ModelRow) -> Iterator[ModelRow]:
    """The rows of a model behind OpenRouter: what of it is known there (spec section 9).

    OpenAI's models keep their efforts and their default temperature; what becomes of a temperature at effort none is
    not assumed. Of the others the window alone is known, and that Anthropic's lose their reasoning to a forced tool
    (wire facts A2). It writes versions with a dot.
    """
    for name in dict.fromkeys((row.prefix, dotted_version(row.prefix))):
        prefix = f"{_PUBLISHERS[row.maker]}/{name}"
        if row.maker == "openai":
            yield replace(row, prefix=prefix, sampling_at_none=False, effort_beside_tools="any")
        else:
            yield ModelRow(prefix, window=row.window, maker=row.maker, forced_with_effort=row.maker != "anthropic")
