"""What a tool returned, as the content of its result (spec section 5).

`render` turns any value into text and media:

| returned | in the result |
|---|---|
| str | the text itself |
| None, and whatever is empty | words that say so |
| Text, Image, Document, their `…Url`, bytes of a picture; a list or tuple of these and str | those blocks, in order |
| anything else | compact JSON text, non-ASCII unescaped; if the JSON is one string, its text |

Inside JSON: dates and times are ISO 8601, a timedelta is its seconds, Decimal, UUID and paths are their
text, an Enum is its value, a dataclass is an object of its fields, a pydantic model is its own JSON form,
a set is a sorted list, bytes are `{"base64": …}`. A picture is `{"image": N}`, a document `{"document": N}`,
and follows the text as the N-th of all of them. Keys that are no strings become the text of their JSON.
Lone surrogates are replaced.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NoReturn, TypeAlias, cast

from geode.domain.content import MEDIA, Image, ImageType, ImageUrl, Media, Part, Text
from geode.domain.errors import GeodeError
from geode.domain.json_value import MAX_DEPTH, clean_text, dump_json, pointer_part

Bytes: TypeAlias = bytes | bytearray | memoryview

MAX_IMAGE_BYTES: Final = 5_000_000
_SHOWN: Final = 200
_BINARY: Final = (*MEDIA, bytes, bytearray, memoryview)
_LEAVES: Final = (type(None), str, int, float, Decimal, Enum, date, time, timedelta, Text, *_BINARY)

_MAGIC: Final[tuple[tuple[bytes, int, ImageType], ...]] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)


class Unrenderable(GeodeError, ValueError):
    """The value cannot go into a result. The message names the type and the place: `a value of type object at /conn`."""


def render(value: object, *, max_image_bytes: int = MAX_IMAGE_BYTES) -> tuple[Part, ...]:
    """The content of the result of a tool that returned `value`: never empty, no text of it blank.

    Raises Unrenderable, and nothing else, for what has no such form: objects of other types, NaN and
    Infinity, a value inside itself or over 100 levels deep, keys that become the same text, a picture
    over `max_image_bytes` or whose bytes are not what it says.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        return (_text(str.__str__(value)),)
    walk = _Walk(max_image_bytes)
    blocks = walk.blocks(value)
    if blocks is not None:
        return blocks
    data = walk.data(value)
    words = _in_words(value, data)
    return (Text(words or (data if isinstance(data, str) else dump_json(data))), *walk.attached)


def image_type(data: bytes) -> ImageType | None:
    """What the first bytes say that `data` is a picture of, or None."""
    for magic, offset, media_type in _MAGIC:
        if data.startswith(magic, offset) and (offset == 0 or data.startswith(b"RIFF")):
            return media_type
    return None


def _text(text: str) -> Text:
    return Text(text if text.strip() else _in_words(text, text))


def _in_words(value: object, data: object) -> str:
    """What to say where there is nothing to show; else "". Providers refuse blank text."""
    match data:
        case None:
            return "The tool returned nothing."
        case str() if not data.strip():
            return "The tool returned only white space." if data else "The tool returned an empty text."
        case []:
            return "The tool returned an empty list."
        case dict() if not data:
            return "The tool returned an empty object."
        case {"base64": ""} if isinstance(value, _BINARY):
            return "The tool returned no bytes."
        case _:
            return ""


