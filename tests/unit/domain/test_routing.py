"""A provider that cannot work is refused where it is made, and its key is never shown."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.routing import SHIPPED, Provider, resolve

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


@pytest.mark.parametrize(
    "url", [URL, "https://api.example.com", "http://[::1]:8000/v1", "HTTP://user:word@host/v1/", "http://h_1"]
)
@pytest.mark.parametrize("key", [None, "env:LAB_KEY", "sk-1_2.3=/+"])
def test_what_works_is_taken(url: str, key: str | None) -> None:
    assert Provider("lab", "chat", url, key).base_url == url


def test_the_address_says_where_it_came_from() -> None:
    with pytest.raises(Misuse, match=r"\(it comes from --base-url\)"):
        Provider("lab", "chat", "nowhere", origin="--base-url")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_providers_are_reached_by_their_prefix(name: str) -> None:
    models = {
        "anthropic-payg": "claude-sonnet-4-5",
        "openai-payg": "gpt-5.2",
        "openrouter-payg": "openrouter/x/y",
        "glm-payg": "glm-4.7",
    }
    assert resolve(models[name]).unwrap().provider is SHIPPED[name]


def test_a_provider_of_your_own_takes_the_place_of_the_shipped_one_of_its_name() -> None:
    """For model ids without its name too: whoever says where a provider is, is asked there."""
    own = Provider("anthropic-payg", "messages", "http://127.0.0.1:1", None)
    route = resolve("claude-sonnet-4-5", (own,)).unwrap()
    assert (route.provider, route.model) == (own, "claude-sonnet-4-5")
