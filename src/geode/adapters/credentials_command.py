"""A key that a program prints: a password manager, a vault, a cloud's command line."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from typing import Final

from pydantic import SecretStr

from geode.adapters.child_processes import gone, inherited, kill, let_go
from geode.adapters.http_json.discretion import Discretion
from geode.adapters.in_flight import InFlight
from geode.domain.key_sources import key_problem
from geode.ports.credentials import CredentialError

_MAX_BYTES: Final = 64 * 1024
_SHOWN: Final = 300
_END_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.05
_REST_SECONDS: Final = 0.2
# What finds the agents of password managers, and their files; no key of anybody's is among it.
_AGENTS: Final = frozenset(
    (
        *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
        *("DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "GNUPGHOME", "PASSWORD_STORE_DIR"),
    )
)
# A long word with a digit in it, or one with a prefix that keys have: in what a program complains of it may be the key.
_LIKE_A_KEY: Final = re.compile(r"(?<![\w/.~-])(?:(?:sk|pk|ghp|gho|key|token)[-_]\S+|(?=[\w+=-]*\d)[\w+=-]{16,})")


class CommandCredential:
    """What `command` prints on its standard output, without white space around it.

    The command is split as a shell does and run by no shell, with a few variables of this process (`PATH`, `HOME`,
    words for the language, the agents of password managers) and those in `env`, with no terminal and nothing to
    read. It has `deadline_seconds`, and is then killed with its process group. What it printed is kept until the
    server refuses it, and no longer than `max_age_seconds` where that is given; `now` is in epoch seconds.
    CredentialError shows the last line of its standard error, without what looks like a key, and never its output.
    """

    def __init__(
        self,
        command: str,
        now: Callable[[], float],
        *,
        deadline_seconds: float = 10.0,
        max_age_seconds: float | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._argv: tuple[str, ...] = ()
        try:
            self._argv = tuple(shlex.split(command))
            self._unsplit = "" if self._argv and self._argv[0] else "names no program"
        except ValueError as error:
            self._unsplit = f"cannot be split into words ({error})"
        program = self._argv[0] if self._argv else ""
        self._source = f"command {program or '…'}{' …' if len(self._argv) > 1 else ''}"
        self._now, self._deadline, self._max_age, self._env = now, deadline_seconds, max_age_seconds, dict(env or {})
        self._kept: tuple[SecretStr, float] | None = None
        self._said = Discretion()
        self._running = InFlight(self._run)

    def __repr__(self) -> str:
        return f"CommandCredential({self._source})"

    @property
    def source(self) -> str:
        return self._source

    def check(self) -> None:
        """CredentialError where the command cannot be run at all; it is not run."""
        if self._unsplit:
            raise CredentialError(f"{self._source} {self._unsplit}")
        if shutil.which(self._argv[0], path=self._env.get("PATH")) is None:
            raise CredentialError(f"{self._source}: there is no such program on PATH")

    async def secret(self) -> SecretStr:
        if self._kept is not None:
            secret, at = self._kept
            if self._max_age is None or self._now() - at < self._max_age:
                return secret
        return await self._running.result()

    def refused(self, secret: SecretStr) -> None:
        if self._kept is not None and self._kept[0] == secret:
            self._kept = None

    async def _run(self) -> SecretStr:
        ran = await self._ran()
        secret = ran.output.secret()
        self._said.add(secret)
        if ran.output.too_long:
            raise CredentialError(f"{self._source} printed more than {_MAX_BYTES} bytes, which is no key")
        if ran.late:
            raise CredentialError(f"{self._source} did not end within {self._deadline:g} s{self._complaint(ran)}")
        if ran.code != 0:
            raise CredentialError(f"{self._source} ended with code {ran.code}{self._complaint(ran)}")
        if problem := key_problem(secret.get_secret_value()):
            raise CredentialError(f"what {self._source} printed {problem}")
        self._kept = secret, self._now()
        return secret

    async def _ran(self) -> _Ran:
        if self._unsplit:
            raise CredentialError(f"{self._source} {self._unsplit}")
        ran = _Ran()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=inherited(os.environ, _AGENTS) | self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise CredentialError(f"{self._source} cannot be run ({error.strerror or type(error).__name__})") from None
        reading = asyncio.create_task(ran.output.all_of(process.stdout)), asyncio.create_task(ran.errors.all_of(process.stderr))
        try:
            async with asyncio.timeout(self._deadline):
                await _read(reading, process, ran.output)
                ended = process.returncode is not None or ran.output.too_long
                ran.code = process.returncode if ended else await process.wait()
        except TimeoutError:
            ran.late = True
        finally:
            for one in reading:
                one.cancel()
            await asyncio.shield(_ended(process, killed=ran.code is None))
            # Looked at, whatever became of them: else the event loop reports what nobody asked after.
            await asyncio.gather(*reading, return_exceptions=True)
        return ran

    def _complaint(self, ran: _Ran) -> str:
        lines = [line.strip() for line in ran.errors.text().splitlines() if line.strip()]
        shown = _LIKE_A_KEY.sub("***", self._said.cleaned(lines[-1]))[:_SHOWN] if lines else ""
        return f': "{shown}"' if shown else ""


class _Printed:
    """What came out of a program: the beginning of it, and no more is read, or the end; nobody sees it by accident."""

    def __init__(self, *, end: bool) -> None:
        self._end, self._data, self.too_long = end, b"", False

    async def all_of(self, stream: asyncio.StreamReader | None) -> None:
        if stream is not None:
            while not stream.at_eof() and (self._end or not self.too_long):
                self._take(await stream.read(_MAX_BYTES))

    def _take(self, chunk: bytes) -> None:
        whole = self._data + chunk
        self.too_long = self.too_long or len(whole) > _MAX_BYTES
        self._data = whole[-_MAX_BYTES:] if self._end else whole[:_MAX_BYTES]

    def text(self) -> str:
        return self._data.decode("utf-8", "replace")

    def secret(self) -> SecretStr:
        return SecretStr(self.text().strip())


class _Ran:
    """How a program ended; `code` is None where it had to be killed."""

    def __init__(self) -> None:
        self.output, self.errors = _Printed(end=False), _Printed(end=True)
        self.code: int | None = None
        self.late = False


async def _read(reading: tuple[asyncio.Task[None], ...], process: asyncio.subprocess.Process, output: _Printed) -> None:
    """Read to the end, or until it is too much; or, where something that the program left behind holds its pipes
    open, what it printed itself."""
    while process.returncode is None and not output.too_long and not all(one.done() for one in reading):
        await asyncio.wait(reading, timeout=_LOOK_SECONDS)
    if not output.too_long:
        await asyncio.wait(reading, timeout=_REST_SECONDS)


async def _ended(process: asyncio.subprocess.Process, *, killed: bool) -> None:
    """The program is gone; killed with all that it started, where it has to be."""
    if killed:
        kill(process)
    await gone(process, _END_SECONDS)
    let_go(process)
