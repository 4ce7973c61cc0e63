"""The contract of what makes pictures smaller: `geode.ports.ImageResizer`."""

from __future__ import annotations

import hashlib
import struct
import zlib
from abc import ABC, abstractmethod
from typing import Final

import pytest

from geode.domain.content import Image
from geode.domain.pictures import moves, pixel_size
from geode.entrypoints.compliance.contract import Contract, made
from geode.ports.images import ImageResizer

_GIF: Final = b"GIF89a\x10\x00\x08\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff"
_FRAME: Final = b"\x2c\x00\x00\x00\x00\x10\x00\x08\x00\x00\x02\x0b\x84\x8f\xa9\xcb\xed\x0f\xa3\x9c\xb4\xda\x0b\x00"


def png(width: int, height: int) -> Image:
    """A picture like noise, the same each time, which no format makes much smaller."""
    row = 3 * width
    noise = b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(-(-row * height // 32)))
    rows = b"".join(b"\0" + noise[at : at + row] for at in range(0, row * height, row))
    return _png(width, height, zlib.compress(rows, 1))


def bomb(side: int) -> Image:
    """Few bytes that say they are `side` pixels square, and would be that in memory."""
    rows = zlib.compressobj(9)
    half = b"\0" * (3 * side + 1)
    return _png(side, side, b"".join(rows.compress(half) for _ in range(64)) + rows.flush())


def _png(width: int, height: int, data: bytes) -> Image:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return Image("image/png", b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", data) + chunk(b"IEND", b""))


class ImageResizerHarness(ABC):
    @abstractmethod
    def resizer(self) -> ImageResizer: ...


class ImageResizerContract(Contract):
    """A picture comes back within both limits, whole and in its proportions, or a ValueError says why not."""

    @property
    def made(self) -> ImageResizerHarness:
        found: ImageResizerHarness = made(type(self), ImageResizerHarness)
        return found

    def fitted(self, image: Image, max_bytes: int = 10_000_000, max_side: int = 8000) -> Image:
        return self.made.resizer().fitted(image, max_bytes=max_bytes, max_side=max_side)

    @pytest.mark.parametrize(("width", "height"), [(400, 300), (300, 400), (400, 4)])
    def test_sides_come_within_the_limit_in_their_proportions(self, width: int, height: int) -> None:
        size = pixel_size(self.fitted(png(width, height), max_side=100).data)
        assert size is not None
        assert max(size) == 100
        assert abs(size[0] / width - size[1] / height) <= 1 / min(width, height)

    def test_bytes_come_within_the_limit(self) -> None:
        image = png(400, 300)
        found = self.fitted(image, max_bytes=20_000)
        assert len(image.data) > 20_000 >= len(found.data)

    def test_no_picture_gets_larger(self) -> None:
        found = self.fitted(png(40, 30), max_side=100)
        assert pixel_size(found.data) == (40, 30)

    def test_what_moves_stands_still(self) -> None:
        image = Image("image/gif", _GIF + _FRAME + _FRAME + b"\x3b")
        assert moves(image.data)
        try:
            found = self.fitted(image)
        except ValueError:
            return
        assert not moves(found.data)

    @pytest.mark.parametrize("kept", [20, 40, 300])
    def test_broken_bytes_are_a_value_error(self, kept: int) -> None:
        broken = Image("image/png", png(400, 300).data[:kept])
        with pytest.raises(ValueError, match=r"\S"):
            self.fitted(broken, max_side=100)

    def test_a_bomb_is_not_opened(self) -> None:
        with pytest.raises(ValueError, match=r"\S"):
            self.fitted(bomb(30_000), max_side=100)

    def test_what_cannot_be_that_small_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match=r"\S"):
            self.fitted(png(40, 30), max_bytes=10)
