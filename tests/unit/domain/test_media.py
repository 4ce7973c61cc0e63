"""Pictures and documents: what they are called, and what is refused as none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from geode.domain import content
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Media, MediaKind, Opaque, media_kind, media_word
from geode.domain.errors import Misuse
from tests.unit.domain.builders import OWNER

UNTYPED: Any = content
PNG = b"\x89PNG\r\n\x1a\n"
IMAGES = "image/png, image/jpeg, image/gif, image/webp"
DOCUMENTS = "application/pdf, text/plain"
HOLDS = "holds bytes of that type"
ANEW = "read them from the file anew [media-bytes]"
ODD = "they begin with 47 49 46 20 38 39 20 61"
FOR_BYTES = "for bytes there is Document(media_type, data)"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: UNTYPED.Image("image/bmp", b"x"),
            f"Image has the media type 'image/bmp'; it takes {IMAGES} [media-type]",
        ),
        (lambda: UNTYPED.Image("image/png", "x"), "Image takes its data as bytes, got str [media-data]"),
        (
            lambda: UNTYPED.Document("text/html", b"x"),
            f"Document has the media type 'text/html'; it takes {DOCUMENTS} [media-type]",
        ),
        (lambda: UNTYPED.Document("text/plain", "x"), "Document takes its data as bytes, got str [media-data]"),
        (
            lambda: ImageUrl("ftp://a"),
            "ImageUrl takes an http or https address, got 'ftp://a'; for bytes there is Image(media_type, data) [media-url]",
        ),
        (
            lambda: DocumentUrl("user:pw@host/a.pdf?key=pw"),
            f"DocumentUrl takes an http or https address, got '***@host/a.pdf?***'; {FOR_BYTES} [media-url]",
        ),
        (
            lambda: UNTYPED.ImageUrl(b"https://a"),
            "ImageUrl takes an http or https address, got b'https://a'; for bytes there is Image(media_type, data) [media-url]",
        ),
        (
            lambda: DocumentUrl("x" * 100),
            f"DocumentUrl takes an http or https address, got '{'x' * 79}; {FOR_BYTES} [media-url]",
        ),
        (
            lambda: Image("image/png", b""),
            f"Image('image/png', …) {HOLDS}, and there are none; {ANEW}",
        ),
        (
            lambda: Image("image/gif", PNG),
            f"Image('image/gif', …) {HOLDS}, and they are image/png; {ANEW}",
        ),
        (
            lambda: Image("image/gif", b"GIF 89 a!"),
            f"Image('image/gif', …) {HOLDS}, and {ODD}; {ANEW}",
        ),
        (
            lambda: Document("application/pdf", b"GIF 89 a!"),
            f"Document('application/pdf', …) {HOLDS}, and {ODD}; {ANEW}",
        ),
        (
            lambda: Document("application/pdf", PNG),
            f"Document('application/pdf', …) {HOLDS}, and they are image/png; {ANEW}",
        ),
        (
            lambda: Document("text/plain", b""),
            f"Document('text/plain', …) {HOLDS}, and there are none; {ANEW}",
        ),
        (lambda: Opaque(OWNER, "thinking", "{"), "an opaque item of kind 'thinking' holds text that is no JSON [opaque-json]"),
    ],
)
def test_what_is_no_medium_is_refused_with_what_would_be(make: Callable[[], object], said: str) -> None:
    with pytest.raises(Misuse) as caught:
        make()
    assert str(caught.value) == said
    assert f"[{caught.value.id}]" in said


@pytest.mark.parametrize("url", ["https://a/b.png", "http://a/b.png"])
def test_an_address_is_http_or_https(url: str) -> None:
    assert (ImageUrl(url).url, DocumentUrl(url).url) == (url, url)


def test_lone_surrogates_are_replaced_in_names_and_addresses() -> None:
    """Spec section 3, law 9."""
    assert ImageUrl("http://a/\ud800").url == "http://a/\ufffd"
    linked = DocumentUrl("http://a/\ud800", "n\ud800")
    assert (linked.url, linked.name) == ("http://a/\ufffd", "n\ufffd")
    assert Document("text/plain", b"a", "n\ud800").name == "n\ufffd"
    assert Opaque(OWNER, "k\ud800", "{}").kind == "k\ufffd"


def test_a_document_without_a_name_is_called_by_its_kind() -> None:
    assert Document("application/pdf", b"%PDF-").file_name == "document.pdf"
    assert Document("text/plain", b"a").file_name == "document.txt"
    assert Document("text/plain", b"a", "notes.txt").file_name == "notes.txt"
    assert DocumentUrl("http://a").name == ""


def test_bytes_as_text() -> None:
    picture, text = Image("image/png", PNG), Document("text/plain", "é".encode() + b"\xff")
    assert (picture.base64, picture.data_url) == ("iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgo=")
    assert (text.text, text.base64) == ("é\ufffd", "w6n/")
    assert text.data_url == "data:text/plain;base64,w6n/"


@pytest.mark.parametrize(
    ("medium", "kind", "word"),
    [
        (Image("image/png", PNG), "image", "image/png, 8 bytes"),
        (ImageUrl("http://a"), "image_url", "an image at http://a"),
        (Document("text/plain", b"123"), "text", "text/plain, 3 bytes"),
        (Document("application/pdf", b"%PDF-"), "pdf", "application/pdf, 5 bytes"),
        (DocumentUrl("http://a"), "document_url", "a document at http://a"),
    ],
)
def test_what_it_is_and_what_a_person_calls_it(medium: Media, kind: MediaKind, word: str) -> None:
    assert (media_kind(medium), media_word(medium)) == (kind, word)


@pytest.mark.parametrize(("before", "taken"), [(0, True), (1024, True), (1025, False)])
def test_the_header_of_a_pdf_stands_in_its_first_kilobyte(before: int, taken: bool) -> None:
    data = b"\n" * before + b"%PDF-"
    if taken:
        assert Document("application/pdf", data).data == data
    else:
        with pytest.raises(Misuse, match="media-bytes"):
            Document("application/pdf", data)


def test_a_plain_text_is_told_after_its_name() -> None:
    assert Document("text/plain", b"42 g", "a.txt").told == "a.txt:\n42 g"
    assert Document("text/plain", b"42 g").told == "42 g"
    assert (Document("text/plain", b"42 g").is_text, Document("application/pdf", b"%PDF-").is_text) == (True, False)
