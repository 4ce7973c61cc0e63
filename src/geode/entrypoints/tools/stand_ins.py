"""Whether the tools that are to stand in for another one can: only all tools of a session together tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.tools import same_contract
from geode.ports.tools import Tool


def check_stand_ins(tool: Tool, tools: Mapping[str, Tool]) -> None:
    """Misuse for an `alternative` or a `fallback` of `tool` that is none of `tools`, or could never stand in for it."""
    declared = {"alternative": tool.alternative, "fallback": tool.fallback}
    for setting, name in declared.items():
        if name is not None:
            _check(tool, setting, name, tools)
    if tool.alternative is not None and tool.alternative == tool.fallback:
        _refuse(tool, f'alternative and fallback are both "{tool.fallback}"; it is tried once. Leave one of them out')
    if tool.alternative is not None and not same_contract(tool.spec, tools[tool.alternative].spec):
        _refuse(
            tool,
            f'alternative "{tool.alternative}" takes other parameters, and would be called with the same arguments. '
            "Give both the same parameters, or make it the fallback",
        )


def _check(tool: Tool, setting: str, name: str, tools: Mapping[str, Tool]) -> None:
    if tool.tier.runs_alone:
        way_out = f'Leave out {setting}=, or declare a tier that changes nothing, such as tier="safe"'
        _refuse(tool, f"it is {tool.tier.name}, and what may change something is never tried again by another. {way_out}")
    if name == tool.spec.name:
        _refuse(tool, f"{setting} is the tool itself; name another one, or leave it out")
    if name not in tools:
        close = closest(name, tools)
        hint = f"did you mean {close[0]}?" if close else f"The session has: {', '.join(tools)}"
        _refuse(tool, f'{setting} names "{name}", which is no tool of this session; {hint}')
    if tools[name].tier.runs_alone:
        _refuse(tool, f'{setting} "{name}" is {tools[name].tier.name}: what may change something stands in for nothing')


def _refuse(tool: Tool, message: str) -> NoReturn:
    where = f" ({tool.place})" if tool.place else ""
    raise Misuse("tool-recovery", f"tool {tool.spec.name}{where}: {message}")
