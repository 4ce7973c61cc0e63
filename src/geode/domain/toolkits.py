"""Named sets of tools: what of all tools a session, a user or a round may use (spec section 12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias, cast

from geode.domain.errors import Misuse


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A named set: what `allow` names (everything, without it) and `deny` does not.

    Both hold names of tools, in which `*` stands for any letters; for a tool of a source, such as an MCP server,
    also `SOURCE__TOOL` is its name, so that `docs__*` is all that the server docs has; `deny` knows it by the source's
    own name for it, too, whatever it is called in this session. A tool that is not in the set is neither shown to the
    model nor run. Misuse for a blank name and for what is no list of names.
    """

    name: str
    allow: Sequence[str] | None = None
    deny: Sequence[str] = ()

    def __post_init__(self) -> None:
        name: object = self.name
        if not isinstance(name, str) or not name.strip():
            raise Misuse("toolkit", f"a toolkit has a name: Toolkit(NAME, allow=[…], deny=[…]), got {name!r:.80}")
        object.__setattr__(self, "allow", None if self.allow is None else _names(self.name, "allow", self.allow))
        object.__setattr__(self, "deny", _names(self.name, "deny", self.deny))

    def allows(self, names: Collection[str]) -> bool:
        """Whether a tool that has any of these names may be in the set, as far as `allow` says."""
        return self.allow is None or _any(self.allow, names)

    def denies(self, names: Collection[str]) -> bool:
        """Whether `deny` takes a tool out that has any of these names."""
        return _any(self.deny, names)


@dataclass(frozen=True, slots=True)
class ToolkitContext:
    """What a function that chooses toolkits may look at: the session's `deps`, the run, and its round, counted from 1."""

    deps: Any
    run_id: str
    round: int


Toolkits: TypeAlias = Toolkit | Sequence[Toolkit] | None
ChooseToolkits: TypeAlias = Callable[[ToolkitContext], Toolkits]


def as_toolkits(value: object) -> tuple[Toolkit, ...]:
    """One or several toolkits as several; none, for everything, where there is nothing. Misuse for anything else."""
    several = cast("Sequence[object]", (value,) if isinstance(value, Toolkit) else () if value is None else value)
    if not isinstance(value, Toolkit | list | tuple | None) or not all(isinstance(one, Toolkit) for one in several):
        raise Misuse(
            "toolkit",
            f"toolkit= takes a Toolkit, a list of them, or a function of a ToolkitContext that returns such; got {value!r:.80}",
        )
    return cast("tuple[Toolkit, ...]", tuple(several))


def in_force(toolkits: Sequence[Toolkit], names: Collection[str], denied_by: Collection[str] = ()) -> bool:
    """Whether a tool of these names is in the toolkits: one of them allows it and none denies it. All are, in none.

    `denied_by` are further names, by which it may be denied and is never allowed.
    """
    if not toolkits:
        return True
    return any(one.allows(names) for one in toolkits) and not any(one.denies({*names, *denied_by}) for one in toolkits)


def unknown_in(toolkits: Sequence[Toolkit], known: Collection[str]) -> tuple[Toolkit, str] | None:
    """The first name without `*` that is no tool's, and the toolkit that has it."""
    for one in toolkits:
        for name in (*(one.allow or ()), *one.deny):
            if "*" not in name and name not in known:
                return one, name
    return None


def _names(toolkit: str, which: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise Misuse("toolkit", f"Toolkit({toolkit!r}, {which}=…) takes a list of names of tools, got {given!r:.80}")
    names = tuple(cast("Iterable[object]", given))
    wrong = [name for name in names if not isinstance(name, str) or not name.strip()]
    if wrong:
        raise Misuse("toolkit", f"Toolkit({toolkit!r}, {which}=…) takes names of tools, got {wrong[0]!r:.80}")
    return cast("tuple[str, ...]", names)


def _any(patterns: Sequence[str] | None, names: Collection[str]) -> bool:
    return any(_pattern(pattern).fullmatch(name) for pattern in patterns or () for name in names)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in pattern.split("*")), re.DOTALL)
