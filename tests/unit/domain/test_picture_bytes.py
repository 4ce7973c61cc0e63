"""The first bytes of pictures, to the byte: where a number begins and ends, and what is cut too short."""

from __future__ import annotations

import struct

import pytest

from geode.domain.errors import Misuse
from geode.domain.pictures import PictureLimits, moves, pixel_size
from tests.unit.domain.test_pictures import COLOURED, COMMENT, FRAME, SIGNATURE, frame, gif, jpeg, png, webp

EXTENDED = b"\x10\0\0\0" + (300 - 1).to_bytes(3, "little") + (200 - 1).to_bytes(3, "little")
LOSSY = b"\x50\x01\x00\x9d\x01\x2a" + struct.pack("<HH", 300, 200)
LOSSLESS = b"\x2f" + struct.pack("<I", (300 - 1) | (200 - 1) << 14)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        # PNG: four bytes each, big end first, after the word IHDR.
        (png(0x1020304, 0x2030405), (0x1020304, 0x2030405)),
        (png(3, 2)[:24], (3, 2)),
        (png(3, 0x2000000)[:23], None),
        (SIGNATURE + b"\x01" * 40, None),
        # GIF: two each, little end first.
        (b"GIF89a" + struct.pack("<HH", 0x0102, 0x0304), (0x0102, 0x0304)),
        (b"GIF87a" + struct.pack("<HH", 3, 0x0304)[:3], None),
        # JPEG: two each, height first, in the first segment that is a frame.
        (jpeg(frame(0xC0, 0x0403, 0x0201)), (0x0403, 0x0201)),
        (jpeg(frame(0xC0, 3, 2)[:9]), (3, 2)),
        (jpeg(frame(0xC0, 0x0403, 2)[:8]), None),
        (jpeg(b"\xff\x01", b"\xff\xd0", frame(0xC0, 3, 2)), (3, 2)),
        (jpeg(b"\xff\xfe\x00\x02", frame(0xC0, 3, 2)), (3, 2)),
        (jpeg(b"\xff\xfe\x01\x02" + bytes(256), frame(0xC0, 3, 2)), (3, 2)),
        # WebP: three bytes each less one, or fourteen bits.
        (webp(b"VP8X", EXTENDED), (300, 200)),
        (webp(b"VP8X", EXTENDED + b"\xff" * 4), (300, 200)),
        (webp(b"VP8X", EXTENDED)[:29], None),
        (webp(b"VP8 ", LOSSY), (300, 200)),
        (webp(b"VP8 ", LOSSY + b"\xff" * 4), (300, 200)),
        (webp(b"VP8 ", LOSSY)[:29], None),
        (webp(b"VP8 ", b"\x01" * 20), None),
        (webp(b"VP8L", LOSSLESS), (300, 200)),
        (webp(b"VP8L", LOSSLESS + b"\xff" * 4), (300, 200)),
        (webp(b"VP8L", LOSSLESS)[:24], None),
        (webp(b"VP8L", b"\x01" * 20), None),
    ],
    ids=range(23),
)
def test_a_size_to_the_byte(data: bytes, size: tuple[int, int] | None) -> None:
    assert pixel_size(data) == size


def test_frames_after_tables_of_colours() -> None:
    """A table of its own before the pixels of a frame; and none of the screen, though its size is announced."""
    assert moves(gif(COLOURED, FRAME))
    assert moves(gif(COLOURED, COMMENT, COLOURED))
    assert not moves(gif(COLOURED))
    bare = b"GIF89a" + struct.pack("<HHBBB", 16, 8, 0x01, 0, 0)
    assert moves(bare + FRAME + FRAME)
    assert not moves(bare + FRAME)


def test_a_limit_of_one_is_one() -> None:
    least = PictureLimits(1, 1, 1, 1, 1, 1)
    assert least.problem(png(1, 1, 33)) == "over the limit of 1 bytes"
    with pytest.raises(Misuse) as caught:
        PictureLimits(max_side=0)
    assert str(caught.value) == "PictureLimits(max_side=…) must be 1 or more, got 0 [capability]"
    assert caught.value.id == "capability"


def test_what_moves_is_told_in_words() -> None:
    said = "a picture that moves, which this provider does not take"
    assert PictureLimits(moving=False).problem(gif(FRAME, FRAME)) == said
