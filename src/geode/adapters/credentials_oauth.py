"""An access token that is renewed, kept in a file that the operator wrote at sign-in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx2
from pydantic import SecretBytes, SecretStr

from geode.adapters.http_json.discretion import Discretion
from geode.adapters.http_json.facts import error_facts
from geode.adapters.http_json.json_bytes import read_object
from geode.adapters.in_flight import InFlight
from geode.adapters.oauth_tokens import Tokens, Unusable
from geode.adapters.private_files import Lock, LockHeld, replace_private
from geode.adapters.secret_files import UnfitFile, read_secret, version_of
from geode.domain.json_value import clean_text
from geode.ports.credentials import CredentialError, CredentialUnavailable

_MAX_BYTES: Final = 1 << 20
# A token that is about to expire would do so on its way, or in the middle of a stream.
_EARLY_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 30.0
_LOCK_SECONDS: Final = 60.0
_LOCK_POLL_SECONDS: Final = 0.05
_LINGER_SECONDS: Final = 5.0
_SHOWN: Final = 200
_OK: Final = 200
# How often somebody may sign in while it is renewed.
_TIMES: Final = 3


class OAuthCredential:
    """The access token of a JSON file, which is renewed when it is about to expire, or was refused.

    The file has `access_token`, `refresh_token`, `expires_at` (epoch seconds), `token_url` and `client_id`, and may
    have `scope` and anything else, which is kept. geode never makes it up, and takes it from no other program: the
    operator signs in and writes it. It is made the user's alone (0600) if it was not.

    Renewing happens once for all who wait, in one process at a time, over `http`; the new tokens are in the file,
    on disk, before the access token is used, for the old refresh token no longer works then. `now` is in epoch
    seconds.
    """

    def __init__(self, path: str | Path, now: Callable[[], float], http: httpx2.AsyncClient | None = None) -> None:
        self._given, self._path = path, Path(path).expanduser()
        self._now, self._http = now, http
        self._read: tuple[tuple[int, ...], Tokens] | None = None
        self._refused: SecretStr | None = None
        # What was renewed and could not be written, after the refresh token that it was renewed with.
        self._unwritten: tuple[SecretStr, Tokens] | None = None
        self._renewing = InFlight(self._renewed, linger_seconds=_LINGER_SECONDS)

    def __repr__(self) -> str:
        return f"OAuthCredential({self.source})"

    def over(self, http: httpx2.AsyncClient) -> OAuthCredential:
        """The same one, renewed over `http`, which stays its caller's."""
        return OAuthCredential(self._given, self._now, http)

    @property
    def source(self) -> str:
        return f"file {self._given}"

    def check(self) -> None:
        """CredentialError where the file cannot be used. Blocks for as long as the disk takes."""
        self._on_disk()

    async def secret(self) -> SecretStr:
        tokens = await asyncio.to_thread(self._on_disk)
        if tokens.access is not None and self._lives(tokens, _EARLY_SECONDS if tokens.refresh else 0.0):
            return tokens.access
        if tokens.refresh is None:
            raise CredentialError(
                f"{self.source}: its access token is over, and there is no refresh_token in it: {self._way_out}"
            )
        return await self._renewing.result()

    def refused(self, secret: SecretStr) -> None:
        if self._read is not None and self._read[1].access == secret:
            self._refused = secret

    @property
    def _way_out(self) -> str:
        return f"sign in again and write {self._given}"

    def _lives(self, tokens: Tokens, left: float) -> bool:
        """Whether the access token holds for `left` seconds more, as far as is known."""
        in_time = tokens.expires_at is None or self._now() < tokens.expires_at - left
        return in_time and tokens.access is not None and tokens.access != self._refused

    def _on_disk(self) -> Tokens:
        version = version_of(self._path)
        if version is not None and self._read is not None and self._read[0] == version:
            return self._read[1]
        try:
            data = read_secret(self._path, _MAX_BYTES, tighten=True)
        except UnfitFile as unfit:
            way_out = f"sign in and write {self._given}"
            raise CredentialError(f"{self.source} {unfit}{'. Otherwise ' if unfit.way_out else ': '}{way_out}") from None
        tokens = _tokens(data)
        if isinstance(tokens, str):
            raise CredentialError(f"{self.source} {tokens}: {self._way_out}")
        # Not where its permissions were mended, or it was replaced, meanwhile: then it is read once more.
        if version is not None and version_of(self._path) == version:
            self._read = version, tokens
        return tokens

    # ---- renewing ------------------------------------------------------------------------------

    async def _renewed(self) -> SecretStr:
        async with self._alone():
            tokens = await asyncio.to_thread(self._on_disk)
            for _ in range(_TIMES):
                # Another process may have renewed them meanwhile, or the operator have signed in.
                if tokens.access is not None and self._lives(tokens, _EARLY_SECONDS):
                    return tokens.access
                answer = await self._kept_or_asked(tokens)
                found = await asyncio.to_thread(self._on_disk)
                if found.is_like(tokens):
                    return await self._settled(tokens, answer)
                # Somebody signed in while it was renewed: what they wrote stays, and holds from now on.
                tokens = found
            raise CredentialError(f"{self.source} changes faster than it can be renewed: {self._way_out}")

    async def _kept_or_asked(self, tokens: Tokens) -> Tokens | CredentialError:
        """What these tokens were renewed to before and could not be written, or what the token endpoint answers."""
        if self._unwritten is not None and self._unwritten[0] == tokens.refresh:
            return self._unwritten[1]
        return await self._asked(tokens)

    async def _settled(self, tokens: Tokens, answer: Tokens | CredentialError) -> SecretStr:
        if isinstance(answer, Tokens):
            return await self._written(tokens, answer)
        # The token endpoint may be well again before the old token is over.
        if isinstance(answer, CredentialUnavailable) and tokens.access is not None and self._lives(tokens, 0.0):
            return tokens.access
        raise answer

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """No other process renews them meanwhile."""
        time = asyncio.get_running_loop().time
        until = time() + _LOCK_SECONDS
        while isinstance(lock := self._lock(), str):
            if time() > until:
                raise CredentialError(f"{self.source} is being renewed by {lock} for more than {_LOCK_SECONDS:g} s: end it")
            await asyncio.sleep(_LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            lock.release()

    def _lock(self) -> Lock | str:
        """The lock, or who holds it."""
        try:
            return Lock(self._path.with_name(f".{self._path.name}.lock"))
        except LockHeld as error:
            return error.who
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise CredentialError(f"{self.source} cannot be renewed: its folder cannot be written into ({why})") from None

    async def _asked(self, tokens: Tokens) -> Tokens | CredentialError:
        """New tokens, or why there are none."""
        if self._http is None:
            return CredentialUnavailable(f"{self.source} cannot be renewed without an HTTP client")
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                status, body = await _answer(self._http, tokens)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, RuntimeError) as error:
            return CredentialUnavailable(
                f"{self.source} could not be renewed: {tokens.token_url} was not reached ({type(error).__name__})"
            )
        if status == _OK:
            answer = _renewal(tokens, body, self._now())
            return answer if isinstance(answer, Tokens) else CredentialError(f"{tokens.token_url} {answer}")
        said = f"{tokens.token_url} answered {status}{_words(tokens, body)}"
        if status >= 500 or status in (408, 429):
            return CredentialUnavailable(f"{self.source} could not be renewed: {said}. Try again later")
        return CredentialError(f"{self.source} could not be renewed: {said}: {self._way_out}")

    async def _written(self, old: Tokens, new: Tokens) -> SecretStr:
        """The new access token, once it is on disk."""
        problem = ""
        try:
            await asyncio.to_thread(_put, self._path, new)
        except OSError as error:
            problem = error.strerror or type(error).__name__
        if new.access is None or problem:
            self._unwritten = (old.refresh, new) if old.refresh is not None else None
            raise CredentialError(
                f"{self.source} was renewed and cannot be written ({problem}), and its old refresh token may be over: make it "
                f"possible, and go on in this process, which has the new one; or {self._way_out}"
            )
        self._unwritten = None
        return new.access


