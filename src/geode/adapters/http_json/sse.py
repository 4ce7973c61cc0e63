"""Splitting a byte stream into the payloads of server-sent events."""

from __future__ import annotations

from typing import Final

_DATA: Final = b"data:"


class EventSplitter:
    """Bytes in, `data:` payloads out, whatever the chunking (WHATWG HTML, section 9.2.6).

    It splits bytes at LF only, since a JSON string may hold U+2028 or U+0085, which text splitters
    take for line ends. Comments, ids, names and empty events are passed over; several data lines of
    one event are joined by LF.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that are complete with `chunk`."""
        if b"\n" not in chunk:
            self._rest.append(chunk)
            return []
        lines = b"".join((*self._rest, chunk)).split(b"\n")
        self._rest = [lines.pop()]
        complete: list[bytes] = []
        for line in lines:
            if line.startswith(_DATA):
                self._data.append(line[len(_DATA) :].strip())
            elif line in (b"", b"\r"):
                complete += self._event()
        return complete

    def end(self) -> list[bytes]:
        """What the end of the stream completes: a last event that lacks its blank line."""
        return self.feed(b"\n\n")

    def _event(self) -> list[bytes]:
        data, self._data = b"\n".join(self._data), []
        return [data] if data else []
