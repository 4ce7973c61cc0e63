"""Pictures as they come: every colour mode and format, rotated, moving, broken, and those that would fill the memory."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import PIL.Image
import pytest

from geode.adapters.images_pillow import PillowImages
from geode.domain.content import Image
from geode.domain.pictures import image_type, moves, pixel_size
from geode.entrypoints.compliance.images import bomb, png

ROOM = 10_000_000


def written(picture: PIL.Image.Image, format: str, **how: Any) -> Image:
    file = io.BytesIO()
    picture.save(file, format, **how)
    kind = image_type(file.getvalue())
    assert kind is not None
    return Image(kind, file.getvalue())


def opened(image: Image) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(image.data)).convert("RGB")


def fitted(image: Image, max_side: int = 100, max_bytes: int = ROOM) -> Image:
    return PillowImages().fitted(image, max_bytes=max_bytes, max_side=max_side)


@pytest.mark.parametrize(
    ("mode", "format", "colour", "kind"),
    [
        ("RGB", "PNG", (255, 0, 0), "image/png"),
        ("RGBA", "PNG", (255, 0, 0, 255), "image/png"),
        ("P", "PNG", (255, 0, 0), "image/png"),
        ("1", "PNG", 1, "image/png"),
        ("L", "PNG", 200, "image/png"),
        ("LA", "PNG", (200, 255), "image/png"),
        ("I;16", "PNG", 200 * 257, "image/png"),
        ("RGB", "JPEG", (255, 0, 0), "image/jpeg"),
        ("L", "JPEG", 200, "image/jpeg"),
        ("CMYK", "JPEG", (0, 255, 255, 0), "image/jpeg"),
        ("P", "GIF", (255, 0, 0), "image/png"),
        ("RGB", "WEBP", (255, 0, 0), "image/png"),
        ("RGBA", "WEBP", (255, 0, 0, 255), "image/png"),
    ],
)
def test_every_kind_of_picture_keeps_its_colour(mode: str, format: str, colour: Any, kind: str) -> None:
    plain = PIL.Image.new("RGB", (300, 150), colour).convert("P") if mode == "P" else PIL.Image.new(mode, (300, 150), colour)
    found = fitted(written(plain, format))
    assert (found.media_type, pixel_size(found.data)) == (kind, (100, 50))
    shown: Any = opened(found).getpixel((50, 25))
    grey = 255 if mode == "1" else 200
    wanted = (grey, grey, grey) if mode in ("1", "L", "LA", "I;16") else (255, 0, 0)
    assert all(abs(one - other) <= 4 for one, other in zip(shown, wanted, strict=True))


def test_what_is_transparent_stays_so_and_is_white_in_a_jpeg() -> None:
    clear = PIL.Image.effect_noise((300, 300), 90).convert("RGBA")
    clear.putalpha(0)
    image = written(clear, "PNG")
    assert PIL.Image.open(io.BytesIO(fitted(image).data)).mode == "RGBA"
    palette = written(PIL.Image.new("P", (300, 300)), "PNG", transparency=0)
    assert PIL.Image.open(io.BytesIO(fitted(palette).data)).mode == "RGBA"
    small = fitted(image, 300, max_bytes=20_000)
    assert small.media_type == "image/jpeg"
    assert opened(small).getextrema() == ((255, 255), (255, 255), (255, 255))


def test_a_photo_stands_upright() -> None:
    """Orientation 6 in EXIF: the camera was turned, so what is left in the file is on top."""
    sideways = PIL.Image.new("RGB", (300, 150), "black")
    sideways.paste("white", (0, 0, 150, 150))
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    found = fitted(written(sideways, "JPEG", exif=exif))
    assert pixel_size(found.data) == (50, 100)
    top, bottom = opened(found).getpixel((25, 10)), opened(found).getpixel((25, 90))
    assert (top, bottom) == ((255, 255, 255), (0, 0, 0))
    assert not PIL.Image.open(io.BytesIO(found.data)).getexif()


def test_of_what_moves_the_first_frame_stays() -> None:
    frames = [PIL.Image.new("RGB", (300, 150), colour) for colour in ("red", "blue")]
    image = written(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert moves(image.data)
    found = fitted(image)
    assert (found.media_type, opened(found).getpixel((50, 25))) == ("image/png", (255, 0, 0))


def test_a_screenshot_stays_lossless_while_there_is_room() -> None:
    assert fitted(png(300, 200), 100).media_type == "image/png"
    assert fitted(png(300, 200), 300, max_bytes=60_000).media_type == "image/jpeg"


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("kept", [0.3, 0.9])
def test_what_was_cut_off_is_a_value_error(format: str, kept: float) -> None:
    image = written(PIL.Image.effect_noise((300, 300), 90).convert("RGB"), format)
    with pytest.raises(ValueError, match="the picture cannot be read"):
        fitted(Image(image.media_type, image.data[: int(len(image.data) * kept)]))


def test_pixels_are_counted_before_a_file_is_opened() -> None:
    with pytest.raises(ValueError, match="7000x7000 pixels are too many to be opened; at most 40,000,000 are"):
        fitted(bomb(7000))
    with pytest.raises(ValueError, match="300x200 pixels are too many"):
        PillowImages(max_pixels=50_000).fitted(png(300, 200), max_bytes=ROOM, max_side=100)


def test_a_large_photo_is_read_at_a_part_of_its_size() -> None:
    photo = written(PIL.Image.new("RGB", (8000, 6000), "red"), "JPEG")
    assert pixel_size(fitted(photo, 1000).data) == (1000, 750)


BOMBS = """
import io, resource, sys
import PIL.Image
from geode.adapters.images_pillow import PillowImages
from geode.domain.content import Image

file = io.BytesIO()
PIL.Image.new("1", (20_000, 20_000)).save(file, "PNG")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    PillowImages().fitted(Image("image/png", file.getvalue()), max_bytes=10**6, max_side=2000)
except ValueError as error:
    print(len(file.getvalue()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_bomb_takes_no_memory() -> None:
    """A file of few bytes that would be 1.6 GB."""
    done = subprocess.run([sys.executable, "-c", BOMBS], capture_output=True, text=True, check=True)
    size, grown = map(int, done.stdout.split())
    assert size < 200_000
    assert grown < 20_000, f"{grown} KiB more"


def test_without_pillow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ValueError, match=r'pip install "geode\[images\]"'):
        fitted(png(30, 20))
