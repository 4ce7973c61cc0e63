"""From the place where a key is found to the credential that gives it, and from a run to the key that its server got."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import geode
from geode.domain.errors import Misuse
from geode.domain.key_sources import parse_key_source
from geode.domain.loop.outcome import Answered, Failed
from geode.domain.script import says
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.emulator import Emulator
from geode.entrypoints.routes.credentials import credential_of
from geode.errors import AuthenticationError, CredentialError
from geode.ports import Credential


def credential(
    key: str | None, look_up: Callable[[str], str | None] = lambda _: None, *, optional: bool = False
) -> Credential | None:
    return credential_of(parse_key_source(key).unwrap(), "lab", look_up, optional=optional, looked_in="here, there")


async def text(found: Credential | None) -> str:
    assert isinstance(found, Credential)
    return (await found.secret()).get_secret_value()


def private(path: Path, content: str) -> Path:
    path.touch(0o600)
    path.write_text(content)
    return path


async def test_a_server_that_wants_no_key_has_no_credential() -> None:
    assert credential(None) is None


async def test_a_key_that_is_given() -> None:
    found = credential("sk-one")
    assert await text(found) == "sk-one"
    assert found is not None
    assert found.source == 'Provider("lab")'


async def test_a_variable_is_looked_up_for_each_request() -> None:
    values: dict[str, str] = {"LAB_KEY": "sk-one"}
    found = credential("env:LAB_KEY", values.get)
    assert await text(found) == "sk-one"
    values["LAB_KEY"] = "sk-two"
    assert await text(found) == "sk-two"
    values["LAB_KEY"] = "sk SECRET"
    assert found is not None
    with pytest.raises(CredentialError, match="the key in LAB_KEY has white space"):
        await found.secret()
    del values["LAB_KEY"]
    with pytest.raises(CredentialError, match="LAB_KEY is not set any more: set it to the key"):
        await found.secret()


@pytest.mark.parametrize("value", [None, ""])
async def test_a_missing_variable_is_misuse_unless_it_may_be(value: str | None) -> None:
    with pytest.raises(Misuse, match=r"lab has no key: set LAB_KEY, .*Looked in: here, there \[no-key\]"):
        credential("env:LAB_KEY", lambda _: value)
    assert credential("env:LAB_KEY", lambda _: value, optional=True) is None


def test_a_variable_without_a_key_is_misuse() -> None:
    with pytest.raises(Misuse, match=r"lab: the key in LAB_KEY has white space.*\[key-form\]"):
        credential("env:LAB_KEY", lambda _: "sk SECRET", optional=True)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("file:{}/none", "lab: file {}/none is missing"),
        ("oauth:{}/none", "lab: file {}/none is missing: sign in and write {}/none"),
        ("oauth:{}/link", "lab: file {}/link is a link: name the file itself. Otherwise sign in and write {}/link"),
        ("oauth:{}/bad", "lab: file {}/bad is no JSON object: sign in again and write {}/bad"),
        ("command:no-such-program-here", "lab: command no-such-program-here: there is no such program on PATH"),
    ],
)
def test_what_cannot_be_used_is_misuse_before_anything_is_sent(key: str, said: str, tmp_path: Path) -> None:
    private(tmp_path / "bad", "[]")
    (tmp_path / "link").symlink_to(tmp_path / "bad")
    with pytest.raises(Misuse) as caught:
        credential(key.format(tmp_path))
    assert str(caught.value) == f"{said.replace('{}', str(tmp_path))} [key-place]"


# ---- a run -----------------------------------------------------------------------------------------


def keys(folder: Path) -> dict[str, str]:
    """By the way it is found, the same key."""
    private(folder / "key", "sk-lab-0123456789\n")
    tokens = {"access_token": "sk-lab-0123456789", "refresh_token": "r", "token_url": "https://x.test", "client_id": "c"}
    private(folder / "tokens", json.dumps(tokens))
    return {
        "given": "sk-lab-0123456789",
        "variable": "env:LAB_KEY",
        "file": f"file:{folder / 'key'}",
        "command": f"command:'{sys.executable}' -I -S -c 'print(\"sk-lab-0123456789\")'",
        "oauth": f"oauth:{folder / 'tokens'}",
    }


@pytest.mark.parametrize("source", ["given", "variable", "file", "command", "oauth"])
async def test_a_run_gets_its_key_from_there(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-lab-0123456789")
    emulator = Emulator((says("Hi."),), api_key="sk-lab-0123456789")
    lab = geode.Provider("lab", "chat", f"{serve(emulator)}/v1", keys(tmp_path)[source])
    outcome = await geode.run("Hello?", model="lab/m", providers=[lab])
    assert isinstance(outcome, Answered), outcome


async def test_a_key_that_went_away_ends_the_run_as_one_that_is_not_accepted(tmp_path: Path) -> None:
    emulator = Emulator((says("One."), says("Two."), says("Three.")), api_key="sk-lab-0123456789")
    lab = geode.Provider("lab", "chat", f"{serve(emulator)}/v1", keys(tmp_path)["file"])
    async with geode.session(model="lab/m", providers=[lab]) as loop:
        assert isinstance(await loop.run("1"), Answered)
        (tmp_path / "key").unlink()
        outcome = await loop.run("2")
        assert isinstance(outcome, Failed), outcome
        assert outcome.reason == "auth_error"
        assert isinstance(outcome.error, AuthenticationError)
        assert f"file {tmp_path / 'key'} is missing" in outcome.why
        assert len(emulator.received) == 1
        private(tmp_path / "key", "sk-lab-0123456789")
        assert isinstance(await loop.run("3"), Answered)
