"""What the tools of several sources are called to a model (spec section 12).

The names are a pure function of what there is: the same tools have the same names after a restart, whatever
order their sources were opened in, and each name leads back to one tool of one source.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from geode.domain.wire_names import sent_name

SEPARATOR: Final = "__"
_DIGITS: Final = 10


@dataclass(frozen=True, slots=True, order=True)
class OwnName:
    """A tool as its source calls it."""

    source: str
    tool: str


def qualified(own: OwnName) -> str:
    """The name of the source in front of the tool's own, as any provider takes it."""
    return sent_name(f"{own.source}{SEPARATOR}{own.tool}")


def visible_names(taken: Collection[str], found: Iterable[OwnName], prefixed: Collection[str] = ()) -> Mapping[OwnName, str]:
    """The name of each tool that `found` has, all different and none of them `taken`, in the alphabet of every wire.

    A tool keeps its own name where no other has it and its source is not `prefixed`; else it is `qualified`, all of
    those that clash; and where that clashes again, it ends in digits made of source and tool. What has no name
    that is its own even then is left out.
    """
    names = {own: _candidate(own, own.source in prefixed) for own in found}
    for further in (qualified, _marked):
        counted = Counter(names.values())
        for own, name in names.items():
            if counted[name] > 1 or name in taken:
                names[own] = further(own)
    counted = Counter(names.values())
    return {own: name for own, name in names.items() if counted[name] == 1 and name not in taken}


def _candidate(own: OwnName, prefixed: bool) -> str:
    return qualified(own) if prefixed else sent_name(own.tool)


def _marked(own: OwnName) -> str:
    """Told apart from whatever has the same name: `a` with the tool `b__c`, and `a__b` with the tool `c`."""
    digest = hashlib.sha256(f"{own.source}\0{own.tool}".encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
    room = 64 - _DIGITS - 1
    return f"{qualified(own)[:room]}_{digest}"
