"""`~/.geode/adapters.toml`: which adapters of other packages the operator lets into this program, and why."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from geode.adapters.toml_files import TomlFile, read_toml
from geode.domain.addresses import shown_path
from geode.domain.configuration import toml_kind
from geode.domain.errors import Misuse
from geode.domain.naming import closest

ADAPTERS_FILE: Final = "adapters.toml"
_OTHERS_WRITE: Final = 0o022


class AllowedAdapter(BaseModel):
    """One line of the file. `package`: the distribution that it has to come from. `identity` and `source`: whose models
    it serves, and by which account; by default its own name and `own`. `override`: it takes the place of an adapter of
    its name."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    enabled: bool
    reason: str = Field(min_length=1)
    package: str = ""
    identity: str = ""
    source: str = "own"
    override: bool = False


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    version: int = Field(ge=1, le=1)
    adapters: dict[str, AllowedAdapter] = {}


@dataclass(frozen=True, slots=True)
class AdapterPolicy:
    """What the operator allows, by the adapter's name. Whoever is not named is not allowed."""

    allowed: Mapping[str, AllowedAdapter] = field(default_factory=dict[str, AllowedAdapter])
    place: str = ""


def read_policy(path: Path) -> AdapterPolicy:
    """The policy that the file at `path` is. Misuse for one that others may write into: it says whose code is run."""
    file = read_toml(path)
    if file.exists and os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & _OTHERS_WRITE:
        raise Misuse("adapter-policy", f"others may write into {path}, which says whose code is run: chmod go-w it")
    return policy_of(file)


def policy_of(file: TomlFile) -> AdapterPolicy:
    """The policy in the file; nobody is allowed where there is none. Misuse names line and column."""
    if not file.exists:
        return AdapterPolicy(place=str(file.path))
    try:
        found = _File.model_validate(file.values)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        raise Misuse("adapter-policy", _told(file, tuple(str(part) for part in first["loc"]), first)) from None
    return AdapterPolicy(found.adapters, str(file.path))


def _told(file: TomlFile, path: tuple[str, ...], error: Mapping[str, Any]) -> str:
    """The place, and what is wrong there; never the value."""
    keys = path[:-1] if error["type"] == "missing" else path
    place, name = file.where(keys) if keys else str(file.path), shown_path(path)
    if error["type"] == "missing":
        return f"{place}: {name} is missing. {_NEEDED.get(path[-1], '')}"
    if error["type"] == "extra_forbidden":
        known = list((AllowedAdapter if path[0] == "adapters" else _File).model_fields)
        close = closest(path[-1], known)
        hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
        return f"{place}: {name} is no key; {hint}"
    return f"{place}: {name} cannot be {toml_kind(error['input'])} like this. {_NEEDED.get(path[-1], '')}"


_NEEDED: Final = {
    "version": "Write version = 1 at the top",
    "enabled": "Write enabled = true",
    "reason": 'Write reason = "who looked at it, and when"',
}


def refuse_unused(policy: AdapterPolicy, names: Iterable[str], replaced: Iterable[str]) -> None:
    """Misuse for an override of nobody: whoever wrote it meant another name."""
    for name, one in policy.allowed.items():
        if one.enabled and one.override and name not in replaced:
            close = closest(name, names)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise Misuse("adapter-policy", f"{policy.place}: adapters.{name} overrides nobody: no adapter has that name{hint}")
