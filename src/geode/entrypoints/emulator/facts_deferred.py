"""The rules about tools that are sent and not shown to the model, as data."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

_CLAUDE: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool"

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "messages.anthropic.deferred.all",
        "At least one tool is not deferred; the search tool is one.",
        f"{_CLAUDE}; recorded: the search tool beside deferred tools alone is taken",
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.deferred.search",
        "The search tool itself is never deferred.",
        _CLAUDE,
        dialects=("anthropic",),
    ),
    Rule(
        "messages.anthropic.deferred.reference",
        "A tool_reference names one of the tools of the request.",
        _CLAUDE,
        dialects=("anthropic",),
    ),
    Rule(
        "responses.openai.deferred.namespace",
        "A call of a deferred function, taken back, names the namespace that the search put it into.",
        "https://github.com/vercel/ai/pull/15193; https://github.com/dust-tt/dust/pull/31323",
        dialects=("openai",),
    ),
)
