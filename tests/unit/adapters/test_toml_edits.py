"""Changing a value in a TOML file: everything else in it stays, and it is replaced at once or not at all."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from geode.adapters import toml_edits
from geode.adapters.toml_edits import edit_toml, edit_toml_at_once
from geode.domain.errors import Misuse

MODEL, OPENAI = ("model",), ("sources", "openai")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


# By hand: what an editor would have made of it.
SET = [
    ("", MODEL, 'model = "NEW"\n'),
    ("# mine\n", MODEL, '# mine\nmodel = "NEW"\n'),
    ("model  =  'a'   # why\n", MODEL, 'model  =  "NEW"   # why\n'),
    (
        "effort='low' # e\n\n[sources] # s\nglm = 'x'\n",
        MODEL,
        "effort='low' # e\nmodel = \"NEW\"\n\n[sources] # s\nglm = 'x'\n",
    ),
    ("\n# a\nmodel = '''\na\n'''\n# b\neffort = 'low'\n", MODEL, "\n# a\nmodel = \"NEW\"\n# b\neffort = 'low'\n"),
    (
        "[sources]\n# o\nopenai = 'a'  # why\nglm='x'\n\n# end\n",
        OPENAI,
        "[sources]\n# o\nopenai = \"NEW\"  # why\nglm='x'\n\n# end\n",
    ),
    ("sources.openai = 'a'\nmodel = 'm'\n", OPENAI, "sources.openai = \"NEW\"\nmodel = 'm'\n"),
    ("sources = { glm = 'x', openai = 'a' } # s\n", OPENAI, "sources = { glm = 'x', openai = \"NEW\" } # s\n"),
    ("effort='low'\r\nmodel='a' # why\r\n", MODEL, "effort='low'\r\nmodel=\"NEW\" # why\r\n"),
    ("effort='low'\r\n[sources]\r\nglm='x'\r\n", MODEL, "effort='low'\r\nmodel = \"NEW\"\r\n\r\n[sources]\r\nglm='x'\r\n"),
    ("'model' = 'a'\n", MODEL, "'model' = \"NEW\"\n"),
]


@pytest.mark.parametrize(("before", "keys", "after"), SET)
def test_setting_keeps_comments_order_and_formatting(path: Path, before: str, keys: tuple[str, ...], after: str) -> None:
    path.write_bytes(before.encode())
    assert edit_toml(path, keys, "NEW")
    assert path.read_bytes().decode() == after


@pytest.mark.parametrize("keys", [MODEL, OPENAI])
@pytest.mark.parametrize(
    "before", [before for before, _, _ in SET] + ["[sources]", "sources.glm='x'\neffort='e'\nsources.a='y'"]
)
def test_whatever_is_set_nothing_else_is_changed(path: Path, before: str, keys: tuple[str, ...]) -> None:
    path.write_bytes(before.encode())
    expected: Any = tomllib.loads(before)
    table = expected
    for key in keys[:-1]:
        table = table.setdefault(key, {})
    table[keys[-1]] = "NEW"
    edit_toml(path, keys, "NEW")
    assert tomllib.loads(path.read_text("utf-8")) == expected
    del table[keys[-1]]
    assert edit_toml(path, keys, None)
    left = tomllib.loads(path.read_text("utf-8"))
    # A table of dotted keys goes with its last.
    assert {"sources": {}, **left} == {"sources": {}, **expected}


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("# a\nmodel = 'm' # why\n# b\n", MODEL, "# a\n# b\n"),
        ("[sources]\nopenai = 'a'\nglm = 'x' # g\n", OPENAI, "[sources]\nglm = 'x' # g\n"),
    ],
)
def test_taking_out_keeps_the_rest(path: Path, before: str, keys: tuple[str, ...], after: str) -> None:
    path.write_text(before, "utf-8")
    assert edit_toml(path, keys, None)
    assert path.read_text("utf-8") == after


@pytest.mark.parametrize("value", ['a"b', "back\\slash", "ünï ☃", "a # b", "'", "[x]"])
def test_any_text_comes_back_as_it_was(path: Path, value: str) -> None:
    edit_toml(path, MODEL, value)
    assert tomllib.loads(path.read_text("utf-8")) == {"model": value}


def test_nothing_is_written_where_nothing_changes(path: Path) -> None:
    assert not edit_toml(path, MODEL, None)
    assert not path.exists()
    path.write_text("model = 'm'\n")
    written = path.stat()
    assert not edit_toml(path, MODEL, "m")
    assert not edit_toml(path, OPENAI, None)
    assert path.stat().st_ino == written.st_ino
    assert list(path.parent.iterdir()) == [path]


# ---- the file ----------------------------------------------------------------------------------


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_the_users_alone_unless_it_is_shared(path: Path) -> None:
    own, shared = path.parent / "own" / "config.toml", path.parent / "shared" / "config.toml"
    edit_toml(own, MODEL, "m")
    edit_toml(shared, MODEL, "m", shared=True)
    assert (mode_of(own.parent), mode_of(own), mode_of(shared)) == (0o700, 0o600, 0o644)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_an_existing_file_keeps_its_permissions(path: Path, mode: int) -> None:
    path.write_text("")
    path.chmod(mode)
    edit_toml(path, MODEL, "m", shared=True)
    assert mode_of(path) == mode


def test_it_is_replaced_at_once_and_leaves_nothing(path: Path) -> None:
    path.write_text("model = 'old'\n")
    with path.open() as reader:
        edit_toml(path, MODEL, "new")
        assert reader.read() == "model = 'old'\n"
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_a_link(path: Path) -> None:
    real = path.parent / "dotfiles" / "geode.toml"
    real.parent.mkdir()
    real.write_text("# kept\n")
    path.symlink_to("dotfiles/geode.toml")
    edit_toml(path, MODEL, "m")
    assert path.is_symlink()
    assert real.read_text() == '# kept\nmodel = "m"\n'
    real.unlink()
    edit_toml(path, MODEL, "again")
    assert path.is_symlink()
    assert real.read_text() == 'model = "again"\n'


@pytest.mark.parametrize("broken", [b"model = \n", b"model = '\xff'\n"])
def test_a_broken_file_is_refused_and_untouched(path: Path, broken: bytes) -> None:
    path.write_bytes(broken)
    for value in ("m", None):
        with pytest.raises(Misuse, match=rf"{path}:1:\d+: "):
            edit_toml(path, MODEL, value)
    assert path.read_bytes() == broken
    assert list(path.parent.iterdir()) == [path]


def test_an_edit_that_would_change_more_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the package does with a file: the outcome is read again before it is written."""
    path.write_text("effort = 'low'\n")
    monkeypatch.setattr("tomlkit.dumps", lambda document: 'model = "m"\n')
    with pytest.raises(Misuse, match="cannot be changed here: change it in an editor"):
        edit_toml(path, MODEL, "m")
    assert path.read_text() == "effort = 'low'\n"


