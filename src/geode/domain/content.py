"""What turns and results are made of."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias, get_args

from geode.domain.addresses import shown_address
from geode.domain.errors import Misuse
from geode.domain.json_value import clean_text
from geode.domain.pictures import ImageType, image_type

DocumentType: TypeAlias = Literal["application/pdf", "text/plain"]


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text; lone surrogates are replaced on entry."""

    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean_text(self.text))


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as bytes. Misuse for another media type, and for bytes that do not begin like one of that type."""

    media_type: ImageType
    data: bytes

    def __post_init__(self) -> None:
        _check_media("Image", self.media_type, get_args(ImageType), self.data)
        if (found := image_type(self.data)) != self.media_type:
            _refuse_bytes("Image", self.media_type, self.data, found)

    @property
    def base64(self) -> str:
        return b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        """The picture as an address that holds it (RFC 2397)."""
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True, slots=True)
class ImageUrl:
    """A picture that the provider fetches itself. Misuse for what is no http or https address."""

    url: str

    def __post_init__(self) -> None:
        _check_url("ImageUrl", self.url, "Image(media_type, data)")
        object.__setattr__(self, "url", clean_text(self.url))


@dataclass(frozen=True, slots=True)
class Document:
    """A PDF or a plain text (as UTF-8) as bytes, with the name that the model is told.

    Misuse for another media type, for no bytes, and for a PDF that is none.
    """

    media_type: DocumentType
    data: bytes
    name: str = ""

    def __post_init__(self) -> None:
        _check_media("Document", self.media_type, get_args(DocumentType), self.data)
        if not self.data or (self.media_type == "application/pdf" and _PDF_MAGIC not in self.data[:_PDF_HEAD]):
            _refuse_bytes("Document", self.media_type, self.data, image_type(self.data))
        object.__setattr__(self, "name", clean_text(self.name))

    @property
    def is_text(self) -> bool:
        return self.media_type == "text/plain"

    @property
    def text(self) -> str:
        """What a plain text says; bytes that are no UTF-8 are replaced."""
        return self.data.decode("utf-8", "replace")

    @property
    def base64(self) -> str:
        return b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        """The document as an address that holds it (RFC 2397)."""
        return f"data:{self.media_type};base64,{self.base64}"

    @property
    def file_name(self) -> str:
        """`name`, or one that fits the media type: there are wires that want one."""
        return self.name or nameless(self.media_type)

    @property
    def told(self) -> str:
        """What stands for a plain text where a provider takes texts and no documents: its name, then what it says."""
        return f"{self.name}:\n{self.text}" if self.name else self.text


@dataclass(frozen=True, slots=True)
class DocumentUrl:
    """A document that the provider fetches itself. Misuse for what is no http or https address."""

    url: str
    name: str = ""

    def __post_init__(self) -> None:
        _check_url("DocumentUrl", self.url, "Document(media_type, data)")
        object.__setattr__(self, "url", clean_text(self.url))
        object.__setattr__(self, "name", clean_text(self.name))


_FILE_NAMES: Final[Mapping[str, str]] = {"application/pdf": "document.pdf", "text/plain": "document.txt"}
_PDF_MAGIC: Final = b"%PDF-"
# Readers take a PDF whose header stands anywhere in its first kilobyte.
_PDF_HEAD: Final = 1024 + len(_PDF_MAGIC)


def nameless(media_type: str) -> str:
    """The name of a document that has none."""
    return _FILE_NAMES[media_type]


Media: TypeAlias = Image | ImageUrl | Document | DocumentUrl
Part: TypeAlias = Text | Media
MediaKind: TypeAlias = Literal["image", "image_url", "pdf", "text", "document_url"]
MEDIA: Final = (Image, ImageUrl, Document, DocumentUrl)


def media_kind(part: Media) -> MediaKind:
    """Which of the forms it is that an adapter can or cannot carry."""
    match part:
        case Image():
            return "image"
        case ImageUrl():
            return "image_url"
        case Document(media_type="text/plain"):
            return "text"
        case Document():
            return "pdf"
        case DocumentUrl():
            return "document_url"


def media_word(part: Media) -> str:
    """What a person calls it, with its size or its address."""
    match part:
        case Image() | Document():
            return f"{part.media_type}, {len(part.data)} bytes"
        case ImageUrl(url=url):
            return f"an image at {url}"
        case DocumentUrl(url=url):
            return f"a document at {url}"


def _check_media(what: str, given: object, known: tuple[str, ...], data: object) -> None:
    if given not in known:
        raise Misuse("media-type", f"{what} has the media type {given!r:.80}; it takes {', '.join(known)}")
    if not isinstance(data, bytes):
        raise Misuse("media-data", f"{what} takes its data as bytes, got {type(data).__name__}")


def _refuse_bytes(what: str, media_type: str, data: bytes, found: str | None) -> NoReturn:
    are = "there are none" if not data else f"they are {found}" if found else f"they begin with {data[:8].hex(' ')}"
    raise Misuse("media-bytes", f"{what}({media_type!r}, …) holds bytes of that type, and {are}; read them from the file anew")


def _check_url(what: str, url: object, otherwise: str) -> None:
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        shown = repr(shown_address(url) if isinstance(url, str) else url)[:80]
        raise Misuse("media-url", f"{what} takes an http or https address, got {shown}; for bytes there is {otherwise}")


@dataclass(frozen=True, slots=True)
class Owner:
    """Who made a turn: the adapter and the model. Opaque items go back to exactly this pair."""

    adapter: str
    model: str

    @property
    def name(self) -> str:
        """As people are told it: several adapters may serve a model of one id."""
        return f"{self.adapter} {self.model}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """An item that only its owner understands (signed thinking, encrypted reasoning, …).

    `json_text` is the received JSON, kept as text so that it goes back byte for byte. `bound_to` tells what
    it was made after, where the model binds the two (`geode.domain.binding`).
    """

    owner: Owner
    kind: str
    json_text: str
    bound_to: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", clean_text(self.kind))
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


ErrorKind: TypeAlias = Literal["failed", "denied", "interrupted", "outcome_unknown"]
ResultKind: TypeAlias = Literal["ok", "failed", "denied", "interrupted", "outcome_unknown"]

# What the text of a result says that holds media alone.
SILENT: Final = "done"
_OK: Final = "ok: "
_LOOKS_FLAGGED: Final = re.compile(rf"(?:ok: )*+({'|'.join(get_args(ErrorKind))})(: |$)")


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to one call.

    `content` is what the model is told; `detail` is what the operator is told and never leaves the
    process. `recoverable` False: the tool said that trying again cannot help. `ref_id` names the whole
    result in the result store, where `content` is only a summary of it.
    """

    call_id: str
    kind: ResultKind
    content: tuple[Part, ...]
    detail: str = ""
    recoverable: bool = True
    ref_id: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", clean_text(self.detail))

    @property
    def text(self) -> str:
        """The text the model is told, media aside."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def flagged_text(self) -> str:
        """`text` with its kind, for wires that have no error flag; `flagged` reads it back. Never empty.

        What is not ok begins with its kind; what is ok and would look as if it were not, with `ok: `.
        """
        text = self.text or (SILENT if self.media else self.kind)
        if self.kind == "ok":
            return f"{_OK}{text}" if _LOOKS_FLAGGED.match(text) else text
        says_so = text == self.kind or (self.kind != "failed" and text.startswith(f"{self.kind}: "))
        return text if says_so else f"{self.kind}: {text}"

    @property
    def media(self) -> tuple[Media, ...]:
        """What is no text, in its order."""
        return tuple(part for part in self.content if not isinstance(part, Text))

    @property
    def is_error(self) -> bool:
        """The wire's error flag: set on every kind but `ok` (spec section 3)."""
        return self.kind != "ok"


def flagged(text: str) -> tuple[ResultKind, str]:
    """The kind and the text in a `flagged_text`; a text that names no kind is ok.

    `failed: ` is taken off. The words of the other kinds are a part of what geode says itself, so they stay.
    """
    if text.startswith(_OK) and _LOOKS_FLAGGED.match(text):
        return "ok", text.removeprefix(_OK)
    kind = error_kind(text)
    if kind is None:
        return "ok", text
    return kind, text.removeprefix("failed: ")


def error_kind(text: str) -> ErrorKind | None:
    """The kind other than ok that `text` begins with, as `flagged_text` writes it."""
    return next((kind for kind in get_args(ErrorKind) if text == kind or text.startswith(f"{kind}: ")), None)


def result(call_id: str, kind: ResultKind, text: str, detail: str = "") -> ToolResult:
    """A result that is only text."""
    return ToolResult(call_id, kind, (Text(text),), detail)
