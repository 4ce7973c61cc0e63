"""What turns and results are made of."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from geode.domain.errors import Misuse
from geode.domain.json_value import clean_text

ImageType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text; lone surrogates are replaced on entry."""

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean_text(self.text))


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as bytes; `media_type` has been checked against the bytes by whoever made it."""

    media_type: ImageType
    data: bytes

    @property
    def base64(self) -> str:
        return b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        """The picture as an address that holds it (RFC 2397)."""
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who made a turn: the adapter and the model. Opaque items go back to exactly this pair."""

    adapter: str
    model: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """An item that only its owner understands (signed thinking, encrypted reasoning, …).

    `json_text` is the received JSON, kept as text so that it goes back byte for byte.
    """

    owner: Owner
    kind: str
    json_text: str

    def __post_init__(self) -> None:
        try:
            json.loads(self.json_text)
        except (ValueError, RecursionError):
            raise Misuse("opaque-json", f"an opaque item of kind {self.kind!r} holds text that is no JSON") from None


@dataclass(frozen=True, slots=True)
class ToolUseBlock:
    """One call by the model.

    `input` is the parsed object. When the arguments could not be parsed to an object, `input` is
    empty and `unparsed` keeps the original text.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    unparsed: str | None = None


def calls_in(items: Iterable[object]) -> tuple[ToolUseBlock, ...]:
    """The calls among the items of a turn or a reply, in their order."""
    return tuple(item for item in items if isinstance(item, ToolUseBlock))


ResultKind: TypeAlias = Literal["ok", "failed", "denied", "interrupted", "outcome_unknown"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to one call.

    `content` is what the model is told; `detail` is what the operator is told and never leaves the
    process. `recoverable` False: the tool said that trying again cannot help.
    """

    call_id: str
    kind: ResultKind
    content: tuple[Text | Image, ...]
    detail: str = ""
    recoverable: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", clean_text(self.detail))

    @property
    def text(self) -> str:
        """The text the model is told, pictures aside."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def flagged_text(self) -> str:
        """`text`, beginning with the kind where it is not ok: for wires that have no error flag. Never empty."""
        text = self.text or ("done" if self.images else self.kind)
        return text if self.kind == "ok" or text.startswith(self.kind) else f"{self.kind}: {text}"

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.content if isinstance(part, Image))

    @property
    def is_error(self) -> bool:
        """The wire's error flag: set on every kind but `ok` (spec section 3)."""
        return self.kind != "ok"


def result(call_id: str, kind: ResultKind, text: str, detail: str = "") -> ToolResult:
    """A result that is only text."""
    return ToolResult(call_id, kind, (Text(text),), detail)
