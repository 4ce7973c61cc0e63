"""What tools give, as the contents of results: rendered, read to a bound, pictures made to fit."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from geode.application.foreign import explained, text_of
from geode.domain.content import Image, Part, Text, media_word
from geode.domain.pictures import PictureLimits, pixel_size
from geode.domain.policy import Policy
from geode.domain.results import PLAIN, Rendering, Stream
from geode.ports.images import ImageResizer


class Fitted(NamedTuple):
    """Parts whose pictures a provider takes, and what was done to others, for observers."""

    content: tuple[Part, ...]
    resized: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing but pictures that could not be shown was there."""
        return bool(self.left_out) and len(self.content) == len(self.left_out)


@dataclass(frozen=True, slots=True)
class Contents:
    """How the contents of a run's results are made. `limits` are those of its provider."""

    how: Rendering = PLAIN
    limits: PictureLimits = PictureLimits()
    resizer: ImageResizer | None = None

    @staticmethod
    def of(policy: Policy, how: Rendering, limits: PictureLimits, resizer: ImageResizer | None) -> Contents:
        bounded = Rendering(how.renderers, policy.max_iterated_items, policy.max_iterated_characters)
        return Contents(bounded, limits, resizer if policy.oversize_images == "resize" else None)

    def oversize(self, content: Iterable[Part]) -> bool:
        """Whether something in it has to be fitted."""
        return any(isinstance(part, Image) and self.limits.problem(part.data, self._side) for part in content)

    @property
    def _side(self) -> int:
        # What can be made smaller is made so small that it is never too large for a request of many pictures.
        return self.limits.max_side if self.resizer is None else self.limits.lasting_side

    def fitted(self, content: Sequence[Part]) -> Fitted:
        """`content` with pictures that the provider takes: smaller ones, or words in their place. It may block."""
        parts: list[Part] = []
        resized: list[str] = []
        left_out: list[str] = []
        number = 0
        for part in content:
            number += not isinstance(part, Text)
            if not isinstance(part, Image) or not self.limits.problem(part.data, self._side):
                parts.append(part)
                continue
            found = self._smaller(part)
            if isinstance(found, Image):
                text = "" if found is part else f"[image {number} was made to fit: {_word(part)}, now {_word(found)}]"
                parts += [found, *([Text(text)] if text else [])]
                resized += [text] if text else []
            else:
                parts.append(Text(f"[image {number} is not shown: {_word(part)}; {self.limits.problem(part.data)}]"))
                left_out.append(f"image {number}, {_word(part)}: {found}")
        return Fitted(tuple(parts), tuple(resized), tuple(left_out))

    def _smaller(self, image: Image) -> Image | str:
        """The picture as the provider takes it, or why there is none."""
        problem, limits = self.limits.problem(image.data), self.limits
        if self.resizer is None:
            return problem or image
        try:
            found: Any = self.resizer.fitted(image, max_bytes=limits.max_bytes, max_side=limits.lasting_side)
        except Exception as error:
            why = text_of(error) if type(error) is ValueError else explained(error)
            return f"{problem}; {why}" if problem else image
        if not isinstance(found, Image) or limits.problem(found.data):
            return f"{problem}; the resizer gave nothing that fits" if problem else image
        return found


def _word(image: Image) -> str:
    size = pixel_size(image.data)
    return f"{media_word(image)}, {size[0]}x{size[1]} pixels" if size else media_word(image)


async def gather_async(items: AsyncIterable[object], stream: Stream) -> None:
    """Take in the items until there is no room; a generator that is left is closed."""
    iterator = aiter(items)
    try:
        async for item in iterator:
            if not stream.take(item):
                break
    finally:
        if isinstance(iterator, AsyncGenerator):
            await iterator.aclose()
