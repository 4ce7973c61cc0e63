"""A provider that cannot work is refused where it is made, and its key is never shown."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.addresses import address_problem, shown_address, shown_path
from geode.domain.errors import Misuse
from geode.domain.provider import Provider

UNTYPED: Any = Provider
URL = "http://gpu-3:8000/v1"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        *(({"name": name}, "name must be one word without a slash") for name in ("", " ", "a/b", "a b", "a\n", 3, None)),
        *(({"wire": wire}, "Accepted: messages, responses, chat") for wire in ("openai", "", None, ["chat"])),
        ({"wire": "response"}, "did you mean responses?"),
        ({"dialect": "openruter"}, "did you mean openrouter?"),
        *(
            ({"base_url": url}, "base_url must be http://HOST:PORT/…")
            for url in (
                "",
                "gpu-3:8000",
                "ftp://x",
                "http://",
                "http:///v1",
                "http://x y",
                "http://x/v1\n",
                "http://x/v1?a=b",
                None,
            )
        ),
        ({"base_url": "http://x:99999999"}, "base_url must be"),
        ({"key": "env:"}, "names no variable"),
        ({"key": ""}, "key is empty"),
        ({"key": "sk-very secret"}, "key has white space"),
        ({"key": "sk-very-sécret"}, "key has white space, a line end or letters beyond ASCII"),
        ({"key": b"sk-very-secret"}, "key must be text, got bytes"),
    ],
)
def test_what_cannot_work_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse) as caught:
        UNTYPED(**{"name": "lab", "wire": "chat", "base_url": URL, **changed})
    assert caught.value.id == "provider"
    assert said in str(caught.value)
    assert "sk-very" not in str(caught.value)


@pytest.mark.parametrize("port", ["0", "00", "65536", "99999"])
def test_a_port_that_cannot_be_is_refused(port: str) -> None:
    assert refusal(base_url=f"http://h:{port}/v1") == (
        f"Provider(\"lab\"): the port of base_url must be from 1 to 65535, got 'http://h:{port}/v1' [provider]"
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h:8000/v1", "http://h:8000/v1"),
        ("nowhere:8000/v1", "nowhere:8000/v1"),
        ("user:pw@host/v1", "***@host/v1"),
        ("pw@host", "***@host"),
        ("//user:pw@host/v1", "***@host/v1"),
        ("http://user:pw@host/v1", "http://***@host/v1"),
        ("HTTP://user:p@pw@host/v1", "HTTP://***@host/v1"),
        ("http:/user:pw@host/v1", "***@host/v1"),
        ("http:user:pw@host/v1", "***@host/v1"),
        ("http//user:pw@host/v1", "***@host/v1"),
        ("pw://user:pw@host/v1", "***@host/v1"),
        (" http://user:pw@host/v1", "***@host/v1"),
        ("http://user:pw/pw@host/v1", "http://***@host/v1"),
        ("http://user:pw\npw@host/v1", "http://***@host/v1"),
        ("http://user:pw%40host/v1", "http://***@host/v1"),
        ("user:pw%40host/v1", "***@host/v1"),
        ("user:pw?pw@host/v1", "***"),
        ("http://user:pw#pw@host/v1", "http://***"),
        ("http://host/v1?key=pw", "http://host/v1?***"),
        ("http://host/v1?key=pw#pw", "http://host/v1?***"),
        ("http://host/v1#pw", "http://host/v1#***"),
        ("http://host/v1?", "http://host/v1?"),
        ("http://host/v1?mail=me@pw", "http://***"),
        ("user:pw@host/v1?key=pw", "***@host/v1?***"),
        ("http://host/sk-pw/v1", "http://host/***/v1"),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, shown: str) -> None:
    assert shown_address(url) == shown
    assert "pw" not in shown


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "https://api.example.com",
        "http://[::1]:8000/v1",
        "HTTP://user:word@host/v1/",
        "http://h_1",
        "http://h:1",
        "http://h:65535/v1",
    ],
)
@pytest.mark.parametrize("key", [None, "env:LAB_KEY", "sk-1_2.3=/+"])
def test_what_works_is_taken(url: str, key: str | None) -> None:
    assert Provider("lab", "chat", url, key).base_url == url


def test_the_address_says_where_it_came_from() -> None:
    with pytest.raises(Misuse, match=r"\(it comes from --base-url\)"):
        Provider("lab", "chat", "nowhere", origin="--base-url")


LAB = Provider("lab", "chat", URL)


def refusal(**changed: Any) -> str:
    with pytest.raises(Misuse) as caught:
        UNTYPED(**{"name": "lab", "wire": "chat", "base_url": URL, **changed})
    return str(caught.value)


def test_a_refusal_names_the_provider_the_setting_and_the_way_out() -> None:
    assert refusal(wire="response") == (
        "Provider(\"lab\"): wire 'response' is unknown; did you mean responses? Accepted: messages, responses, chat [provider]"
    )
    assert refusal(dialect="zzz") == (
        "Provider(\"lab\"): dialect 'zzz' is unknown; Accepted: openai, openrouter, glm, generic, codex [provider]"
    )
    assert refusal(base_url="nowhere") == (
        "Provider(\"lab\"): base_url must be http://HOST:PORT/… or https://…, without ? and #, got 'nowhere' [provider]"
    )
    assert refusal(key="env:") == 'Provider("lab"): key="env:VARIABLE" names no variable [provider]'
    assert refusal(key="") == (
        'Provider("lab"): key is empty. Write one of "env:VARIABLE", "file:PATH", "command:PROGRAM ARGS", "oauth:PATH", '
        "the key itself, or None [provider]"
    )


def test_a_refusal_shows_what_is_wrong_with_an_address_and_no_secret() -> None:
    assert refusal(base_url="user:pw@host/v1").endswith("without ? and #, got '***@host/v1' [provider]")
    assert refusal(base_url="http://host/v1?key=pw").endswith("without ? and #, got 'http://host/v1?***' [provider]")


def test_no_variable_has_an_equals_sign_in_its_name() -> None:
    assert refusal(key="env:LAB=KEY") == refusal(key="env:")


def test_a_path_in_a_file_is_shown_without_what_could_be_a_key() -> None:
    assert shown_path(("providers", "sk-abc", "key")) == "providers.***.key"
    assert shown_path(("model", "defaults")) == "model.defaults"


def test_what_is_wrong_with_an_address_is_told_with_what_of_it_may_be_shown() -> None:
    form = "base_url must be http://HOST:PORT/… or https://…, without ? and #, got"
    assert address_problem("nowhere") == f"{form} 'nowhere'"
    assert address_problem(5) == f"{form} int"
    assert shown_address("http://Xerxes/v1?a") == "http://Xerxes/v1?***"
    assert shown_address("http://x/v1#") == "http://x/v1#"
