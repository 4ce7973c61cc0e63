"""What `geode models` and `geode adapters` say of where a key is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geode.entrypoints.cli.main import main
from geode.entrypoints.routes.registry import forget_adapters


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEODE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LAB_KEY", raising=False)
    (tmp_path / "home").mkdir()
    forget_adapters()
    yield tmp_path / "home"
    forget_adapters()


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    main([*arguments, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def declare(home: Path, **settings: str) -> None:
    lines = [f'{name} = "{value}"' for name, value in settings.items()]
    (home / "routing.toml").write_text("\n".join(["[providers.lab]", *lines, ""]))


@pytest.mark.usefixtures("home")
def test_a_file_of_keys_is_shown_where_it_is_looked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEODE_HOME", "home")  # no long folder of a test, which looks like a key
    keys = {one["adapter"]: one["key"] for one in answer(capsys, "adapters")["adapters"]}
    assert keys["codex-oauth"] == "oauth:home/credentials/codex-oauth.json"
    assert keys["openai-payg"] == "env:OPENAI_API_KEY"


def test_a_folder_with_an_at_sign_in_its_name_is_shown_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(home, base_url="http://127.0.0.1:1/v1", key="file:/srv/me@lab/key?")
    keys = {one["adapter"]: one["key"] for one in answer(capsys, "adapters")["adapters"]}
    assert keys["lab"] == "file:/srv/me@lab/key?"


def test_a_variable_that_is_not_set_is_named_where_none_is_needed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(home, base_url="http://127.0.0.1:1/v1", key="env:LAB_KEY")
    assert answer(capsys, "models", "lab/x")["key"] == "LAB_KEY (not set; none is needed on loopback)"


def test_a_variable_that_is_set_is_the_key(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-1")
    declare(home, base_url="http://127.0.0.1:1/v1", key="env:LAB_KEY")
    assert answer(capsys, "models", "lab/x")["key"] == "LAB_KEY"


def test_where_no_key_is_declared_none_is_wanted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(home, base_url="http://user:pw@127.0.0.1:1/v1")
    found = answer(capsys, "models", "lab/x")
    assert (found["key"], found["address"]) == ("none wanted", "http://***@127.0.0.1:1/v1")
