"""Splitting a byte stream into the payloads of server-sent events."""

from __future__ import annotations

from typing import Final

_DATA: Final = b"data:"
_BOM: Final = b"\xef\xbb\xbf"
# More than any event of a provider; without a bound a line that never ends would take all memory.
MAX_EVENT_BYTES: Final = 64 * 2**20


class EventTooLong(Exception):
    """One event has more bytes than are kept."""


class EventSplitter:
    """Bytes in, `data:` payloads out, whatever the chunking (WHATWG HTML, section 9.2.6).

    Lines end with LF, CR or both, and nothing else: a JSON string may hold U+2028 or U+0085, which
    text splitters take for line ends. A BOM before the first line, comments, ids, names and empty
    events are passed over; several data lines of one event are joined by LF. An event that is not
    over after `most` bytes raises EventTooLong.
    """

    def __init__(self, most: int = MAX_EVENT_BYTES) -> None:
        self._most = most
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        # How much the two hold, each line with its end.
        self._rest_bytes = self._data_bytes = 0
        self._begun = self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that are complete with `chunk`."""
        complete: list[bytes] = []
        for line in self._lines(chunk):
            if line.startswith(_DATA):
                self._data.append(line[len(_DATA) :].strip())
                self._data_bytes += len(line) + 1
            elif not line:
                complete += self._event()
        if self._rest_bytes + self._data_bytes > self._most:
            raise EventTooLong(f"an event of more than {self._most} bytes")
        return complete

    def end(self) -> list[bytes]:
        """What the end of the stream completes: a last event that lacks its blank line."""
        return self.feed(b"\n\n")

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete with `chunk`, without their ends."""
        if self._after_cr and chunk.startswith(b"\n"):
            # The second half of a line end whose first half ended a line already.
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        if b"\n" not in chunk and b"\r" not in chunk:
            self._rest.append(chunk)
            self._rest_bytes += len(chunk)
            return []
        lines = b"".join((*self._rest, chunk)).splitlines()
        self._rest = [] if chunk.endswith((b"\n", b"\r")) else [lines.pop()]
        self._rest_bytes = sum(map(len, self._rest))
        if not self._begun:
            self._begun = True
            lines[0] = lines[0].removeprefix(_BOM)
        return lines

    def _event(self) -> list[bytes]:
        data, self._data, self._data_bytes = b"\n".join(self._data), [], 0
        return [data] if data else []
