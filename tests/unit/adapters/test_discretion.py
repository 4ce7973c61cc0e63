"""Secrets are taken out of what others say, however they are quoted there."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from pydantic import SecretStr

from geode.adapters.http_json.discretion import Discretion

KEY = 'sk-pro+j/4ü"<&>c9f3a7\\e2'


def hiding(*secrets: str) -> Discretion:
    discretion = Discretion()
    for secret in secrets:
        discretion.add(SecretStr(secret))
    return discretion


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        ("sk-1\n", "Illegal header value b'Bearer sk-1\\n'", "Illegal header value b'Bearer ***'"),
        ("sk-1", "sk-1 and sk-10", "*** and sk-10"),
        ("k", "the key k", "the key ***"),
        ("", "nothing", "nothing"),
        ("sk-0123456789ab", "xsk-0123456789abx", "x***x"),
        ("sk-0123456789ab", "sk-0123456789ab,sk-0123456789ab", "***,***"),
    ],
)
def test_a_short_secret_is_hidden_where_it_stands_alone_a_long_one_anywhere(key: str, text: str, shown: str) -> None:
    assert hiding(key).cleaned(text) == shown


@pytest.mark.parametrize(
    "quoted",
    [
        KEY,
        repr(KEY),
        repr(KEY.encode()),
        json.dumps({"key": KEY}),
        json.dumps({"key": KEY}, ensure_ascii=False),
        json.dumps({"key": KEY}).replace("/", "\\/"),
        html.escape(KEY),
        quote(KEY),
        quote(KEY, safe=""),
        quote(KEY, safe="").lower(),
        quote_plus(KEY),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        *("Basic " + base64.b64encode(f"{user}:{KEY}".encode()).decode() for user in ("", "u", "us", "use", "user")),
        *("Basic " + base64.b64encode(f"{KEY}{rest}".encode()).decode() for rest in (":", ":x", ":xyz")),
    ],
)
def test_every_way_to_quote_it_is_hidden(quoted: str) -> None:
    said = hiding(KEY).cleaned(f"before <{quoted}> after")
    assert said.startswith("before <")
    assert said.endswith("> after")
    assert "***" in said
    for part in ("c9f3a7", "pro", KEY):
        assert part not in said
    assert base64.b64encode(KEY.encode()).decode()[4:20] not in said


def test_the_beginning_of_a_long_secret_is_hidden_where_a_text_was_cut() -> None:
    discretion = hiding("sk-0123456789abcdefghij")
    assert discretion.cleaned("the key sk-0123456789abcd") == "the key ***"
    assert discretion.cleaned("keys begin with sk-0123") == "keys begin with sk-0123"


@pytest.mark.parametrize("sign", ["/", "+", "=", "&", '"', "%", "\\", "<"])
@pytest.mark.parametrize("quoted", [str, quote, json.dumps, html.escape, repr])
def test_a_key_with_a_sign_that_is_escaped_is_hidden_whole(sign: str, quoted: Any) -> None:
    """The keys of many servers are base64."""
    key = f"sk-A1b2C3d4E5f6G7h8{sign}Z9y8X7w6V5u4T3s2"
    known = hiding(key)
    assert "Z9y8X7w6" not in known.cleaned(f"Incorrect key {quoted(key)}.")
    assert known.cleaned(f"Incorrect key {key}.") == "Incorrect key ***."


@pytest.mark.parametrize("cut", [12, 20, 26, 32])
def test_a_key_that_was_cut_is_hidden_as_far_as_it_goes(cut: int) -> None:
    """Forms of a key that begin alike: the one that was quoted is the one that goes on longest."""
    key = "sk-A1b2C3d4E5f6G7h8/Z9y8X7w6V5u4T3s2"
    assert hiding(key).cleaned(f"bad key {key[:cut]}") == "bad key ***"
    assert hiding(key).cleaned(f"bad key {quote(key, safe='')[:cut]}") == "bad key ***"


@pytest.mark.parametrize("name", ["", "u", "us", "use"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_of_either_alphabet_is_hidden_beside_a_name(name: str, encode: Any) -> None:
    key = "sk-???>>>~~~ÿÿ-A1b2"
    said = hiding(key).cleaned(f"Basic {encode(f'{name}:{key}'.encode()).decode()} was refused")
    assert said == "Basic *** was refused"


@pytest.mark.parametrize("text", ["a" * 3_000_000, "sk-A1b2C3d4E" * 50_000, "=" * 1_000_000, "c2stQTFiMkMzZDRF" * 100_000])
def test_however_long_a_text_is_it_is_read_through_once(text: str) -> None:
    """A server writes what it likes: this would not end in a day if each letter were a beginning."""
    said = hiding("sk-A1b2C3d4E5f6G7h8/Z9y8X7w6V5u4T3s2").cleaned(text)
    assert len(said) <= len(text)


def test_all_secrets_are_hidden_that_were_ever_told() -> None:
    discretion = hiding("sk-first-0123456789", "sk-second-0123456789", "k")
    assert discretion.cleaned("sk-second-0123456789, sk-first-0123456789 and k") == "***, *** and ***"
    assert discretion.cleaned("k of sk-first-0123456789", alone=False) == "k of ***"


def test_what_is_known_is_not_learned_again() -> None:
    discretion = hiding("sk-first-0123456789")
    before = discretion.__dict__.copy()
    discretion.add(SecretStr("sk-first-0123456789"))
    assert discretion.__dict__ == before
    assert SecretStr("sk-first-0123456789") in discretion
    assert SecretStr("sk-second-0123456789") not in discretion


def test_it_tells_nothing_itself() -> None:
    assert "sk-first" not in repr(hiding("sk-first-0123456789"))
