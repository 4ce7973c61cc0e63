"""Many tools: the one tool by which the model finds and calls those that are not in its list (spec section 12).

Its place in the list never changes, whatever is searched and called, and so the list stays what it was byte for byte.
A call of it that names a tool is a call of that tool in every respect; only the conversation keeps it as it was made.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from geode.domain.arguments import tool_use
from geode.domain.content import ToolUseBlock
from geode.domain.json_value import dump_json
from geode.domain.naming import closest, first_of, shown_name
from geode.domain.offload import RECALL
from geode.domain.schema_words import object_in
from geode.domain.tools import ToolFacts, ToolSpec

SEARCH: Final = "search_tools"
MOST_MATCHES: Final = 5
DESCRIPTION_CHARACTERS: Final = 400
# Of all matches together. The best one is shown whole, however long it is.
ANSWER_CHARACTERS: Final = 12_000
# These are in every list.
_CALLED_DIRECTLY: Final = frozenset({SEARCH, RECALL})
_SOURCES: Final = 20
_SOURCE_CHARACTERS: Final = 60
# What a model searches for is a few words; what it made up may be a megabyte.
_QUERY_CHARACTERS: Final = 400

_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "To search: what the tool should do, in a few words, or its name."},
        "name": {"type": "string", "description": "To call: the name of a tool that was found."},
        "arguments": {"type": "object", "description": "To call: the tool's arguments, by its input_schema."},
    },
    "additionalProperties": False,
}


def search_spec(sources: Iterable[str]) -> ToolSpec:
    """The tool as the model is told it. `sources` are where the tools come from that it finds, as people call them.

    How many they are is not said: a source that gets one more changes nothing of the list.
    """
    named = sorted(dict.fromkeys(source[:_SOURCE_CHARACTERS] for source in sources if source.strip()))
    come = f" They come from {first_of(named, _SOURCES)}." if named else ""
    return ToolSpec(
        SEARCH,
        f"There are more tools than are in your list.{come} Search for one with query: you get the names, descriptions and "
        "input schemas of those that fit best. Then call it with name and arguments.",
        _SCHEMA,
    )


# ---- calling -----------------------------------------------------------------------------------


def as_run(call: ToolUseBlock, tools: Mapping[str, ToolFacts]) -> ToolUseBlock:
    """The call that runs for `call`: that of the tool which it names, under its own id; for any other the very same."""
    facts = tools.get(call.name)
    if facts is None or not facts.forwards or _given(call.input) != {"name"} or call.input["name"] in _CALLED_DIRECTLY:
        return call
    return tool_use(call.id, call.input["name"], call.input.get("arguments"))


def search_problem(arguments: Mapping[str, Any]) -> str:
    """Why the search tool cannot search with these arguments; "" if it can.

    A call of another tool never gets here: it is made by the model alone, and runs as that tool's.
    """
    given, name = _given(arguments), arguments.get("name")
    if given == {"query"}:
        return ""
    if given == {"query", "name"}:
        return "/: give query, to search, or name and arguments, to call, and not both"
    if name in _CALLED_DIRECTLY:
        return f"/name: {name} is not called through {SEARCH}; it is in your list of tools"
    if given == {"name"}:
        return "/name: a search does not become a call"
    return "/: give query, to search, or name and arguments, to call"


def _given(arguments: Mapping[str, Any]) -> set[str]:
    """Which of the two it says: a blank text says nothing."""
    texts = ((key, arguments.get(key)) for key in ("query", "name"))
    return {key for key, text in texts if isinstance(text, str) and text.strip()}


# ---- searching ---------------------------------------------------------------------------------


def answer(query: str, tools: Sequence[ToolSpec]) -> str:
    """What the model reads: the tools that fit best, a line of JSON each."""
    matches = found(query, tools)
    if not matches:
        close = closest(query.strip(), [tool.name for tool in tools])
        hint = f" The closest names are: {', '.join(close)}." if close else ""
        return f"No tool fits {shown_name(query)}.{hint} Search with other words."
    shown, rest = matches[:MOST_MATCHES], len(matches) - MOST_MATCHES
    more = f" {rest} more fit less well; other words find others." if rest > 0 else ""
    head = f'The best first.{more} Call one with {SEARCH}: {{"name": …, "arguments": …}}.'
    return "\n".join([head, *_lines(shown)])


def _lines(tools: Sequence[ToolSpec]) -> Iterator[str]:
    room = ANSWER_CHARACTERS
    for place, tool in enumerate(tools):
        said = {"name": tool.name, "description": _short(tool.description)}
        line = dump_json({**said, "input_schema": tool.input_schema})
        if place and len(line) > room:
            line = dump_json({**said, "input_schema": "too long to show here; search for the tool by its name"})
        room -= len(line)
        yield line


def _short(text: str) -> str:
    return text if len(text) <= DESCRIPTION_CHARACTERS else text[:DESCRIPTION_CHARACTERS] + "…"


def found(query: str, tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The tools that fit `query`, the best first; equal ones in the order of their names. One of that very name stands alone.

    A word counts the more the fewer tools have it, and most where it is in the name; the beginning of a word counts
    for a part of it.
    """
    exact = tuple(tool for tool in tools if tool.name == query.strip())
    if exact:
        return exact
    wanted = list(dict.fromkeys(_words(query[:_QUERY_CHARACTERS])))
    indexes = [_indexed(tool) for tool in tools]
    fitting = _fitting(wanted, frozenset[str]().union(*indexes))
    weights = [[_weight(fits, index) for fits in fitting] for index in indexes]
    rarity = [_rarity(sum(row[place] > 0 for row in weights), len(tools)) for place in range(len(wanted))]
    scores = [sum(weight * rare for weight, rare in zip(row, rarity, strict=True)) for row in weights]
    ranked = sorted(zip(scores, tools, strict=True), key=lambda one: (-one[0], one[1].name))
    return tuple(tool for score, tool in ranked if score > 0)


