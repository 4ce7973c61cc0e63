"""The way through a value that becomes a result: its JSON data, its media, and where it cannot be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias, cast

from geode.domain.content import MEDIA, Document, Image, ImageUrl, Media, Part, Text
from geode.domain.errors import GeodeError, Misuse
from geode.domain.json_value import MAX_DEPTH, clean_text, dump_json, pointer_part
from geode.domain.known_types import plain_form
from geode.domain.model_fields import fields_apart, is_root
from geode.domain.pictures import image_type
from geode.domain.value_words import BINARY, Bytes, advice, decoded, encoded, in_one_order, in_words, unreal

# What an application says of a type of its own: any value that can be rendered.
Renderer: TypeAlias = Callable[[Any], object]

_NO_RENDERERS: Final[Mapping[type, Renderer]] = {}
_SHOWN: Final = 200
_LEAVES: Final = (type(None), str, int, float, Decimal, Enum, date, time, timedelta, Text, *BINARY)


class Unrenderable(GeodeError, ValueError):
    """The value cannot go into a result. The message names the type and the place: `a value of type object at /conn`."""


class Rendering(NamedTuple):
    """How values are rendered.

    `renderers`: by class, for its subclasses too; the nearest class counts, and before everything geode
    knows by itself. That of `object` is for what has no form otherwise. An iterator is read up to
    `max_items` items, or until these have more than `max_characters`.
    """

    renderers: Mapping[type, Renderer] = _NO_RENDERERS
    max_items: int = 10_000
    max_characters: int = 10_000_000

    def has_own(self, value: object) -> bool:
        """Whether the application itself says what stands for the value."""
        return any(kind in self.renderers for kind in type(value).__mro__ if kind is not object)


class Walk:
    """One way through a value: where it is, which values it is inside of, which media it met, how much it wrote."""

    def __init__(self, how: Rendering) -> None:
        self.how = how
        self.own = frozenset(how.renderers) - {object}
        self.path: list[str] = []
        self.inside: set[int] = set()
        self.attached: list[Media] = []
        self.cuts: list[str] = []
        self.characters = 0

    def said(self, value: object, data: object) -> tuple[Part, ...]:
        """`data`, which `value` became, as text, and what goes with it."""
        words = in_words(value, data)
        text = Text(words or (data if isinstance(data, str) else dump_json(data)))
        return (text, *self.attached, *map(Text, self.cuts))

    def standing_in(self, value: object) -> object:
        """What the application's renderers make of the value, and of that in turn; none of them twice."""
        left = self.own
        while left and (kind := next((one for one in type(value).__mro__ if one in left), None)):
            left -= {kind}
            try:
                value = self.how.renderers[kind](value)
            except Exception as error:
                raise self.raised(value, error, "rendered") from error
        return value

    def blocks(self, value: object) -> tuple[Part, ...] | None:
        """`value` as blocks, if it is one or a list of nothing but blocks and text, with a block in it."""
        if type(value) is not list and type(value) is not tuple:
            block = self.block(value)
            return None if block is None else (block,)
        blocks: list[Part] = []
        plain = True
        for index, given in enumerate(cast("Sequence[object]", value)):
            self.path.append(str(index))
            item = self.standing_in(given)
            block = Text(item) if isinstance(item, str) and not isinstance(item, Enum) else self.block(item)
            self.path.pop()
            if block is None:
                return None
            plain = plain and isinstance(item, str)
            blocks.append(block)
        return None if plain else visible_blocks(blocks)

    def block(self, value: object) -> Part | None:
        if isinstance(value, Text):
            return shown_text(value.text)
        return self.medium(value) if isinstance(value, BINARY) else None

    def medium(self, value: Media | Bytes) -> Media | None:
        """`value` as it can be attached; None for bytes that are neither a picture nor a PDF."""
        if isinstance(value, MEDIA):
            return value
        data = bytes(value)
        found = image_type(data)
        if found is not None:
            return Image(found, data)
        return Document("application/pdf", data) if data.startswith(b"%PDF-") else None

    def data(self, value: object) -> Any:
        """`value` as plain JSON data."""
        if len(self.path) > MAX_DEPTH:
            raise self.refusal(value, f", deeper than {MAX_DEPTH} levels")
        value = self.standing_in(value) if self.own else value
        try:
            return self.leaf(value) if isinstance(value, _LEAVES) else self.container(value)
        except Unrenderable:
            raise
        except Exception as error:
            # A property, an iterator or a `model_dump` of the application may raise anything.
            raise self.raised(value, error) from error

    def leaf(self, value: object) -> Any:
        match value:
            case Enum():
                return self.data(value.value)
            case str() | Text():
                return self.text(value.text if isinstance(value, Text) else str.__str__(value))
            case None | bool():
                return value
            case int():
                return self.whole(value)
            case float():
                return float(value) if math.isfinite(value) else unreal(value)
            case Decimal():
                return str(value) if value.is_finite() else unreal(value)
            case date() | time():
                return value.isoformat()
            case timedelta():
                return value.total_seconds()
            case _:
                return self.binary(cast("Media | Bytes", value))

    def text(self, text: str) -> str:
        self.characters += len(text)
        return clean_text(text)

    def whole(self, value: int) -> int:
        if value.bit_length() > 64:
            try:
                int.__repr__(value)
            except ValueError:
                raise self.refusal(value, " with too many digits") from None
        return int(value)

    def binary(self, value: Media | Bytes) -> Any:
        medium = self.medium(value)
        if medium is None:
            text = decoded(bytes(cast("Bytes", value)))
            return self.text(text) if text is not None else {"base64": self.text(encoded(cast("Bytes", value)))}
        self.characters += len(medium.data) if isinstance(medium, Image | Document) else len(medium.url)
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
            case Sequence() | MappingView() if not hasattr(type(value), "keys"):
                data = self.items(cast("Iterable[object]", value))
            case AbstractSet():
                data = in_one_order(self.items(cast("Iterable[object]", value)))
            case _ if is_stream(value):
                data = self.streamed(cast("Iterator[object]", value))
            case _:
                data = self.instance(value)
        self.inside.discard(id(value))
        return data

    def instance(self, value: Any) -> Any:
        # By what the class offers, not the object: a mock offers everything.
        if callable(getattr(type(value), "model_dump", None)):
            return self.model(value)
        plain = None if isinstance(value, type) else plain_form(value)
        if plain is not None:
            return self.data(plain.value)
        if object in self.how.renderers:
            return self.data(self.how.renderers[object](value))
        raise self.refusal(value, advice(value))

    def model(self, value: Any) -> Any:
        """A pydantic model in its own JSON form, but for what that form cannot carry: media, and what has a renderer."""
        apart = fields_apart(value, (*BINARY, *self.own))
        if not apart:
            return self.data(value.model_dump(mode="json"))
        if is_root(value):
            return self.data(value.root)
        return self.pairs([*value.model_dump(mode="json", exclude=set(apart)).items(), *apart.items()])

    def pairs(self, pairs: Iterable[tuple[object, object]]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key, item in pairs:
            text = clean_text(key) if type(key) is str else self.key(key)
            self.characters += len(text)
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

    def streamed(self, items: Iterator[object]) -> list[Any]:
        """An iterator inside of a value."""
        data: list[Any] = []
        most = self.characters + self.how.max_characters

        def take(item: object) -> bool:
            if len(data) >= self.how.max_items or self.characters > most:
                self.cuts.append(cut_line(self.how, len(data), f" at {self.place}"))
                return False
            self.path.append(str(len(data)))
            data.append(self.data(item))
            self.path.pop()
            return True

        gather(items, take)
        return data

    @property
    def place(self) -> str:
        place = "".join(f"/{pointer_part(step)}" for step in self.path) or "/"
        return place if len(place) <= _SHOWN else f"{place[:_SHOWN]}…"

    def refusal(self, value: object, why: str) -> Unrenderable:
        return Unrenderable(f"a value of type {type(value).__name__} at {self.place}{why}")

    def raised(self, value: object, error: Exception, when: str = "read") -> Unrenderable:
        # A Misuse is geode's own, and says what to do.
        said = f": {error}" if isinstance(error, Misuse) else ""
        return self.refusal(value, f", which raised {type(error).__name__} when it was {when}{said}")


def is_stream(value: object) -> bool:
    """Whether it gives its items one by one and only once. A file does too, and is something to be read."""
    return isinstance(value, Iterator) and not hasattr(type(value), "read")


def gather(items: Iterator[object], take: Callable[[object], bool]) -> None:
    """Hand on each item until there is no room. What a generator returns comes last; one that is left is closed."""
    try:
        while True:
            try:
                item = next(items)
            except StopIteration as end:
                if end.value is not None:
                    take(end.value)
                return
            if not take(item):
                return
    finally:
        if isinstance(items, Generator):
            items.close()


def cut_line(how: Rendering, count: int, place: str = "") -> str:
    reached = f"{how.max_items:,} items" if count >= how.max_items else f"{how.max_characters:,} characters"
    return f"[there is more{place}: these are its first {count:,} items; an iterator is read up to {reached}]"


def shown_text(text: str) -> Text:
    return Text(text if text.strip() else in_words(text, text))


def visible_blocks(blocks: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(block for block in blocks if not isinstance(block, Text) or block.text.strip())
