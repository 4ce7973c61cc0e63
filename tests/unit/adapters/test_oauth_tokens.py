"""The file of an OAuth credential as a value."""

from __future__ import annotations

from typing import Any

import pytest

from geode.adapters.oauth_tokens import Tokens, Unusable

WHOLE = {
    "access_token": "access-SECRET",
    "refresh_token": "refresh-SECRET",
    "expires_at": 1_800_000_000,
    "token_url": "https://sign-in.test/oauth/token",
    "client_id": "lab",
}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"access_token": None, "refresh_token": None}, "has neither an access_token nor a refresh_token"),
        ({"access_token": "", "refresh_token": ""}, "has neither an access_token nor a refresh_token"),
        ({"access_token": 5}, "has an access_token that is no text"),
        ({"access_token": "two SECRET words"}, "has an access_token that has white space"),
        ({"refresh_token": "SECRET\n"}, "has a refresh_token that has white space"),
        ({"client_id": None}, "has no client_id, which the refresh_token was given to"),
        ({"expires_at": "soon"}, "has an expires_at that is no time in epoch seconds"),
        ({"expires_at": True}, "has an expires_at that is no time in epoch seconds"),
        ({"expires_at": -1}, "has an expires_at that is no time in epoch seconds"),
        ({"expires_at": 1_800_000_000_000}, "has an expires_at that is no time in epoch seconds"),
        ({"expires_at": float("nan")}, "has an expires_at that is no time in epoch seconds"),
        ({"scope": ["a"]}, "has a scope that is no text"),
    ],
)
def test_what_is_no_file_of_tokens_is_said_without_quoting_it(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(Unusable) as caught:
        Tokens({**WHOLE, **changes}).form()
    assert str(caught.value).startswith(problem)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://sign-in.test/oauth/token",
        "https://sign-in.test:8443",
        "http://localhost:9/token",
        "http://127.0.0.1:9/token",
        "http://[::1]:9/token",
    ],
)
def test_a_refresh_token_goes_where_nobody_else_reads_it(url: str) -> None:
    assert Tokens({**WHOLE, "token_url": url}).token_url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://sign-in.test/token",
        "http://127.0.0.1.sign-in.test/token",
        "http://localhost@sign-in.test/token",
        "https://user:pass@sign-in.test/token",
        "https://sign-in.test/token?key=1",
        "ftp://sign-in.test",
        "",
    ],
)
def test_and_nowhere_else(url: str) -> None:
    with pytest.raises(Unusable, match="has no token_url of the form https://HOST/PATH"):
        Tokens({**WHOLE, "token_url": url})


@pytest.mark.parametrize(
    ("expires_in", "expires_at"),
    [(3600, 4600.0), ("60", 1060.0), (None, None), ("soon", None), (-1, None), (0, None), (1e300, None)],
)
def test_the_answer_says_when_the_token_ends(expires_in: object, expires_at: float | None) -> None:
    renewed = Tokens(WHOLE).renewed({"access_token": "new", "expires_in": expires_in}, 1000.0)
    assert renewed.expires_at == expires_at


def test_an_answer_without_a_refresh_token_keeps_the_old_one() -> None:
    """RFC 6749 section 6: the server may give another one."""
    renewed = Tokens(WHOLE).renewed({"access_token": "new"}, 1000.0)
    assert renewed.form()["refresh_token"] == "refresh-SECRET"
    assert renewed.access is not None
    assert renewed.access.get_secret_value() == "new"


def test_it_shows_no_secret() -> None:
    tokens = Tokens(WHOLE)
    assert "SECRET" not in repr(tokens) + repr(tokens.dumped()) + repr(tokens.access)
