"""Pictures by their bytes, and what a provider takes of them."""

import struct
from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.pictures import GLM_PICTURES, OPENAI_PICTURES, PictureLimits, image_type, moves, pixel_size

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(width: int, height: int, length: int = 33) -> bytes:
    """The beginning of a PNG (its specification, section 11.2.2), filled up to `length`."""
    return (SIGNATURE + struct.pack(">I4sIIBBBBBI", 13, b"IHDR", width, height, 8, 2, 0, 0, 0, 0)).ljust(length, b"\0")


def gif(*frames: bytes, size: tuple[int, int] = (16, 8)) -> bytes:
    """GIF89a, sections 18 to 27: a screen with two colours, then blocks."""
    return b"GIF89a" + struct.pack("<HHBBB", *size, 0x80, 0, 0) + bytes(6) + b"".join(frames) + b"\x3b"


FRAME = b"\x2c" + bytes(8) + b"\x00\x02\x03abc\x00"
COLOURED = b"\x2c" + bytes(8) + b"\x81" + bytes(12) + b"\x02\x01a\x02bc\x00"
PAUSE = b"\x21\xf9\x04\x00\x0a\x00\x00\x00"
COMMENT = b"\x21\xfe\x02\x2c\x2c\x00"


def jpeg(*segments: bytes) -> bytes:
    return b"\xff\xd8" + b"".join(segments)


APP0 = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
# A thumbnail inside of EXIF has a frame of its own, which is not the picture's.
EXIF = b"\xff\xe1" + struct.pack(">H", 2 + 19) + b"\xff\xc0" + bytes(17)
TABLE = b"\xff\xc4" + struct.pack(">H", 4) + b"\0\0"


def frame(marker: int, width: int, height: int) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">HBHHB", 11, 8, height, width, 1) + bytes(3)


def webp(kind: bytes, content: bytes) -> bytes:
    body = b"WEBP" + kind + struct.pack("<I", len(content)) + content
    return b"RIFF" + struct.pack("<I", len(body)) + body


LOSSLESS = b"\x2f" + struct.pack("<I", (300 - 1) | (200 - 1) << 14) + bytes(8)
LOSSY = b"\x50\x01\x00\x9d\x01\x2a" + struct.pack("<HH", 300 | 0x4000, 200) + bytes(8)
EXTENDED = b"\x10\0\0\0" + (300 - 1).to_bytes(3, "little") + (200 - 1).to_bytes(3, "little") + bytes(4)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png(300, 200), (300, 200)),
        (png(60_000, 60_000), (60_000, 60_000)),
        (gif(size=(300, 200)), (300, 200)),
        (jpeg(APP0, frame(0xC0, 300, 200)), (300, 200)),
        (jpeg(APP0, EXIF, TABLE, frame(0xC2, 300, 200)), (300, 200)),
        (jpeg(b"\xff\xff", APP0[1:], frame(0xC1, 300, 200)), (300, 200)),
        (webp(b"VP8L", LOSSLESS), (300, 200)),
        (webp(b"VP8 ", LOSSY), (300, 200)),
        (webp(b"VP8X", EXTENDED), (300, 200)),
        (png(0, 200), None),
        (png(300, 200)[:20], None),
        (SIGNATURE + bytes(40), None),
        (jpeg(APP0), None),
        (jpeg(APP0, b"\xff\xc0\0"), None),
        (b"\xff\xd8\xff", None),
        (webp(b"VP8 ", bytes(20)), None),
        (webp(b"ALPH", bytes(20)), None),
        (b"GIF89a\x01", None),
        (b"no picture", None),
    ],
)
def test_the_size_stands_in_the_first_bytes(data: bytes, size: tuple[int, int] | None) -> None:
    assert pixel_size(data) == size


def test_a_segment_of_no_length_ends_the_search() -> None:
    assert pixel_size(jpeg(b"\xff\xe0\0\0" * 9)) is None


