"""How a tool's function is called: its arguments made those of the function, and its ToolContext given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from geode.entrypoints.tools.plain import Convert
from geode.entrypoints.tools.signature import Injected, Signature
from geode.entrypoints.tools.source import Source
from geode.ports.tools import ToolContext, ToolRetry


@dataclass(frozen=True, slots=True)
class Handler:
    """Arguments that fit the schema become those of the function, by a plan that is made once.

    `by_table`: the schema is made of plain types alone. `only`: the names that the function takes, where its
    schema was written by somebody else and may let others in.
    """

    source: Source
    ways: Sequence[tuple[str, Convert]]
    context: Injected | None
    positional: Sequence[tuple[str, Any]]
    by_table: bool = False
    only: frozenset[str] | None = None

    def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        if self.only is not None and (others := arguments.keys() - self.only):
            takes = ", ".join(sorted(self.only)) or "nothing"
            raise ToolRetry(f"{self.source.name} does not take {', '.join(sorted(others)):.80}; it takes {takes}")
        filled = dict(arguments)
        for name, convert in self.ways:
            if name in filled:
                filled[name] = convert(filled[name])
        if self.context is not None:
            filled[self.context.name] = context
        if not self.positional:
            return self.source.call(**filled)
        return self.source.call(*[filled.pop(name, default) for name, default in self.positional], **filled)

    def check_deps(self, deps: object) -> None:
        """Misuse where the function's `ToolContext[D]` wants other dependencies than `deps`."""
        if self.context is not None and not _fits(deps, self.context.wanted):
            _refuse_deps(self.source, self.context, deps)


def handler_of(source: Source, signature: Signature, ways: Mapping[str, Convert | None], *, by_table: bool) -> Handler:
    """The handler that calls `source`, converting each argument its way."""
    given = [(name, convert) for name, convert in ways.items() if convert]
    return Handler(source, given, signature.context, signature.positional, by_table)


def _fits(deps: object, wanted: Any) -> bool:
    """Whether `deps` may be a `wanted`. What cannot be checked at run time is believed."""
    origin = get_origin(wanted)
    if origin is Annotated:
        return _fits(deps, get_args(wanted)[0])
    if origin in (Union, UnionType):
        return any(_fits(deps, member) for member in get_args(wanted))
    if wanted is Any:
        return True
    try:
        return isinstance(deps, origin or wanted)
    except TypeError:
        # A type variable, a NewType, or a protocol that is not runtime-checkable.
        return True


def _refuse_deps(source: Source, context: Injected, deps: object) -> None:
    wanted = context.wanted
    name = str(wanted) if get_origin(wanted) or not isinstance(wanted, type) else wanted.__name__
    got = "there are none" if deps is None else f"got {type(deps).__name__}"
    source.refuse("deps-type", f"{context.name} wants deps of type {name}, {got}. Give deps= a {name}")
