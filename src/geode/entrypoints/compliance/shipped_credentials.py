"""The harnesses of the credentials that ship."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
from pydantic import SecretStr

from geode.adapters.credentials_command import CommandCredential
from geode.adapters.credentials_file import FileCredential
from geode.adapters.credentials_oauth import OAuthCredential
from geode.adapters.credentials_static import GivenCredential, VariableCredential
from geode.entrypoints.compliance.credentials import CredentialHarness

# Prints the first line of a file, and takes it off where there are more.
_PROGRAM: Final = """
import sys
path = sys.argv[1]
lines = open(path).read().splitlines()
print(lines[0] if lines else "")
if len(lines) > 1:
    open(path, "w").write("\\n".join(lines[1:]))
"""
_SIGN_IN: Final = "https://sign-in.test/oauth/token"
_NOW: Final = 1_800_000_000.0


class GivenCredentialHarness(CredentialHarness):
    @contextmanager
    def holding(self, *secrets: str) -> Iterator[GivenCredential]:
        yield GivenCredential(SecretStr(secrets[0]), 'Provider("lab")')

    @contextmanager
    def empty(self) -> Iterator[GivenCredential]:
        yield GivenCredential(SecretStr(""), 'Provider("lab")')


class VariableCredentialHarness(CredentialHarness):
    @contextmanager
    def holding(self, *secrets: str) -> Iterator[VariableCredential]:
        yield VariableCredential("LAB_KEY", lambda _: secrets[0])

    @contextmanager
    def empty(self) -> Iterator[VariableCredential]:
        yield VariableCredential("LAB_KEY", lambda _: None)


class FileCredentialHarness(CredentialHarness):
    @contextmanager
    def holding(self, *secrets: str) -> Iterator[FileCredential]:
        with _file(secrets[0] + "\n") as path:
            yield FileCredential(path)

    @contextmanager
    def empty(self) -> Iterator[FileCredential]:
        with _file("") as path:
            yield FileCredential(path)


class CommandCredentialHarness(CredentialHarness):
    renews = True

    @contextmanager
    def holding(self, *secrets: str) -> Iterator[CommandCredential]:
        with _file("\n".join(secrets)) as path:
            yield CommandCredential(shlex.join((sys.executable, "-I", "-S", "-c", _PROGRAM, str(path))), lambda: _NOW)

    @contextmanager
    def empty(self) -> Iterator[CommandCredential]:
        with self.holding() as credential:
            yield credential


class OAuthCredentialHarness(CredentialHarness):
    """The token endpoint is played: each refresh token is taken once, and another one comes in its place."""

    renews = True

    @contextmanager
    def holding(self, *secrets: str) -> Iterator[OAuthCredential]:
        rest, taken = list(secrets[1:]), "refresh-0"

        def answer(request: httpx2.Request) -> httpx2.Response:
            nonlocal taken
            if f"refresh_token={taken}&" not in request.content.decode() or not rest:
                return httpx2.Response(400, json={"error": "invalid_grant", "error_description": "the token is not known"})
            taken = f"refresh-{len(rest)}"
            return httpx2.Response(200, json={"access_token": rest.pop(0), "refresh_token": taken, "expires_in": 3600})

        with self._over(answer, access_token=secrets[0], expires_at=_NOW + 3600) as credential:
            yield credential

    @contextmanager
    def empty(self) -> Iterator[OAuthCredential]:
        def refuse(_: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(400, json={"error": "invalid_grant"})

        with self._over(refuse) as credential:
            yield credential

    @contextmanager
    def _over(self, answer: Any, **tokens: Any) -> Iterator[OAuthCredential]:
        document = {"refresh_token": "refresh-0", "token_url": _SIGN_IN, "client_id": "lab", **tokens}
        with _file(json.dumps(document)) as path:
            yield OAuthCredential(path, lambda: _NOW, httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))


@contextmanager
def _file(text: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "secret"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        yield path
