"""Pictures and documents in the forms that requests write them in."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Final, Literal
from urllib.parse import unquote_to_bytes

from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Media, nameless
from geode.domain.errors import Misuse
from geode.domain.pictures import ImageType, image_type

_IMAGES: Final[dict[str, ImageType]] = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}
_PDF: Final = "application/pdf"


def from_bytes(media_type: str, data: bytes, name: str = "") -> Image | Document | None:
    """The medium, or None if there is no neutral form for it or its bytes are broken. Any kind of text is plain text."""
    kind = media_type.strip().lower()
    try:
        if kind in _IMAGES or kind == _PDF:
            # Others mistake one kind for another, and providers look at the bytes.
            found = image_type(data) or _IMAGES.get(kind)
            if found is not None:
                return Image(found, data)
        if kind == _PDF:
            return Document(_PDF, data, name)
        return Document("text/plain", data, name) if kind.startswith("text/") else None
    except Misuse:
        return None


def from_base64(media_type: str, data: str, name: str = "") -> Image | Document | None:
    decoded = _decoded(data)
    return None if decoded is None else from_bytes(media_type, decoded, name)


def from_address(url: str, kind: Literal["image", "document"], name: str = "") -> Media | None:
    """The medium at an address, or inside one that holds it (RFC 2397); None for anything else."""
    if url.startswith(("https://", "http://")):
        return ImageUrl(url) if kind == "image" else DocumentUrl(url, name)
    head, comma, data = url.partition(",")
    scheme, _, described = head.partition(":")
    if not comma or scheme.lower() != "data":
        return None
    media_type, *parameters = described.split(";")
    if "base64" in (word.strip().lower() for word in parameters):
        return from_base64(media_type or "text/plain", data, name)
    return from_bytes(media_type or "text/plain", unquote_to_bytes(data), name)


def from_bare_base64(data: str, name: str = "") -> Image | Document | None:
    """The medium in base64 without a word about its type: its first bytes say it."""
    decoded = _decoded(data)
    if not decoded:
        return None
    kind = _PDF if decoded.startswith(b"%PDF-") else image_type(decoded)
    return None if kind is None else from_bytes(kind, decoded, name)


def unnamed(medium: Media | None) -> Media | None:
    """The medium without a name that an encoder gave it for want of one."""
    if isinstance(medium, Document) and medium.name == nameless(medium.media_type):
        return Document(medium.media_type, medium.data)
    if isinstance(medium, DocumentUrl) and medium.name == medium.url.rpartition("/")[2]:
        return DocumentUrl(medium.url)
    return medium


def _decoded(data: str) -> bytes | None:
    try:
        return b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
