"""Changes a value in a TOML file, and nothing else in it."""

from __future__ import annotations

import copy
import os
import stat
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from geode.adapters.private_files import Lock, private_folder, replace_private
from geode.adapters.toml_files import TomlFile, read_toml
from geode.domain.errors import Misuse

Keys: TypeAlias = tuple[str, ...]


def edit_toml(path: Path, keys: Sequence[str], value: str | None, *, shared: bool = False) -> bool:
    """`edit_toml_at_once` for one place."""
    return edit_toml_at_once(path, {tuple(keys): value}, shared=shared)


def edit_toml_at_once(path: Path, changes: Mapping[Keys, str | None], *, shared: bool = False) -> bool:
    """Have the file say each value at its keys, or nothing for None, and whether that changed it: all of it, or none.

    Comments, order and formatting stay. The file is replaced at once, a link stays a link, and what is read and written
    by several processes is not lost. A broken file is Misuse, and untouched. A new file is the user's alone unless
    `shared`; an existing one keeps its permissions.
    """
    real = Path(os.path.realpath(path))
    if not real.exists() and all(value is None for value in changes.values()):
        return False
    if shared:
        real.parent.mkdir(parents=True, exist_ok=True)
    else:
        private_folder(real.parent)
    lock = Lock(real.with_name(f".{real.name}.lock"), wait=True)
    try:
        file = read_toml(path)
        left = {keys: value for keys, value in changes.items() if _at(file.values, keys) != value}
        if not left:
            return False
        text = _edited(file, left)
        mode = stat.S_IMODE(real.stat().st_mode) if file.exists else 0o644 if shared else 0o600
        replace_private(real, text.encode(), mode=mode)
    finally:
        lock.release()
    return True


def _edited(file: TomlFile, changes: Mapping[Keys, str | None]) -> str:
    try:
        import tomlkit
    except ModuleNotFoundError as error:
        raise Misuse("missing-extra", 'changing a file needs the package tomlkit: pip install "geode[cli]"') from error
    document = tomlkit.parse(file.text)
    wanted = copy.deepcopy(dict(file.values))
    for keys, value in changes.items():
        for root in (document, wanted):
            _put(root, keys, value)
    text = tomlkit.dumps(document)
    if file.text.count("\n") == file.text.count("\r\n") > 0:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    if _said(tomllib.loads(text)) != _said(wanted):
        raise Misuse("config-file", f"{file.path} is written in a way that cannot be changed here: change it in an editor")
    return text


def _put(root: MutableMapping[str, Any], keys: Sequence[str], value: str | None) -> None:
    table = root
    for key in keys[:-1]:
        table = table.setdefault(key, {})
    if value is None:
        del table[keys[-1]]
    else:
        table[keys[-1]] = value


def _said(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the tables that are empty: one that was written by dotted keys goes with its last."""
    inner = {key: _said(value) if isinstance(value, dict) else value for key, value in values.items()}
    return {key: value for key, value in inner.items() if value != {}}


def _at(values: Any, keys: Sequence[str]) -> object:
    """What is said at `keys`; None where nothing is."""
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values
