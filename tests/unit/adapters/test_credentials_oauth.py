"""An access token that is renewed: once for all, written before it is used, in one process at a time."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest

from geode.adapters.credentials_oauth import OAuthCredential
from geode.adapters.private_files import Lock
from geode.ports.credentials import CredentialError, CredentialUnavailable

NOW = 1_800_000_000.0
SIGN_IN = "https://sign-in.test/oauth/token"


class TokenServer:
    """Takes each refresh token once, as providers that rotate them do, and gives another with each access token."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.takes = "refresh-0"
        self.gate: asyncio.Event | None = None
        self.arrived = asyncio.Event()
        self.instead: Callable[[], httpx2.Response] | None = None

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        assert (request.method, str(request.url)) == ("POST", SIGN_IN)
        assert "authorization" not in request.headers
        form = {name: value for name, (value,) in parse_qs(request.content.decode()).items()}
        self.asked.append(form)
        self.arrived.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.instead is not None:
            return self.instead()
        if form["refresh_token"] != self.takes:
            return httpx2.Response(400, json={"error": "invalid_grant", "error_description": "refresh token reused"})
        count = len(self.asked)
        self.takes = f"refresh-{count}"
        return httpx2.Response(200, json={"access_token": f"access-{count}", "refresh_token": self.takes, "expires_in": 3600})

    @property
    def http(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self))


