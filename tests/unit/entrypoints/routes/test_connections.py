"""From a route to a connection: where its address and its key come from, and which adapter speaks to it."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

import geode
from geode.adapters.environment import Environment, read_env_file
from geode.adapters.http_json.endpoint import Endpoint
from geode.domain.errors import Misuse
from geode.domain.provider import Provider
from geode.domain.routing import Route, resolve
from geode.domain.targets import BUILT_IN, Target
from geode.entrypoints.routes import connections
from geode.entrypoints.routes.capabilities import shipped_table
from geode.entrypoints.routes.connections import Connection, connect, find_connection, is_loopback
from geode.entrypoints.routes.registry import bootstrap_builtins

OPENAI = BUILT_IN["openai-payg"]


def endpoint(of: Provider | Target, model: str = "m") -> Endpoint:
    """Where a model of it is asked, and with what."""
    found = connection(of, model).endpoint
    assert found is not None
    return found


def connection(of: Provider | Target, model: str = "m") -> Connection:
    return find_connection(Route(of.target if isinstance(of, Provider) else of, model), bootstrap_builtins(), Environment([]))


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "LAB_KEY"):
        monkeypatch.delenv(variable, raising=False)


def lab(base_url: str = "https://lab.example/v1", key: str | None = "env:LAB_KEY") -> Provider:
    return Provider("lab", wire="chat", base_url=base_url, key=key)


async def key_of(provider: Provider) -> str | None:
    secret = await endpoint(provider).secret()
    return None if secret is None else secret.get_secret_value()


async def test_a_key_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "from-the-variable")
    assert await key_of(lab()) == "from-the-variable"
    assert await key_of(lab(key="given")) == "given"


async def test_a_credential_of_the_hosts_is_asked_for_each_request() -> None:
    class Safe:
        source = "the lab's safe"
        opened = 0

        async def secret(self) -> SecretStr:
            self.opened += 1
            return SecretStr(f"sk-number-{self.opened}")

        def refused(self, secret: SecretStr) -> None:
            """Nothing is renewed."""

    at = endpoint(Provider("lab", wire="chat", base_url="https://lab.example/v1", key=Safe()))
    told = [await at.secret(), await at.secret()]
    assert [secret.get_secret_value() for secret in told if secret is not None] == ["sk-number-1", "sk-number-2"]
    assert "sk-number" not in repr(Provider("lab", wire="chat", base_url="https://lab.example/v1", key=Safe()))


async def test_a_missing_key_is_misuse_unless_the_server_is_on_this_machine() -> None:
    with pytest.raises(Misuse, match="lab has no key: set LAB_KEY") as caught:
        connection(lab())
    assert caught.value.id == "no-key"
    assert await key_of(lab("http://127.0.0.1:8000/v1")) is None
    assert await key_of(lab(key=None)) is None


def test_an_empty_variable_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "")
    with pytest.raises(Misuse):
        connection(lab())


def test_a_variable_moves_a_provider_that_ships_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert endpoint(OPENAI).base_url == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    moved = endpoint(OPENAI)
    assert (moved.base_url, moved.source) == ("http://127.0.0.1:1/v1", "OPENAI_BASE_URL")
    own = Provider("openai-payg", wire="responses", base_url="https://proxy.example/v1", key="mine")
    assert endpoint(own).base_url == "https://proxy.example/v1"


def test_a_missing_sdk_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "find_spec", lambda name: None)
    with pytest.raises(Misuse, match=r'lab needs the package openai: pip install "geode\[openai\]"') as caught:
        connection(lab(key="k"))
    assert caught.value.id == "missing-extra"


@pytest.mark.parametrize("missing", ["httpx2", "jiter"])
def test_whatever_else_the_extra_installs_must_be_there_too(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(Misuse, match=rf'lab needs the package {missing}: pip install "geode\[openai\]"'):
        connection(lab(key="k"))


@pytest.mark.parametrize("key", ["sk-one\n", "sk one", "\tsk", "sk-schlüssel"])
def test_a_key_that_cannot_be_sent_is_misuse_that_does_not_show_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", key)
    with pytest.raises(Misuse, match="lab: the key in LAB_KEY has white space") as caught:
        connection(lab())
    assert caught.value.id == "key-form"
    assert not key.strip() or key.strip() not in str(caught.value)


def test_a_broken_address_in_a_variable_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(Misuse, match=r"got 'localhost:8000' \(it comes from OPENAI_BASE_URL\)"):
        connection(OPENAI)


def test_a_broken_address_in_a_file_names_the_line_and_shows_no_secret(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("OPENAI_API_KEY=key\nOPENAI_BASE_URL=user:pw@host/v1\n")
    with pytest.raises(Misuse) as caught:
        find_connection(Route(OPENAI, "m"), bootstrap_builtins(), Environment([read_env_file(file)]))
    assert f"got '***@host/v1' (it comes from OPENAI_BASE_URL in {file}:2)" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8000", True),
        ("http://127.0.0.1", True),
        ("http://127.1.2.3/v1", True),
        ("http://[::1]:8000/v1", True),
        ("https://127.0.0.1.example.com", False),
        ("https://localhost.example.com", False),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1", False),
        ("nonsense", False),
    ],
)
def test_what_is_on_this_machine(url: str, here: bool) -> None:
    assert is_loopback(url) is here


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
async def test_each_wire_has_its_adapter(wire: Any) -> None:
    provider = Provider("lab", wire=wire, base_url="http://127.0.0.1:1/v1", key="secret-key")
    async with httpx2.AsyncClient() as http:
        adapter = await connect(connection(provider), http)
    assert adapter.name == "lab"
    assert adapter.capabilities.supports_tools
    assert "secret-key" not in repr(adapter)


def test_a_provider_of_your_own_wins_by_its_name() -> None:
    route = resolve("lab/some/model", shipped_table(), [lab().target]).unwrap()
    assert (route.target.name, route.model) == ("lab", "some/model")
    with pytest.raises(Misuse, match="names no model after its namespace"):
        geode.session(model="lab/", providers=[lab()])
