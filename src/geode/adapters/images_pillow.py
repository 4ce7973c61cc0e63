"""PillowImages: the image port over Pillow, which comes with the extra `images`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from geode.domain.content import Image
from geode.domain.pictures import pixel_size

if TYPE_CHECKING:
    from PIL.Image import Image as Opened

# How good a JPEG is, the first that is small enough; then all sides get shorter.
_QUALITIES: Final = (88, 75, 60)
_SHORTER: Final = 0.75
_SMALLEST: Final = 64
_ONE_AT_A_TIME: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class PillowImages:
    """See `geode.ports.images.ImageResizer`.

    A picture of more than `max_pixels` is not opened: its bytes may be few, in memory each pixel takes four. A
    large JPEG is read at a half, a quarter or an eighth of its sides, and counts as that. One picture is open at
    a time in the whole process.
    What has transparent parts or was no JPEG stays a PNG, unless only a JPEG is small enough.
    """

    max_pixels: int = 40_000_000

    def fitted(self, image: Image, *, max_bytes: int, max_side: int) -> Image:
        try:
            import PIL.Image
        except ImportError:
            raise ValueError('to make pictures smaller, install geode with its images: pip install "geode[images]"') from None
        self._check_size(image, max_side, PIL.Image.MAX_IMAGE_PIXELS)
        with _ONE_AT_A_TIME:
            return _fitted(image, max_bytes, max_side)

    def _check_size(self, image: Image, max_side: int, most: int | None) -> None:
        width, height = pixel_size(image.data) or (0, 0)
        if not width:
            raise ValueError("the picture cannot be read: its size is not in it")
        scale = _scale(width, height, max_side) if image.media_type == "image/jpeg" else 1
        for count, limit in ((width * height // scale**2, self.max_pixels), (width * height, most)):
            # Pillow has a limit of its own, which it warns of before it raises.
            if limit is not None and count > limit:
                raise ValueError(f"{width}x{height} pixels are too many to be opened; at most {limit:,} are")


def _fitted(image: Image, max_bytes: int, max_side: int) -> Image:
    import PIL.Image

    try:
        with PIL.Image.open(BytesIO(image.data), formats=("PNG", "JPEG", "GIF", "WEBP")) as opened:
            picture = _upright(opened, max_side)
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, PIL.Image.DecompressionBombError) as error:
        raise ValueError(f"the picture cannot be read: {error}") from None
    found = next((one for one in _smaller_and_smaller(picture, image, max_side) if len(one.data) <= max_bytes), None)
    if found is None:
        raise ValueError(f"it does not get as small as {max_bytes:,} bytes")
    return found


def _scale(width: int, height: int, max_side: int) -> int:
    """The part of its sides at which a JPEG can be read and is still as large as wanted."""
    return next((scale for scale in (8, 4, 2) if max(width, height) // scale >= max_side), 1)


def _upright(opened: Opened, max_side: int) -> Opened:
    """The first frame, as it is meant to be looked at, in colours that can be scaled and written."""
    from PIL import ImageOps

    if opened.format == "JPEG":
        scale = _scale(opened.width, opened.height, max_side)
        opened.draft(None, (opened.width // scale, opened.height // scale))
    opened.seek(0)
    opened.load()
    if opened.mode.startswith("I;16"):  # 16 bits of grey
        found: Any = opened.convert("I").point(lambda value: value / 256).convert("L")
    else:
        found = opened if opened.mode in ("L", "RGB", "RGBA") else opened.convert("RGBA" if _is_transparent(opened) else "RGB")
    return ImageOps.exif_transpose(found)


def _is_transparent(picture: Opened) -> bool:
    return "transparency" in picture.info or picture.mode in ("LA", "PA", "La", "RGBa")


def _smaller_and_smaller(picture: Opened, source: Image, max_side: int) -> Iterator[Image]:
    """The picture written in ways of less and less bytes."""
    side = min(max_side, max(picture.size))
    while side >= _SMALLEST or side == max(picture.size):
        sized = picture if side >= max(picture.size) else _scaled(picture, side)
        if source.media_type != "image/jpeg":
            yield _written(sized, "PNG")
        opaque = _on_white(sized)
        for quality in _QUALITIES:
            yield _written(opaque, "JPEG", quality=quality)
        side = int(side * _SHORTER)


def _scaled(picture: Opened, side: int) -> Opened:
    from PIL.Image import Resampling

    ratio = side / max(picture.size)
    return picture.resize(
        (max(1, int(picture.width * ratio)), max(1, int(picture.height * ratio))), Resampling.LANCZOS, reducing_gap=3.0
    )


def _on_white(picture: Opened) -> Opened:
    """Without transparency, which a JPEG has not."""
    if picture.mode != "RGBA":
        return picture
    import PIL.Image

    ground = PIL.Image.new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture.getchannel("A"))
    return ground


def _written(picture: Opened, format: str, **how: Any) -> Image:
    file = BytesIO()
    picture.save(file, format, optimize=format == "JPEG", **how)
    return Image("image/png" if format == "PNG" else "image/jpeg", file.getvalue())