_IN_NAME: Final = 3.0
_IN_PROPERTY: Final = 1.5
_IN_DESCRIPTION: Final = 1.0
_BEGINNING: Final = 0.5
_LEAST_BEGINNING: Final = 3


def _rarity(having: int, all: int) -> float:
    return math.log(1 + (all - having + 0.5) / (having + 0.5))


def _fitting(wanted: Sequence[str], known: Collection[str]) -> list[dict[str, float]]:
    """For each word of a query the known ones that fit it, and how well: looked up once, however many tools there are."""
    return [{other: 1.0 if other == word else _BEGINNING for other in known if _fits(word, other)} for word in wanted]


def _fits(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return word == other or (len(shorter) >= _LEAST_BEGINNING and longer.startswith(shorter))


def _weight(fits: Mapping[str, float], index: Mapping[str, float]) -> float:
    """How well the tool with these words fits a word that those fit."""
    return max((share * index[other] for other, share in fits.items() if other in index), default=0.0)


def _indexed(tool: ToolSpec) -> Mapping[str, float]:
    """The words of a tool and what each counts; kept with the tool."""
    if "searched" not in tool.memo:
        properties = " ".join(object_in(tool.input_schema.get("properties")))
        parts = ((tool.description, _IN_DESCRIPTION), (properties, _IN_PROPERTY), (tool.name, _IN_NAME))
        tool.memo["searched"] = {word: weight for text, weight in parts for word in _words(text)}
    index: Mapping[str, float] = tool.memo["searched"]
    return index


_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_RUN: Final = re.compile(r"[^\W_]+")
# From here on there are scripts that put no blanks between words.
_UNSPACED: Final = "\u2e80"


def _words(text: str) -> Iterator[str]:
    """The words of a text or a name, without case: createIssue, create_issue and "Create issue" have the same."""
    for run in _RUN.findall(_HUMP.sub(" ", unicodedata.normalize("NFKC", text))):
        word = unicodedata.normalize("NFKC", run.casefold())
        if max(word) < _UNSPACED or len(word) == 1:
            yield word
        else:
            yield from (word[place : place + 2] for place in range(len(word) - 1))
