"""The journal port over files: one for each run, JSON lines, each with a checksum that covers the line before it.

    {"sum":"…16 hex…","is":{"geode_journal":1,"run_id":"…"}}
    {"sum":"…","is":{"geode":1,"kind":"Entry","value":{…}}}

A line is written in one piece before its input takes effect, so a process that is killed leaves at most
the last line cut off. That one is left out, for it never took effect; anything else that is not as it
was written is an error that names the file and the line.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from geode.adapters.private_files import Lock, LockHeld, holder_of, open_private, private_folder, sync_folder
from geode.domain.codec import dumps, loads
from geode.domain.errors import CodecError, Misuse
from geode.domain.json_value import dump_json
from geode.domain.loop.inputs import Input, ModelReplied
from geode.domain.loop.recording import Began, Entry, Happened, Left, Record, Recording, described
from geode.domain.loop.state import State
from geode.ports.journal import JournalError

Fsync: TypeAlias = Literal["input", "round", "never"]

FORMAT: Final = 1
_SUFFIX: Final = ".jsonl"
_RUN_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_OPEN, _MIDDLE, _CLOSE = b'{"sum":"', b'","is":', b"}\n"
_SUM: Final = 16
_BODY: Final = len(_OPEN) + _SUM + len(_MIDDLE)

log = logging.getLogger("geode")


class FileJournal:
    """Keeps runs in `folder`, which is made private where it is missing.

    A killed process loses nothing, whatever `fsync` says; it is about the machine's own end. "input": every
    line is on disk before it takes effect. "round": what the model said is; a power cut may forget results
    since, whose calls may then run again. "never": the system writes when it likes.
    """

    def __init__(self, folder: str | Path, *, fsync: Fsync = "input") -> None:
        if fsync not in ("input", "round", "never"):
            raise Misuse("journal-type", f'FileJournal(fsync=…) takes "input", "round" or "never", got {fsync!r}')
        self.folder = Path(folder)
        self._fsync: Fsync = fsync
        self._writers: dict[str, _Writer] = {}

    def began(self, state: State) -> None:
        run_id = state.terms.run_id
        if run_id not in self._writers:
            self._make_folder()
            self._writers[run_id], _ = self._opened(run_id)
        self._write(run_id, Began(state), sync=self._fsync != "never")

    def happened(self, before: State, input: Input) -> None:
        sync = self._fsync == "input" or (self._fsync == "round" and isinstance(input, ModelReplied))
        self._write(before.terms.run_id, Happened(described(before.pending), input), sync=sync)

    def left(self, state: State) -> None:
        run_id = state.terms.run_id
        try:
            if run_id in self._writers and not self._writers[run_id].broken:
                self._write(run_id, Left(described(state.pending)), sync=self._fsync != "never")
        finally:
            self.let_go(run_id)

    def run_ids(self) -> Sequence[str]:
        """Those written to least recently come first."""
        found: list[tuple[float, str]] = []
        with contextlib.suppress(FileNotFoundError):
            for entry in os.scandir(self.folder):
                name = entry.name.removesuffix(_SUFFIX)
                if name != entry.name and _RUN_ID.fullmatch(name) and entry.is_file(follow_symlinks=False):
                    found.append((entry.stat().st_mtime, name))
        return tuple(name for _, name in sorted(found))

    def recorded(self, run_id: str) -> Recording:
        read = _read(self._path(run_id), self._content(run_id))
        return Recording(run_id, read.records, read.torn)

    def taken(self, run_id: str) -> Recording:
        if run_id in self._writers:
            raise _held(run_id, "this process")
        self._content(run_id)
        self._writers[run_id], read = self._opened(run_id)
        return Recording(run_id, read.records, read.torn)

    def let_go(self, run_id: str) -> None:
        writer = self._writers.pop(run_id, None)
        if writer is not None:
            writer.close()

    def delete(self, run_id: str) -> None:
        """Keep the run no more; nothing happens where it is not kept."""
        self._path(run_id).unlink(missing_ok=True)

    def run_by(self, run_id: str) -> str | None:
        """Who runs it at the moment, as far as can be told by looking; None for nobody."""
        return holder_of(self._path(run_id).with_suffix(".lock"))

    def _path(self, run_id: str) -> Path:
        given: object = run_id
        if not isinstance(given, str) or not _RUN_ID.fullmatch(given):
            raise Misuse("run-id", f"{run_id!r:.80} is no id of a run: 1 to 128 letters, digits, _ and -")
        return self.folder / f"{run_id}{_SUFFIX}"

    def _content(self, run_id: str) -> bytes:
        path = self._path(run_id)
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise JournalError(f"the journal {self.folder} has no run {run_id!r}") from None
        except OSError as error:
            raise JournalError(f"{path} cannot be read: {error.strerror or error}") from error

    def _make_folder(self) -> None:
        try:
            private_folder(self.folder)
        except (OSError, ValueError) as error:
            raise _unwritable(self.folder, error) from error

    def _opened(self, run_id: str) -> tuple[_Writer, _Read]:
        path = self._path(run_id)
        try:
            lock = Lock(path.with_suffix(".lock"))
        except LockHeld as held:
            raise _held(run_id, held.who) from None
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        try:
            return _writer(path, run_id, lock)
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise _unwritable(path, error) from error
            raise

    def _write(self, run_id: str, record: Record, *, sync: bool) -> None:
        self._writers[run_id].write(dumps(Entry(record)).encode(), sync=sync)


def _held(run_id: str, who: str) -> JournalError:
    return JournalError(f"run {run_id} is being run already, by {who}; wait for its end, or end that process")


def _unwritable(path: Path, error: Exception) -> JournalError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else error
    way_out = "It takes a folder with room where you may write; journal= names another"
    return JournalError(f"the journal cannot be written: {path}: {why}. {way_out}")


# ---- writing -----------------------------------------------------------------------------------


class _Writer:
    """The open end of one file: `size` is how far it is whole, `sum` the checksum of its last line."""

    def __init__(self, path: Path, descriptor: int, lock: Lock, size: int, sum: bytes) -> None:
        self._path, self._descriptor, self._lock = path, descriptor, lock
        self._size, self._sum = size, sum
        self.broken = False

    def write(self, body: bytes, *, sync: bool) -> None:
        """Add a line. What fails half-way is taken back, and nothing follows it: a gap would tell another story."""
        if self.broken:
            raise JournalError(
                f"{self._path} could not be written before, so nothing more is: the run can be resumed from there"
            )
        sum = _sum_of(self._sum, body)
        line = b"".join((_OPEN, sum, _MIDDLE, body, _CLOSE))
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            if sync:
                os.fsync(self._descriptor)
        except BaseException as error:
            self.broken = True
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            if isinstance(error, OSError):
                raise _unwritable(self._path, error) from error
            raise
        self._size, self._sum = self._size + len(line), sum

    def close(self) -> None:
        os.close(self._descriptor)
        self._lock.release()


def _writer(path: Path, run_id: str, lock: Lock) -> tuple[_Writer, _Read]:
    """A writer after the last whole line; what was cut off behind it is removed."""
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    try:
        with os.fdopen(os.dup(descriptor), "rb") as file:
            read = _read(path, file.read())
        if read.torn:
            log.warning("%s: its last line was cut off and is left out", path)
            os.ftruncate(descriptor, read.size)
        writer = _Writer(path, descriptor, lock, read.size, read.sum)
        if read.size == 0:
            writer.write(dump_json({"geode_journal": FORMAT, "run_id": run_id}).encode(), sync=False)
            sync_folder(path.parent)
    except BaseException:
        os.close(descriptor)
        raise
    return writer, read


def _sum_of(before: bytes, body: bytes) -> bytes:
    return hashlib.sha256(before + body).hexdigest()[:_SUM].encode()


# ---- reading -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Read:
    """What a file holds, how far it is whole, the checksum of the last whole line, and whether more was behind it."""

    records: tuple[Record, ...]
    size: int
    sum: bytes
    torn: bool


def _read(path: Path, content: bytes) -> _Read:
    """Total: JournalError for whatever the file holds that is neither whole nor cut off at its end."""
    records: list[Record] = []
    size, sum, torn = 0, b"", False
    for number, line, last in _lines(content):
        try:
            body, sum = _checked(line, sum, first=number == 1)
            if number > 1:
                records.append(loads(Entry, body.decode()).record)
        except (CodecError, UnicodeDecodeError) as error:
            if last and _was_cut_off(line):
                torn = True
                break
            way_out = "Restore the file, or cut it before this line and lose what came after"
            raise JournalError(f"{path}, line {number}: {error}. {way_out}") from None
        size += len(line)
    return _Read(tuple(records), size, sum, torn)


def _lines(content: bytes) -> Iterator[tuple[int, bytes, bool]]:
    parts = content.split(b"\n")
    lines = [*(part + b"\n" for part in parts[:-1]), *filter(None, parts[-1:])]
    for number, line in enumerate(lines, 1):
        yield number, line, number == len(lines)


def _was_cut_off(line: bytes) -> bool:
    """Its end is missing, or the power went before all of it was on disk: no JSON text has a zero byte."""
    return not line.endswith(b"\n") or b"\0" in line


def _checked(line: bytes, before: bytes, *, first: bool) -> tuple[bytes, bytes]:
    """The body of the line and its checksum."""
    if first:
        _refuse_newer(line)
    stated, body = line[len(_OPEN) : len(_OPEN) + _SUM], line[_BODY : -len(_CLOSE)]
    if line != b"".join((_OPEN, stated, _MIDDLE, body, _CLOSE)):
        raise CodecError("it is no line of a journal")
    if stated != _sum_of(before, body):
        raise CodecError("its checksum does not fit: it was changed, or a line before it is missing")
    return body, stated


def _refuse_newer(line: bytes) -> None:
    """Every format says its number in the same place of the first line, whatever else it does with it."""
    try:
        number = cast("Any", json.loads(line))["is"]["geode_journal"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if number != FORMAT:
        raise CodecError(f"the journal has format {number!r}; this geode reads {FORMAT}. Use a newer geode")