@pytest.mark.parametrize(
    ("data", "moving"),
    [
        (gif(FRAME), False),
        (gif(FRAME, FRAME), True),
        (gif(PAUSE, FRAME, COMMENT, PAUSE, COLOURED), True),
        (gif(COMMENT, COLOURED), False),
        (gif(PAUSE), False),
        (gif(FRAME, FRAME)[:30], False),
        (png(1, 1), False),
        (b"", False),
    ],
)
def test_a_gif_of_several_frames_moves(data: bytes, moving: bool) -> None:
    assert moves(data) is moving


LIMITS = PictureLimits(1000, 8000, many=3, max_side_of_many=2000, max_count=5, max_total_bytes=900)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (png(8000, 8000, 1000), ""),
        (png(1, 1, 1001), "over the limit of 1,000 bytes"),
        (png(8001, 5), "8001x5 pixels, over the limit of 8000 on a side"),
        (png(5, 8001), "5x8001 pixels, over the limit of 8000 on a side"),
        (SIGNATURE, ""),
        (gif(FRAME, FRAME), ""),
    ],
)
def test_what_is_wrong_with_one_picture(data: bytes, words: str) -> None:
    assert LIMITS.problem(data) == words


def test_a_tighter_side_and_what_moves() -> None:
    assert LIMITS.problem(png(2001, 5), 2000) == "2001x5 pixels, over the limit of 2000 on a side"
    assert LIMITS.lasting_side == 2000
    assert "moves" in PictureLimits(moving=False).problem(gif(FRAME, FRAME))
    assert PictureLimits(moving=False).problem(gif(FRAME)) == ""


@pytest.mark.parametrize(
    ("pictures", "out"),
    [
        ([], ()),
        ([png(1, 1)] * 5, ()),
        ([png(1, 1)] * 7, (0, 1)),  # the oldest, until five are left
        ([png(1, 1, 300)] * 4, (0,)),  # and 900 bytes
        ([png(1, 1, 900), png(1, 1, 33)], (0,)),
        ([png(1, 1, 2000), png(1, 1)], (0,)),
        ([png(2001, 1), png(1, 1), png(1, 1)], ()),  # three are not many
        ([png(1, 1), png(2001, 1), png(1, 1), png(1, 1)], (1,)),
        ([png(2001, 1), *[png(1, 1)] * 6], (0, 1)),
    ],
)
def test_of_too_many_the_oldest_stay_behind(pictures: list[bytes], out: tuple[int, ...]) -> None:
    assert LIMITS.surplus(pictures) == out


def test_what_providers_say() -> None:
    """Wire facts C1.8 and the providers' pages on vision: 5 MB in base64 is 3.75 MB before it."""
    anthropic = PictureLimits()
    assert (anthropic.max_bytes * 4 // 3, anthropic.max_side) == (5_000_000, 8000)
    assert (anthropic.many, anthropic.max_side_of_many, anthropic.max_count) == (20, 2000, 100)
    assert anthropic.max_total_bytes * 4 / 3 < 32_000_000
    assert (OPENAI_PICTURES.max_bytes, OPENAI_PICTURES.max_count, OPENAI_PICTURES.moving) == (20_000_000, 500, False)
    assert OPENAI_PICTURES.max_total_bytes * 4 / 3 < 50_000_000
    assert (GLM_PICTURES.max_side, GLM_PICTURES.lasting_side) == (6000, 6000)


@pytest.mark.parametrize("name", ["max_bytes", "max_side", "many", "max_side_of_many", "max_count", "max_total_bytes"])
def test_a_limit_is_one_or_more(name: str) -> None:
    zero: dict[str, Any] = {name: 0}
    with pytest.raises(Misuse, match=name):
        PictureLimits(**zero)


def test_the_kind_is_not_the_size() -> None:
    assert image_type(png(1, 1)) == "image/png"
    assert image_type(webp(b"VP8L", LOSSLESS)) == "image/webp"
