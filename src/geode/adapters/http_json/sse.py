"""Splitting a byte stream into the payloads of server-sent events."""

from __future__ import annotations

from typing import Final

_DATA: Final = b"data:"
# More than any event of a provider; without a bound a line that never ends would take all memory.
MAX_EVENT_BYTES: Final = 64 * 2**20


class EventTooLong(Exception):
    """One event has more bytes than are kept."""


class EventSplitter:
    """Bytes in, `data:` payloads out, whatever the chunking (WHATWG HTML, section 9.2.6).

    It splits bytes at LF only, since a JSON string may hold U+2028 or U+0085, which text splitters
    take for line ends. Comments, ids, names and empty events are passed over; several data lines of
    one event are joined by LF. An event that is not over after `most` bytes raises EventTooLong.
    """

    def __init__(self, most: int = MAX_EVENT_BYTES) -> None:
        self._most = most
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        # How much the two hold, each line with its end.
        self._rest_bytes = self._data_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The payloads that are complete with `chunk`."""
        complete: list[bytes] = []
        if b"\n" not in chunk:
            self._rest.append(chunk)
            self._rest_bytes += len(chunk)
        else:
            lines = b"".join((*self._rest, chunk)).split(b"\n")
            self._rest = [lines.pop()]
            self._rest_bytes = len(self._rest[0])
            for line in lines:
                if line.startswith(_DATA):
                    self._data.append(line[len(_DATA) :].strip())
                    self._data_bytes += len(line) + 1
                elif line in (b"", b"\r"):
                    complete += self._event()
        if self._rest_bytes + self._data_bytes > self._most:
            raise EventTooLong(f"an event of more than {self._most} bytes")
        return complete

    def end(self) -> list[bytes]:
        """What the end of the stream completes: a last event that lacks its blank line."""
        return self.feed(b"\n\n")

    def _event(self) -> list[bytes]:
        data, self._data, self._data_bytes = b"\n".join(self._data), [], 0
        return [data] if data else []