class Rig:
    """A file, the server that renews what is in it, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.path, self.server, self.now = folder / "tokens.json", TokenServer(), NOW
        self.write()

    def write(self, **changes: Any) -> None:
        whole = {
            "access_token": "access-0",
            "refresh_token": "refresh-0",
            "expires_at": NOW + 3600,
            "token_url": SIGN_IN,
            "client_id": "lab",
            **changes,
        }
        self.path.touch(0o600)
        self.path.write_text(json.dumps({name: value for name, value in whole.items() if value is not None}))

    @property
    def written(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path.read_text())
        return found

    def credential(self, http: httpx2.AsyncClient | None = None) -> OAuthCredential:
        return OAuthCredential(self.path, lambda: self.now).over(http or self.server.http)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def text(credential: OAuthCredential) -> str:
    return (await credential.secret()).get_secret_value()


async def problem(credential: OAuthCredential) -> str:
    with pytest.raises(CredentialError) as caught:
        await credential.secret()
    said = str(caught.value)
    assert "access-" not in said
    assert "refresh-" not in said
    return said


# ---- when it is renewed ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "renewed"), [(3600.0, False), (60.5, False), (60.0, True), (1.0, True), (0.0, True), (-5.0, True)]
)
async def test_it_is_renewed_when_it_is_about_to_expire(rig: Rig, left: float, renewed: bool) -> None:
    rig.write(expires_at=NOW + left)
    assert await text(rig.credential()) == ("access-1" if renewed else "access-0")
    assert len(rig.server.asked) == renewed


async def test_one_that_says_nothing_of_its_end_is_renewed_when_it_is_refused(rig: Rig) -> None:
    rig.write(expires_at=None)
    credential = rig.credential()
    assert await text(credential) == "access-0"
    credential.refused(await credential.secret())
    assert await text(credential) == "access-1"


async def test_without_an_access_token_it_is_renewed_at_once(rig: Rig) -> None:
    rig.write(access_token=None, expires_at=None)
    assert await text(rig.credential()) == "access-1"


async def test_without_a_refresh_token_it_holds_until_its_end(rig: Rig) -> None:
    rig.write(refresh_token=None, token_url=None, client_id=None, expires_at=NOW + 5)
    credential = rig.credential()
    assert await text(credential) == "access-0"
    rig.now += 5
    assert (
        await problem(credential) == f"file {rig.path}: its access token is over, and there is no refresh_token in it: "
        f"sign in again and write {rig.path}"
    )
    assert rig.server.asked == []


async def test_it_is_asked_for_as_the_standard_says(rig: Rig) -> None:
    """RFC 6749 section 6."""
    rig.write(expires_at=0, scope="openid offline_access")
    await text(rig.credential())
    assert rig.server.asked == [
        {"grant_type": "refresh_token", "refresh_token": "refresh-0", "client_id": "lab", "scope": "openid offline_access"}
    ]


async def test_it_is_renewed_again_and_again(rig: Rig) -> None:
    credential = rig.credential()
    for count in range(1, 4):
        rig.now += 3600
        assert await text(credential) == f"access-{count}"
    assert [form["refresh_token"] for form in rig.server.asked] == ["refresh-0", "refresh-1", "refresh-2"]


# ---- once for all ----------------------------------------------------------------------------------


async def test_it_is_renewed_once_for_all_who_wait(rig: Rig) -> None:
    rig.write(expires_at=0)
    credential = rig.credential()
    assert await asyncio.gather(*(text(credential) for _ in range(50))) == ["access-1"] * 50
    assert len(rig.server.asked) == 1


async def test_who_is_cancelled_leaves_it_to_the_others(rig: Rig) -> None:
    rig.write(expires_at=0)
    rig.server.gate = asyncio.Event()
    credential = rig.credential()
    tasks = [asyncio.create_task(text(credential)) for _ in range(3)]
    await _until(lambda: len(rig.server.asked) == 1)
    tasks[0].cancel()
    tasks[1].cancel()
    await asyncio.sleep(0)
    rig.server.gate.set()
    assert await tasks[2] == "access-1"
    assert len(rig.server.asked) == 1


async def test_a_token_on_its_way_is_not_lost_when_all_are_cancelled(rig: Rig) -> None:
    """The server has taken the old refresh token by then: whoever leaves waits until the new one is on disk."""
    rig.write(expires_at=0)
    rig.server.gate = asyncio.Event()
    task = asyncio.create_task(rig.credential().secret())
    await _until(lambda: len(rig.server.asked) == 1)
    task.cancel()
    await asyncio.sleep(0)
    rig.server.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (rig.written["access_token"], rig.written["refresh_token"]) == ("access-1", "refresh-1")


async def test_several_of_one_process_renew_it_once(rig: Rig) -> None:
    rig.write(expires_at=0)
    assert await asyncio.gather(*(text(rig.credential()) for _ in range(5))) == ["access-1"] * 5
    assert len(rig.server.asked) == 1


async def test_what_another_process_renewed_is_read_again(rig: Rig) -> None:
    """It holds the lock while it does; the old refresh token is sent by nobody else."""
    rig.write(expires_at=0)
    program = (
        "import json, pathlib, sys, time; from geode.adapters.private_files import Lock, replace_private\n"
        "path = pathlib.Path(sys.argv[1]); lock = Lock(path.with_name('.tokens.json.lock')); print('held', flush=True)\n"
        "sys.stdin.readline(); found = json.loads(path.read_text())\n"
        "found.update(access_token='theirs', refresh_token='refresh-9', expires_at=float(sys.argv[2]))\n"
        "replace_private(path, json.dumps(found).encode()); lock.release()"
    )
    given = (sys.executable, "-c", program, str(rig.path), str(NOW + 3600))
    other = await asyncio.create_subprocess_exec(*given, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    assert other.stdout is not None
    assert await other.stdout.readline() == b"held\n"
    task = asyncio.create_task(text(rig.credential()))
    await asyncio.sleep(0.1)
    assert not task.done()
    await other.communicate(b"\n")
    assert await task == "theirs"
    assert rig.server.asked == []


async def test_who_holds_it_too_long_is_named(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("geode.adapters.credentials_oauth._LOCK_SECONDS", 0.05)
    rig.write(expires_at=0)
    lock = Lock(rig.path.with_name(".tokens.json.lock"))
    assert "is being renewed by this process for more than 0.05 s" in await problem(rig.credential())
    lock.release()
    assert await text(rig.credential()) == "access-1"


async def test_whoever_signs_in_again_is_seen_at_once(rig: Rig) -> None:
    credential = rig.credential()
    assert await text(credential) == "access-0"
    rig.write(access_token="anew")
    assert await text(credential) == "anew"


# ---- on disk before it is used ---------------------------------------------------------------------


async def test_what_is_new_is_on_disk_before_it_is_used_and_all_else_is_kept(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.write(expires_at=0, account_id="acc-1", note={"a": [1]})
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("synced")
        sync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        done.append("replaced")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    assert await text(rig.credential()) == "access-1"
    assert done == ["synced", "replaced", "synced"]
    assert rig.written == {
        "access_token": "access-1",
        "refresh_token": "refresh-1",
        "expires_at": NOW + 3600,
        "token_url": SIGN_IN,
        "client_id": "lab",
        "account_id": "acc-1",
        "note": {"a": [1]},
    }
    assert os.listdir(rig.path.parent) == ["tokens.json"]


async def test_what_cannot_be_written_is_not_used_and_not_lost(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.write(expires_at=0)
    credential = rig.credential()

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("geode.adapters.credentials_oauth.replace_private", full)
        for _ in range(2):
            said = await problem(credential)
            assert "was renewed and cannot be written (No space left on device)" in said
            assert f"sign in again and write {rig.path}" in said
    assert rig.written["refresh_token"] == "refresh-0"
    assert await text(credential) == "access-1"
    assert len(rig.server.asked) == 1
    assert rig.written["refresh_token"] == "refresh-1"


async def test_a_sign_in_wins_over_what_could_not_be_written(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.write(expires_at=0)
    credential = rig.credential()

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("geode.adapters.credentials_oauth.replace_private", full)
        await problem(credential)
    rig.server.takes = "refresh-anew"
    rig.write(expires_at=0, refresh_token="refresh-anew")
    assert await text(credential) == "access-2"


async def test_a_folder_that_cannot_be_written_into_is_said_before_the_token_is_taken(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Lock:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("geode.adapters.credentials_oauth.Lock", refuse)
    rig.write(expires_at=0)
    assert "cannot be renewed: its folder cannot be written into (Permission denied)" in await problem(rig.credential())
    assert rig.server.asked == []


async def test_a_file_that_others_could_read_is_made_the_users_alone(rig: Rig) -> None:
    rig.path.chmod(0o644)
    assert await text(rig.credential()) == "access-0"
    assert rig.path.stat().st_mode & 0o777 == 0o600


# ---- what goes wrong -------------------------------------------------------------------------------


async def test_a_refused_renewal_says_to_sign_in_again(rig: Rig) -> None:
    rig.write(expires_at=0, refresh_token="refresh-old")
    assert await problem(rig.credential()) == (
        f"file {rig.path} could not be renewed: {SIGN_IN} answered 400 (invalid_grant: refresh token reused): "
        f"sign in again and write {rig.path}"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: httpx2.Response(503, text="<html>"), "answered 503. Try again later"),
        (lambda: httpx2.Response(429, json={"error": {"message": "slow down"}}), "answered 429 (slow down). Try again later"),
        (lambda: httpx2.Response(302, headers={"location": "https://elsewhere.test"}), "answered 302: sign in again"),
        (lambda: httpx2.Response(401, json={"error": "refresh-0 is over", "x": "access-0"}), "answered 401 (*** is over)"),
        (lambda: httpx2.Response(200, text="<html>"), "answered without a JSON object"),
        (lambda: httpx2.Response(200, json={"token_type": "bearer"}), "answered without an access_token"),
        (lambda: httpx2.Response(200, json={"access_token": ""}), "answered without an access_token"),
        (lambda: httpx2.Response(200, json={"access_token": "access- 1"}), "has an access_token that has white space"),
    ],
)
async def test_what_the_token_endpoint_says_wrong(rig: Rig, answer: Any, said: str) -> None:
    rig.write(expires_at=0)
    rig.server.instead = answer
    assert said in await problem(rig.credential())
    assert rig.written["refresh_token"] == "refresh-0"
    rig.server.instead = None
    assert await text(rig.credential()) == "access-2"


@pytest.mark.parametrize(
    "error", [httpx2.ConnectError("refresh-0"), httpx2.ReadTimeout("late"), RuntimeError("the client has been closed")]
)
async def test_a_token_endpoint_that_is_not_reached(rig: Rig, error: Exception) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise error

    rig.write(expires_at=0)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(fail))
    said = await problem(rig.credential(http))
    assert said == f"file {rig.path} could not be renewed: {SIGN_IN} was not reached ({type(error).__name__})"


async def test_an_old_token_holds_while_the_endpoint_is_not_well(rig: Rig) -> None:
    rig.write(expires_at=NOW + 30)
    rig.server.instead = lambda: httpx2.Response(503)
    credential = rig.credential()
    assert await text(credential) == "access-0"
    rig.now += 30
    assert "answered 503" in await problem(credential)


@pytest.mark.parametrize("status", [200, 400])
async def test_a_sign_in_while_it_is_renewed_wins_and_is_not_overwritten(status: int, rig: Rig) -> None:
    """Nothing switches silently: what the operator wrote is what is sent."""
    rig.write(expires_at=0)
    rig.server.gate = asyncio.Event()
    if status != 200:
        rig.server.instead = lambda: httpx2.Response(status, json={"error": "invalid_grant"})
    waiting = asyncio.ensure_future(text(rig.credential()))
    await rig.server.arrived.wait()
    rig.write(access_token="access-other", refresh_token="refresh-other")
    rig.server.gate.set()
    assert await waiting == "access-other"
    assert rig.written["refresh_token"] == "refresh-other"


async def test_whoever_signs_out_while_it_is_renewed_stays_signed_out(rig: Rig) -> None:
    rig.write(expires_at=0)
    rig.server.gate = asyncio.Event()
    waiting = asyncio.ensure_future(problem(rig.credential()))
    await rig.server.arrived.wait()
    rig.path.unlink()
    rig.server.gate.set()
    assert "is missing" in await waiting
    assert not rig.path.exists()


async def test_no_more_is_read_of_an_answer_than_a_file_may_have(rig: Rig) -> None:
    rig.write(expires_at=0)
    rig.server.instead = lambda: httpx2.Response(200, json={"access_token": "a" * (1 << 20)})
    assert "answered without a JSON object" in await problem(rig.credential())
    rig.server.instead = lambda: httpx2.Response(200, json={"access_token": "a" * ((1 << 20) - 100)})
    assert "answered with tokens that take more than" in await problem(rig.credential())
    assert rig.written["access_token"] == "access-0"


async def test_who_gives_out_tokens_and_is_not_reached_may_be_tried_again(rig: Rig) -> None:
    rig.write(expires_at=0)
    rig.server.instead = lambda: httpx2.Response(503)
    with pytest.raises(CredentialUnavailable):
        await rig.credential().secret()
    rig.server.instead = lambda: httpx2.Response(400, json={"error": "invalid_grant"})
    with pytest.raises(CredentialError) as caught:
        await rig.credential().secret()
    assert not isinstance(caught.value, CredentialUnavailable)


async def test_without_a_client_it_cannot_be_renewed(rig: Rig) -> None:
    rig.write(expires_at=0)
    with pytest.raises(CredentialError, match="without an HTTP client"):
        await OAuthCredential(rig.path, lambda: NOW).secret()


async def test_a_client_of_the_hosts_sends_nothing_of_its_own_and_follows_nothing(rig: Rig) -> None:
    """Its credentials are for others, and so is wherever it would be sent on to."""
    went: list[Mapping[str, str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        went.append(request.headers)
        return httpx2.Response(307, headers={"location": "https://elsewhere.test/"})

    rig.write(expires_at=0)
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), auth=("user", "pass"), follow_redirects=True)
    assert "answered 307" in await problem(rig.credential(http))
    assert len(went) == 1
    assert "authorization" not in went[0]


async def _until(happened: Callable[[], bool]) -> None:
    for _ in range(1000):
        if happened():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never happened")
