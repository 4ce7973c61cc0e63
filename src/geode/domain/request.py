"""One model call as the domain sees it, and what adapters can carry of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from geode.domain.choice import Auto, Named, ToolChoice, parse_choice
from geode.domain.content import MediaKind
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_text
from geode.domain.models import THINKING_KINDS, ModelRow, ThinkingKind
from geode.domain.pictures import PictureLimits
from geode.domain.schema_profile import SchemaProfile
from geode.domain.thinking import Thinking
from geode.domain.tools import ToolSpec
from geode.domain.turns import Turn

ImageMode: TypeAlias = Literal["in_result", "after_results", "none"]
CHOICES: Final = frozenset({"auto", "none", "required", "named"})
EVERY_MEDIA: Final[frozenset[MediaKind]] = frozenset(get_args(MediaKind))


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one call. Seconds: `call_timeout_seconds` for the whole call, `idle_timeout_seconds` between bytes."""

    max_output_tokens: int | None = None
    call_timeout_seconds: float = 600.0
    idle_timeout_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class AdapterCallRequest:
    """One model call. No provider's field ever appears in it.

    `streamed` says whether anyone wants deltas; the reply is the same either way. `response_schema` is what the text of
    the answer has to fit, as JSON; it has nothing to do with any tool. `deferred` names those of the tools that need not be
    shown to the model: an adapter is given them only where its server searches them itself, and sends them marked.
    `affinity` is the same in all calls that belong together, such as those of a run: a relay may keep them on one route by
    it, and so the caches there; it is not sent as it is. Lone surrogates in `system` are replaced on entry.
    `cache_key`, where it is not empty, has the provider keep the beginning for the next request with the same key, in
    whichever way its wire has for that.
    """

    model: str
    conversation: Conversation
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = Auto()
    limits: Limits = Limits()
    effort: str | None = None
    temperature: float | None = None
    thinking: Thinking | None = None
    streamed: bool = False
    response_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    deferred: frozenset[str] = frozenset()
    affinity: str = ""
    cache_key: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "system", clean_text(self.system))

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.conversation.turns


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can carry.

    `choices` are the kinds of tool choice its wire can express: auto, none, required, named.
    `media` are the forms of pictures and documents that it can send: image, image_url, pdf, text (a plain
    text document), document_url; `images` says where those in a result go: inside it, in a user message
    after all results, or nowhere. Misuse for a word that is none of these. `pictures`: how large and how many.
    `temperature`, `effort`, `output_limit` and `thinking` say which settings its wire has, `tool_search` whether it can
    send `deferred` tools for its server to search; `models` which models take less.
    `schemas` is what its server takes of names and schemas of tools; None: whatever it is given. `response_schema`: it
    can ask for an answer that fits a schema; `schema_barred` is what the caller's own options have against that.
    `most_output`: output tokens that it can be asked for, whatever the model. `cache_key`: it can ask for the beginning to be
    kept.
    """

    supports_tools: bool = True
    choices: frozenset[str] = CHOICES
    images: ImageMode = "in_result"
    media: frozenset[MediaKind] = EVERY_MEDIA
    pictures: PictureLimits = PictureLimits()
    temperature: bool = True
    effort: bool = True
    output_limit: bool = True
    thinking: frozenset[ThinkingKind] = frozenset()
    tool_search: bool = False
    models: tuple[ModelRow, ...] = ()
    schemas: SchemaProfile | None = None
    response_schema: bool = False
    schema_barred: str = ""
    most_output: int | None = None
    cache_key: bool = False

    def __post_init__(self) -> None:
        for what, given, known in (
            ("choices", self.choices, CHOICES),
            ("media", self.media, EVERY_MEDIA),
            ("thinking", self.thinking, THINKING_KINDS),
            ("images", {self.images}, frozenset(get_args(ImageMode))),
        ):
            if unknown := sorted(map(str, set(given) - known)):
                words = ", ".join(sorted(known))
                raise Misuse("capability", f"Capabilities({what}=…) has no word {unknown[0]!r}; it takes {words}")


def forced_choice(value: object, tools: tuple[ToolSpec, ...]) -> ToolChoice:
    """The caller's choice for the first round, in any accepted spelling; None is auto.

    Misuse for an unknown spelling and for a tool that is not there.
    """
    if value is None:
        return Auto()
    parsed = parse_choice(value)
    wrong = parsed.swap().value_or(None)
    if wrong is not None:
        raise Misuse("tool-choice", wrong)
    choice = parsed.unwrap()
    names = [tool.name for tool in tools]
    if isinstance(choice, Named) and choice.name not in names:
        raise Misuse("tool-choice", not_there(choice, names))
    return choice


def not_there(choice: Named, names: list[str]) -> str:
    """What is said of a choice that names none of the tools."""
    return f'tool_choice names "{choice.name}", this request has: {", ".join(names) or "no tools"}'
