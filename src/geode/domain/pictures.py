"""Pictures by their bytes: what they are, how large, and what a provider takes of them.

Nothing is decoded: kind and size stand in the first bytes of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from geode.domain.errors import Misuse

ImageType: TypeAlias = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

_MAGIC: Final[tuple[tuple[bytes, int, ImageType], ...]] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF87a", 0, "image/gif"),
    (b"GIF89a", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)
# Markers of JPEG that begin a frame, and so hold its size; and those that stand alone, without a length.
_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})


def image_type(data: bytes) -> ImageType | None:
    """What the first bytes say that `data` is a picture of, or None."""
    for magic, offset, media_type in _MAGIC:
        if data.startswith(magic, offset) and (offset == 0 or data.startswith(b"RIFF")):
            return media_type
    return None


def pixel_size(data: bytes) -> tuple[int, int] | None:
    """Width and height that the file declares, in pixels; None where it declares none."""
    match image_type(data):
        case "image/png" if data[12:16] == b"IHDR" and len(data) >= 24:
            size = _number(data[16:20], "big"), _number(data[20:24], "big")
        case "image/gif" if len(data) >= 10:
            size = _number(data[6:8]), _number(data[8:10])
        case "image/jpeg":
            size = _jpeg_size(data)
        case "image/webp":
            size = _webp_size(data)
        case _:
            return None
    return size if all(size) else None


def moves(data: bytes) -> bool:
    """Whether it is a GIF of more than one frame."""
    if image_type(data) != "image/gif":
        return False
    frames = _gif_frames(data)
    return next(frames, False) and next(frames, False)


def _number(data: bytes, order: Literal["big", "little"] = "little") -> int:
    return int.from_bytes(data, order)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _FRAMES:
            return _number(data[at + 7 : at + 9], "big"), _number(data[at + 5 : at + 7], "big")
        if marker == 0xFF:  # a byte of padding
            at += 1
        else:
            at += 2 if marker in _ALONE else 2 + max(2, _number(data[at + 2 : at + 4], "big"))
    return 0, 0


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X" if len(data) >= 30:
            return 1 + _number(data[24:27]), 1 + _number(data[27:30])
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a" and len(data) >= 30:
            return _number(data[26:28]) & 0x3FFF, _number(data[28:30]) & 0x3FFF
        case b"VP8L" if data[20:21] == b"\x2f" and len(data) >= 25:
            bits = _number(data[21:25])
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case _:
            return 0, 0


def _gif_frames(data: bytes) -> Iterator[bool]:
    """True for each frame, for as long as the file holds together."""
    at = 13 + _colors(data[10:11])
    while data[at : at + 1] in (b"\x21", b"\x2c"):
        if data[at] == 0x2C:
            yield True
            at += 10 + _colors(data[at + 9 : at + 10]) + 1
        else:
            at += 2
        while at < len(data) and data[at]:
            at += 1 + data[at]
        at += 1


def _colors(flags: bytes) -> int:
    """The bytes of the table of colours that `flags` announce."""
    found = _number(flags)
    return 3 << (found & 7) + 1 if found & 0x80 else 0


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """What a provider takes of pictures; the defaults are those of Anthropic, the tightest. Misuse for a number below 1.

    One picture: `max_bytes` before base64, `max_side` in pixels; `moving`: a GIF of several frames is taken.
    One request: `max_count` pictures of `max_total_bytes` together; with more than `many` of them none may be
    longer than `max_side_of_many` on a side.
    """

    max_bytes: int = 3_750_000
    max_side: int = 8000
    many: int = 20
    max_side_of_many: int = 2000
    max_count: int = 100
    max_total_bytes: int = 20_000_000
    moving: bool = True

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_side", "many", "max_side_of_many", "max_count", "max_total_bytes"):
            if getattr(self, name) < 1:
                raise Misuse("capability", f"PictureLimits({name}=…) must be 1 or more, got {getattr(self, name)!r}")

    @property
    def lasting_side(self) -> int:
        """A side that is taken however many pictures follow: what is kept small now is never too large later."""
        return min(self.max_side, self.max_side_of_many)

    def problem(self, data: bytes, max_side: int | None = None) -> str:
        """Why the picture is not taken, in words that follow its name; "" if it is. `max_side`: a tighter one."""
        side = min(self.max_side, max_side or self.max_side)
        if len(data) > self.max_bytes:
            return f"over the limit of {self.max_bytes:,} bytes"
        width, height = pixel_size(data) or (0, 0)
        if max(width, height) > side:
            return f"{width}x{height} pixels, over the limit of {side} on a side"
        return "a picture that moves, which this provider does not take" if not self.moving and moves(data) else ""

    def surplus(self, pictures: Iterable[bytes]) -> tuple[int, ...]:
        """The places of `pictures`, in the order of the conversation, that have to stay behind in a request of them all.

        Each that is not taken by itself; then the oldest, until count and sum fit, for the newest matter most.
        """
        listed = list(pictures)
        crowded = len(listed) > self.many
        out = {at for at, data in enumerate(listed) if self.problem(data, self.max_side_of_many if crowded else None)}
        left, total = len(listed) - len(out), sum(len(data) for at, data in enumerate(listed) if at not in out)
        for at, data in enumerate(listed):
            if left <= self.max_count and total <= self.max_total_bytes:
                break
            if at not in out:
                out.add(at)
                left, total = left - 1, total - len(data)
        return tuple(sorted(out))


# Anthropic: 5 MB in base64, 8000 pixels, 2000 with more than 20 pictures, 100 pictures, 32 MB a request (its page
# "Vision"; wire facts C1.8). OpenAI: 20 MB, 500 pictures, 50 MB a request, no GIF that moves (its page "Images and
# vision"); it scales sides itself. GLM: 5 MB, 6000 pixels (its page on vision models).
_ANY_SIDE: Final = 65_535
OPENAI_PICTURES: Final = PictureLimits(
    20_000_000, _ANY_SIDE, many=500, max_side_of_many=_ANY_SIDE, max_count=500, max_total_bytes=37_000_000, moving=False
)
GLM_PICTURES: Final = PictureLimits(max_side=6000, many=100, max_side_of_many=6000)
