"""A picture of labelled bars as PNG, drawn byte by byte: the demo needs no imaging library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final, TypeAlias

Color: TypeAlias = tuple[int, int, int]

_PAPER: Final[Color] = (250, 250, 247)
_INK: Final[Color] = (40, 44, 52)
_RULE: Final[Color] = (222, 222, 214)
_BARS: Final[Sequence[Color]] = ((38, 118, 142), (88, 150, 116), (206, 148, 64), (178, 88, 76))
_WIDTH: Final = 640
_ROW: Final = 34
_EDGE: Final = 16
_SCALE: Final = 2
# Three columns and five rows a character; each digit is one row, its bits are the columns.
_SHAPES: Final = """
-00700 .00002 /11244 _00007 ,00024 ?71302 075557 126227 271747 371717 455711 574717 674757 771122 875757
975717 a25755 b65656 c34443 d65556 e74647 f74644 g34553 h55755 i72227 j11152 k55655 l44447 m57755 n65555
o25552 p65644 q25563 r65655 s34216 t72222 u55557 v55552 w55775 x55255 y55222 z71247
"""
_FONT: Final = {" ": "00000", **{shape[0]: shape[1:] for shape in _SHAPES.split()}}


class Canvas:
    """Pixels in rows, from the top left."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._rows = [bytearray(_PAPER * width) for _ in range(height)]

    def fill(self, x: int, y: int, width: int, height: int, color: Color) -> None:
        for row in self._rows[y : y + height]:
            row[3 * x : 3 * (x + width)] = bytes(color) * width

    def write(self, text: str, x: int, y: int, color: Color = _INK) -> None:
        """`text` in small letters; a character without a shape is a question mark."""
        for place, character in enumerate(text.lower()):
            for line, bits in enumerate(_FONT.get(character, _FONT["?"])):
                for column in range(3):
                    if int(bits) & (4 >> column):
                        self.fill(x + (4 * place + column) * _SCALE, y + line * _SCALE, _SCALE, _SCALE, color)

    def png(self) -> bytes:
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def bar_chart(title: str, bars: Sequence[tuple[str, int]]) -> bytes:
    """One bar for each (label, value), in the given order, as PNG."""
    canvas = Canvas(_WIDTH, 2 * _EDGE + 20 + _ROW * len(bars))
    canvas.write(title, _EDGE, _EDGE)
    canvas.fill(_EDGE, _EDGE + 14, _WIDTH - 2 * _EDGE, 1, _RULE)
    largest = max((value for _, value in bars), default=1) or 1
    for number, (label, value) in enumerate(bars):
        top = _EDGE + 24 + _ROW * number
        canvas.write(f"{label}  {value:,}", _EDGE, top)
        length = max(2, (_WIDTH - 2 * _EDGE) * value // largest)
        canvas.fill(_EDGE, top + 13, length, 12, _BARS[number % len(_BARS)])
    return canvas.png()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
