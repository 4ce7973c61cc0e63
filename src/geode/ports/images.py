"""Making pictures smaller, for providers that take no larger ones."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from geode.domain.content import Image


@runtime_checkable
class ImageResizer(Protocol):
    """Called from any thread, several at once; it may block."""

    def fitted(self, image: Image, *, max_bytes: int, max_side: int) -> Image:
        """The picture, still and upright, of at most `max_bytes` and no side over `max_side` pixels.

        It shows the whole of `image`, in its proportions, no larger than it was; of one that moves, the first
        frame. Raises ValueError that says why where that cannot be done: the bytes are broken, or would take too
        much memory. Whatever the bytes say of themselves, memory stays bounded.
        """
        ...
