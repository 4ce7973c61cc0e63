"""The harnesses of adapters that speak a wire otherwise than its first server, and of servers that are declared."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import ClassVar

from geode.domain.targets import Quirks
from geode.entrypoints.compliance.shipped import (
    ChatGlmHarness,
    ChatHarness,
    ChatOpenrouterHarness,
    MessagesHarness,
    ShippedHarness,
)
from geode.entrypoints.routes.capabilities import capabilities_of
from geode.entrypoints.routes.file import table_of
from geode.entrypoints.routes.grammar import grammar_problems


class CodexOAuthHarness(ShippedHarness):
    """The ChatGPT backend: streams alone, a plan pays, and an error is a sentence."""

    name, wire, spoken, dialect, model = "codex-oauth", "responses", "codex", "codex", "gpt-5.3-codex"
    capabilities = replace(capabilities_of("responses", "codex"), temperature=False, output_limit=False)
    parallel = True
    plan_ends_at_429 = True
    streams_only = True
    codes = False

    def base_url(self, server: str) -> str:
        return server

    @property
    def path(self) -> str:
        return "/responses"


class AnthropicOAuthHarness(MessagesHarness):
    """The same wire, with a token in the place of a key."""

    name, stands_for = "anthropic-oauth", ""


class OpenrouterPaygHarness(ChatOpenrouterHarness):
    """The relay to Anthropic: what it has read is marked for its cache."""

    name, stands_for, model = "openrouter-payg", "", "anthropic/claude-sonnet-4.6"


class GlmPaygHarness(ChatGlmHarness):
    """The same wire, paid by use, to a model that always thinks."""

    name, stands_for, model = "glm-payg", "", "glm-5.3"


class GlmCodingPlanHarness(ChatGlmHarness):
    """The same wire at another address, which a plan pays. Its server says by a code whether the plan is used up."""

    name, stands_for = "glm-coding-plan", ""


class DeclaredHarness(ChatHarness):
    """A server as somebody declares it in `routing.toml`; `toml` are the lines of its quirks."""

    toml: ClassVar[str]

    @property
    def quirks(self) -> Quirks:
        return declared_quirks(self.toml)


def declared_quirks(lines: str) -> Quirks:
    """What the reader of `routing.toml` makes of the lines of a server's quirks."""
    text = f'[providers.lab]\nbase_url = "http://lab.test/v1"\n[providers.lab.quirks]\n{lines}'
    values = tomllib.loads(text)
    assert grammar_problems(values) == []
    table, problems = table_of(values)
    assert problems == []
    transport = table.targets["lab"].transport
    assert transport is not None
    return transport.quirks


class NullContentHarness(DeclaredHarness):
    """Takes pictures in results and a schema for the answer, forces no tool, and has the newer name of the bound."""

    toml = """
        choice = ["auto", "none"]
        content_beside_calls = "null"
        images = "in_result"
        stream_usage = true
        output_limit = "max_completion_tokens"
        response_schema = true
    """
    capabilities = replace(
        capabilities_of("chat"), choices=frozenset({"auto", "none"}), images="in_result", response_schema=True
    )
    refuses = frozenset({"forced_choice", "empty_content", "absent_content", "max_tokens"})


class EmptyContentHarness(DeclaredHarness):
    """Takes a forced tool by a word alone, and no option for usage."""

    toml = """
        choice = ["auto", "none", "required"]
        content_beside_calls = "empty"
        images = "after_results"
        stream_usage = false
        output_limit = "max_tokens"
    """
    capabilities = replace(capabilities_of("chat"), choices=frozenset({"auto", "none", "required"}))
    refuses = frozenset(
        {"named_choice", "null_content", "absent_content", "result_parts", "stream_options", "max_completion_tokens"}
    )


class AbsentContentHarness(DeclaredHarness):
    """Is shown no pictures of results."""

    toml = """
        content_beside_calls = "absent"
        images = "none"
    """
    capabilities = replace(capabilities_of("chat"), images="none")
    refuses = frozenset({"null_content", "empty_content", "result_parts"})


class TextOnlyHarness(DeclaredHarness):
    """Takes no tools: what was called before is told in words."""

    toml = "tools = false"
    capabilities = replace(capabilities_of("chat"), supports_tools=False)
    refuses = frozenset({"tools", "tool_messages"})
