"""What the tools of several sources are called to a model (spec section 12).

The names are a pure function of what there is: the same tools have the same names after a restart, whatever
order their sources were opened in, and each name leads back to one tool of one source.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from geode.domain.wire_names import sent_name

SEPARATOR: Final = "__"
_DIGITS: Final = 10
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, order=True)
class OwnName:
    """A tool as its source calls it."""

    source: str
    tool: str


def qualified(own: OwnName) -> str:
    """The name of the source in front of the tool's own, as any provider takes it."""
    return sent_name(f"{own.source}{SEPARATOR}{own.tool}")


def visible_names(
    taken: Collection[str], found: Iterable[OwnName], prefixed: Collection[str] = (), sources: Collection[str] = ()
) -> Mapping[OwnName, str]:
    """The name of each tool that `found` has, all different and none of them `taken`, in the alphabet of every wire.

    A tool keeps its own name where no other has it, its source is not `prefixed`, and the name does not look like one
    of another of the `sources`; else it is `qualified`, all of those that clash; and where that clashes again, it ends
    in digits made of source and tool. What has no name that is its own even then is left out.
    """
    fronts = {source: _front(source) for source in sources}
    names = {own: _candidate(own, prefixed, fronts) for own in found}
    _told_apart(names, taken, qualified)
    # A source may have a tool that is called as another's is with its digits: it is that one that gets further ones.
    while _told_apart(names, taken, _marked):
        pass
    counted = Counter(names.values())
    return {own: name for own, name in names.items() if counted[name] == 1 and name not in taken}


def _told_apart(names: dict[OwnName, str], taken: Collection[str], further: Callable[[OwnName], str]) -> bool:
    """Whether any that clashed has got its further name."""
    counted = Counter(names.values())
    clashing = {own: further(own) for own, name in names.items() if counted[name] > 1 or name in taken}
    changed = any(names[own] != name for own, name in clashing.items())
    names.update(clashing)
    return changed


def _candidate(own: OwnName, prefixed: Collection[str], fronts: Mapping[str, str]) -> str:
    name = sent_name(own.tool)
    looks_like_another = any(name.startswith(front) for source, front in fronts.items() if source != own.source)
    return qualified(own) if own.source in prefixed or looks_like_another else name


def _front(source: str) -> str:
    """What the `qualified` names of the tools of a source begin with."""
    return _UNFIT.sub("_", f"{source}{SEPARATOR}")


def _marked(own: OwnName) -> str:
    """Told apart from whatever has the same name: `a` with the tool `b__c`, and `a__b` with the tool `c`."""
    digest = hashlib.sha256(f"{own.source}\0{own.tool}".encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    room = 64 - _DIGITS - 1
    return f"{qualified(own)[:room]}_{digest}"
