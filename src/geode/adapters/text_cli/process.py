"""One run of a program: a text in, lines of JSON out, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from geode.adapters.child_processes import gone, kill, let_go

Event: TypeAlias = Mapping[str, Any]

# So much may a program print in one run, however it is cut into lines; more is no answer.
MOST_BYTES: Final = 128 * 1024 * 1024
_CHUNK: Final = 256 * 1024
# So much of what it complains of, and of what is no JSON, is kept for messages.
_KEPT: Final = 4096
_SHOWN_LINES: Final = 3
_END_SECONDS: Final = 2.0
_LOOKS: Final = 100
_LOOK_SECONDS: Final = 0.02
# What a program needs to find others, to speak a language and to trust a server. No secret is among it.
_INHERITED: Final = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT"),
)


@dataclass(frozen=True, slots=True)
class Folder:
    """The temporary folder of one run: an empty `work` to run in, a `home`, and files that the arguments name."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def home(self) -> Path:
        return self.root / "home"

    def file(self, name: str) -> Path:
        return self.root / name


@dataclass(frozen=True, slots=True)
class Invocation:
    """How a program is started. `files` are written into the folder beforehand; `environment` is added to the least
    that a program needs. What a person or a model wrote is in `prompt` and `files`, never in `arguments`."""

    arguments: tuple[str, ...]
    prompt: str = field(repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    files: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run. `code` is negative for a signal, None where it had to be ended: `late`, `endless`, or hopeless.

    `events` are the JSON objects that it printed, a line each; `complaint` is the end of what else it said.
    """

    events: tuple[Event, ...]
    complaint: str
    code: int | None
    late: bool = False
    endless: bool = False


def _never(_: Event) -> bool:
    return False


async def run(
    program: str, prepare: Callable[[Folder], Invocation], seconds: float, hopeless: Callable[[Event], bool] = _never
) -> Ran:
    """Run `program` to its end, and no longer than `seconds`. OSError where it cannot be started.

    After an event that is `hopeless` it is not waited for: what it would try further is not wanted.

    It gets a session of its own: it is killed with all that it started, whether it ended, is late, or the call was
    cancelled. Its folder is gone afterwards.
    """
    folder = Folder(Path(tempfile.mkdtemp(prefix="geode-text-")))
    process: asyncio.subprocess.Process | None = None
    try:
        invocation = _prepared(folder, prepare)
        process = await asyncio.create_subprocess_exec(
            program,
            *invocation.arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**_least(folder), **invocation.environment},
            cwd=folder.work,
            start_new_session=True,
        )
        return await _conversed(process, invocation.prompt, seconds, _Lines(hopeless))
    finally:
        await _unbroken(_cleared(process, folder))


def _prepared(folder: Folder, prepare: Callable[[Folder], Invocation]) -> Invocation:
    folder.work.mkdir()
    folder.home.mkdir()
    invocation = prepare(folder)
    for name, text in invocation.files.items():
        folder.file(name).write_text(text, encoding="utf-8", errors="replace")
    return invocation


def _least(folder: Folder) -> dict[str, str]:
    own = {"HOME": str(folder.home), "USERPROFILE": str(folder.home), "TMPDIR": str(folder.home)}
    return {name: os.environ[name] for name in _INHERITED if name in os.environ} | own


async def _conversed(process: asyncio.subprocess.Process, prompt: str, seconds: float, lines: _Lines) -> Ran:
    errors, code, late = _Tail(), None, False
    pipes = (
        asyncio.create_task(_fed(process.stdin, prompt.encode("utf-8", "replace"))),
        asyncio.create_task(_read(process.stdout, lines.take, lambda: kill(process) if lines.enough else None)),
        asyncio.create_task(_read(process.stderr, errors.take, lambda: None)),
    )
    try:
        async with asyncio.timeout(seconds):
            code = await _exited(process, pipes)
            kill(process)  # whatever it left behind holds the pipes open
            await asyncio.wait(pipes, timeout=_END_SECONDS)
    except TimeoutError:
        late = True
    finally:
        for pipe in pipes:
            pipe.cancel()
        await asyncio.gather(*pipes, return_exceptions=True)
    lines.close()
    ended = None if late or lines.enough else code
    return Ran(tuple(lines.events), errors.text() or lines.rest.text(), ended, late, lines.endless)


async def _exited(process: asyncio.subprocess.Process, pipes: Sequence[asyncio.Task[None]]) -> int:
    """Its code. asyncio's own way to wait goes on for as long as anything holds the pipes open."""
    while process.returncode is None and (open := [pipe for pipe in pipes if not pipe.done()]):
        await asyncio.wait(open, timeout=_LOOK_SECONDS)
    return await process.wait() if process.returncode is None else process.returncode


async def _fed(stdin: asyncio.StreamWriter | None, prompt: bytes) -> None:
    """The program may end without having read it."""
    if stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(prompt)
        await stdin.drain()
    stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await stdin.wait_closed()


async def _read(stream: asyncio.StreamReader | None, take: Callable[[bytes], None], then: Callable[[], None]) -> None:
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        take(chunk)
        then()


class _Tail:
    """The end of what was said."""

    def __init__(self) -> None:
        self._data = b""

    def take(self, chunk: bytes) -> None:
        self._data = (self._data + chunk[-_KEPT:])[-_KEPT:]

    def text(self) -> str:
        """The last lines that are not blank."""
        lines = [line.strip() for line in self._data.decode("utf-8", "replace").splitlines() if line.strip()]
        return " / ".join(lines[-_SHOWN_LINES:])


class _Lines:
    """The objects among lines that come in pieces of any size."""

    def __init__(self, hopeless: Callable[[Event], bool]) -> None:
        self.events: list[Event] = []
        self.given_up = False
        self._hopeless = hopeless
        self.rest = _Tail()
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def endless(self) -> bool:
        return self._size > MOST_BYTES

    @property
    def enough(self) -> bool:
        """Whether nothing more is wanted of the program."""
        return self.endless or self.given_up

    def take(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self.endless:
            return
        *ended, begun = chunk.split(b"\n")
        for line in ended:
            self._line(b"".join((*self._pieces, line)))
            self._pieces = []
        self._pieces.append(begun)

    def close(self) -> None:
        """The last line may have no end."""
        self._line(b"".join(self._pieces))

    def _line(self, line: bytes) -> None:
        try:
            value: object = json.loads(line, parse_constant=_no_json) if line.strip() else {}
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict) and value:
            event = cast("Event", value)
            self.events.append(event)
            self.given_up = self.given_up or self._hopeless(event)
        elif value != {}:
            self.rest.take(line + b"\n")


def _no_json(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


# ---- the end -----------------------------------------------------------------------------------


async def _cleared(process: asyncio.subprocess.Process | None, folder: Folder) -> None:
    if process is not None:
        kill(process)
        await gone(process, _END_SECONDS)
        let_go(process)
    for _ in range(_LOOKS):  # what was killed a moment ago may still be writing
        shutil.rmtree(folder.root, ignore_errors=True)
        if not folder.root.exists():
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _unbroken(work: Awaitable[None]) -> None:
    """Do it to its end; being cancelled meanwhile, however often, passes through afterwards."""
    task, cancelled = asyncio.ensure_future(work), None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