class _Walk:
    """One way through a value: where it is, which values it is inside of, which media it met."""

    def __init__(self, max_image_bytes: int) -> None:
        self.max_image_bytes = max_image_bytes
        self.path: list[str] = []
        self.inside: set[int] = set()
        self.attached: list[Media] = []

    def blocks(self, value: object) -> tuple[Part, ...] | None:
        """`value` as blocks, if it is one or a list of nothing but blocks and text, with a block in it."""
        if type(value) is not list and type(value) is not tuple:
            block = self.block(value)
            return None if block is None else (block,)
        blocks: list[Part] = []
        plain = True
        for index, item in enumerate(cast("Sequence[object]", value)):
            self.path.append(str(index))
            block = Text(item) if isinstance(item, str) else self.block(item)
            self.path.pop()
            if block is None:
                return None
            plain = plain and isinstance(item, str)
            if not isinstance(block, Text) or block.text.strip():
                blocks.append(block)
        return None if plain else tuple(blocks) or (_text(""),)

    def block(self, value: object) -> Part | None:
        if isinstance(value, Text):
            return _text(value.text)
        return self.medium(value) if isinstance(value, _BINARY) else None

    def medium(self, value: Media | Bytes) -> Media | None:
        """`value` as it can be attached, a picture checked; None for bytes that are no picture."""
        if isinstance(value, MEDIA) and not isinstance(value, Image):
            return value
        data = value.data if isinstance(value, Image) else bytes(value)
        found = image_type(data)
        if isinstance(value, Image) and value.media_type != found:
            raise self.refusal(value, f", whose bytes are not {value.media_type}")
        if found is None:
            return None
        if len(data) > self.max_image_bytes:
            raise self.refusal(value, f", an image of {len(data)} bytes; at most {self.max_image_bytes} are allowed")
        return Image(found, data)

    def data(self, value: object) -> Any:
        """`value` as plain JSON data."""
        if len(self.path) > MAX_DEPTH:
            raise self.refusal(value, f", deeper than {MAX_DEPTH} levels")
        try:
            return self.leaf(value) if isinstance(value, _LEAVES) else self.container(value)
        except Unrenderable:
            raise
        except Exception as error:
            # A property, an iterator or a `model_dump` of the application may raise anything.
            raise self.refusal(value, f", which raised {type(error).__name__} when it was read") from error

    def leaf(self, value: object) -> Any:
        match value:
            case Enum():
                return self.data(value.value)
            case str():
                return clean_text(str.__str__(value))
            case None | bool():
                return value
            case int():
                return self.whole(value)
            case float():
                return float(value) if math.isfinite(value) else self.unreal(value)
            case Decimal():
                return str(value) if value.is_finite() else self.unreal(value)
            case Text():
                return value.text
            case date() | time():
                return value.isoformat()
            case timedelta():
                return value.total_seconds()
            case _:
                return self.binary(cast("Media | Bytes", value))

    def whole(self, value: int) -> int:
        if value.bit_length() > 64:
            try:
                int.__repr__(value)
            except ValueError:
                raise self.refusal(value, " with too many digits") from None
        return int(value)

    def unreal(self, value: float | Decimal) -> NoReturn:
        raise self.refusal(value, f" that is {value}, which JSON cannot carry")

    def binary(self, value: Media | Bytes) -> dict[str, Any]:
        medium = self.medium(value)
        if medium is None:
            return {"base64": base64.b64encode(cast("Bytes", value)).decode()}
        self.attached.append(medium)
        return {"image" if isinstance(medium, Image | ImageUrl) else "document": len(self.attached)}

    def container(self, value: object) -> Any:
        """What holds other values, or stands for one; it is entered once on any way down."""
        if id(value) in self.inside:
            raise self.refusal(value, " that contains itself")
        self.inside.add(id(value))
        match value:
            case Mapping():
                data: Any = self.pairs(cast("Mapping[object, object]", value).items())
            case Sequence() | MappingView():
                data = self.items(cast("Iterable[object]", value))
            case AbstractSet():
                data = _sorted(self.items(cast("Iterable[object]", value)))
            case _:
                data = self.instance(value)
        self.inside.discard(id(value))
        return data

    def instance(self, value: Any) -> Any:
        # By what the class offers, not the object: a mock offers everything, and nothing needs an import.
        kind = type(value)
        if callable(getattr(kind, "model_dump", None)):
            return self.data(value.model_dump(mode="json"))
        if is_dataclass(kind):
            return self.pairs((field.name, getattr(value, field.name)) for field in fields(kind))
        if callable(getattr(kind, "__fspath__", None)):
            return self.data(value.__fspath__())
        if any((base.__module__, base.__qualname__) == ("uuid", "UUID") for base in kind.__mro__):
            return str(value)
        raise self.refusal(value)

    def pairs(self, pairs: Iterable[tuple[object, object]]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, item in pairs:
            text = clean_text(key) if type(key) is str else self.key(key)
            self.path.append(text)
            if text in data:
                raise self.refusal(item, ", a second value for that key")
            data[text] = self.data(item)
            self.path.pop()
        return data

    def key(self, key: object) -> str:
        data = self.data(key)
        if isinstance(data, dict | list):
            raise self.refusal(key, ", which cannot be a key")
        return data if isinstance(data, str) else dump_json(data)

    def items(self, items: Iterable[object]) -> list[Any]:
        data: list[Any] = []
        for index, item in enumerate(items):
            self.path.append(str(index))
            data.append(self.data(item))
            self.path.pop()
        return data

    def refusal(self, value: object, why: str = "") -> Unrenderable:
        place = "".join(f"/{pointer_part(step)}" for step in self.path) or "/"
        shown = place if len(place) <= _SHOWN else f"{place[:_SHOWN]}…"
        return Unrenderable(f"a value of type {type(value).__name__} at {shown}{why}")


def _sorted(items: list[Any]) -> list[Any]:
    """The same order for the same set, in every process: by value where the items compare, else by their JSON."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=dump_json)
