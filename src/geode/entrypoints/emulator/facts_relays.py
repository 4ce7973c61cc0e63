"""The rules of OpenRouter and of GLM around a request as data: what is refused, how, and where that is known from."""

from __future__ import annotations

from typing import Final

from geode.entrypoints.emulator.rule import Rule

_ROUTING: Final = "https://openrouter.ai/docs/features/provider-routing"
_THINKING: Final = "https://docs.z.ai/guides/capabilities/thinking-mode"
_CODES: Final = "https://docs.z.ai/api-reference/api-code"


def _openrouter(name: str, says: str, source: str) -> Rule:
    return Rule(f"chat.openrouter.{name}", says, source, error_type=None, error_code="400", dialects=("openrouter",))


def _glm(name: str, says: str, source: str) -> Rule:
    return Rule(f"chat.glm.{name}", says, source, error_type=None, error_code="1210", dialects=("glm",))


RULES: Final[tuple[Rule, ...]] = (
    _openrouter("provider.type", "provider is an object.", _ROUTING),
    _openrouter("provider.unknown", "provider has the options that are documented, and no others.", _ROUTING),
    _openrouter("provider.names", "order, only, ignore and quantizations are lists of names.", _ROUTING),
    _openrouter("provider.switch", "allow_fallbacks, require_parameters, zdr and the like are true or false.", _ROUTING),
    _openrouter("provider.word", "data_collection is allow or deny; sort is price, throughput or latency.", _ROUTING),
    _openrouter("effort", "reasoning.effort is one of its words.", "https://openrouter.ai/docs/use-cases/reasoning-tokens"),
    _openrouter("session_id", "session_id is a short text.", "https://openrouter.ai/docs/api/api-reference/chat"),
    _openrouter(
        "cache_control.max4",
        "Anthropic takes at most four marks of what is to be cached, and none on an empty text.",
        "https://openrouter.ai/docs/features/prompt-caching",
    ),
    _openrouter(
        "reasoning_details",
        "Signed reasoning comes back as it went out.",
        "https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks",
    ),
    _glm("thinking", "thinking.type is enabled or disabled, clear_thinking true or false.", _THINKING),
    _glm("effort", "Only some models take an effort, each its own words.", _THINKING),
    _glm("message_name", "Messages have no name.", _CODES),
    _glm("tool_stream", "tool_stream is true or false.", "https://docs.z.ai/guides/capabilities/stream-tool"),
    _glm("reasoning_content", "reasoning_content is text.", _THINKING),
)
