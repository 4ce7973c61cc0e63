"""How long a request is: its texts in characters, whatever they are nested in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

# What stands under these keys is no text of the conversation: pictures, files, blobs, addresses.
NO_TEXT: Final = ("data", "url", "image_url", "file_url", "file_data", "signature", "encrypted_content", "partial_image_b64")


def texts(value: Any, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Every string in `value` at any depth, but for those under the keys `without`."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, list):
            waiting.extend(reversed(found))
        elif isinstance(found, dict):
            waiting.extend(inner for key, inner in found.items() if key not in without)


def tokens(value: Any) -> int:
    """About how many tokens the texts of `value` are, more likely too few than too many.

    Prose has more than four characters to a token and code fewer, so five are counted.
    """
    return sum(map(len, texts(value, NO_TEXT))) // 5