def test_edits_at_the_same_time_are_all_kept(path: Path) -> None:
    names = [f"key_{number}" for number in range(12)]
    threads = [threading.Thread(target=edit_toml, args=(path, (name,), name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tomllib.loads(path.read_text()) == {name: name for name in names}
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("model = 'old'\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(toml_edits, "replace_private", full)
    with pytest.raises(OSError, match="No space left"):
        edit_toml(path, MODEL, "new")
    assert path.read_text() == "model = 'old'\n"
    assert list(path.parent.iterdir()) == [path]


def test_without_the_package_the_extra_is_named(path: Path) -> None:
    program = (
        "import sys; sys.modules['tomlkit'] = None\n"
        "from pathlib import Path\n"
        "from geode.adapters.toml_edits import edit_toml\n"
        f"edit_toml(Path({str(path)!r}), ['model'], 'm')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert 'changing a file needs the package tomlkit: pip install "geode[cli]" [missing-extra]' in done.stderr
    assert not path.exists()


def test_several_values_are_written_at_once_or_none_is(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\neffort = "high"\n\n[sources]\nopenai = "payg"\n', "utf-8")
    changes = {("model",): "m", ("effort",): None, ("sources", "glm"): "coding-plan"}
    assert edit_toml_at_once(path, changes)
    assert tomllib.loads(path.read_text("utf-8")) == {"model": "m", "sources": {"openai": "payg", "glm": "coding-plan"}}
    assert path.read_text("utf-8").startswith("# mine\n")
    assert not edit_toml_at_once(path, changes), "it says so already"