async def _answer(http: httpx2.AsyncClient, tokens: Tokens) -> tuple[int, bytes]:
    """The status and the body, of which no more is read than a file of tokens may have."""
    body = bytearray()
    async with http.stream(
        "POST",
        tokens.token_url,
        data=tokens.form(),
        headers={"Accept": "application/json"},
        timeout=_ANSWER_SECONDS,
        follow_redirects=False,
        auth=httpx2.Auth(),
    ) as response:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_BYTES:
                break
    return response.status_code, bytes(body[:_MAX_BYTES])


def _tokens(data: SecretBytes) -> Tokens | str:
    """What the file has, or what is wrong with it."""
    document = read_object(data.get_secret_value())
    if document is None:
        return "is no JSON object"
    try:
        return Tokens(document)
    except Unusable as unusable:
        return str(unusable)


def _renewal(tokens: Tokens, body: bytes, now: float) -> Tokens | str:
    answer = read_object(body)
    if answer is None:
        return "answered without a JSON object"
    try:
        renewed = tokens.renewed(answer, now)
    except Unusable as unusable:
        return str(unusable)
    too_long = len(renewed.dumped().get_secret_value()) > _MAX_BYTES
    return f"answered with tokens that take more than {_MAX_BYTES} bytes" if too_long else renewed


def _put(path: Path, tokens: Tokens) -> None:
    replace_private(path, tokens.dumped().get_secret_value())


def _words(tokens: Tokens, content: bytes) -> str:
    """What the token endpoint said, without the tokens."""
    body = read_object(content) or {}
    kind, code, message = error_facts(body)
    told = clean_text(described[:_SHOWN]) if isinstance(described := body.get("error_description"), str) else ""
    discretion = Discretion()
    for secret in (tokens.refresh, tokens.access):
        if secret is not None:
            discretion.add(secret)
    words = " ".join(": ".join(dict.fromkeys(part for part in (code or kind, message, told) if part)).split())
    return f" ({discretion.cleaned(words)[:_SHOWN]})" if words else ""
