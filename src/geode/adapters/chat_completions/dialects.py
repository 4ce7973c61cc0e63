"""What tells the servers of the Chat wire apart, as data (spec section 2; wire facts A1, A4, A5, C3–C5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from geode.domain.schema_profile import GENERIC, GLM, OPENAI, OPENROUTER, SchemaProfile
from geode.domain.targets import ContentBesideCalls, DialectName, Quirks


@dataclass(frozen=True, slots=True)
class Dialect:
    """`max_tokens` is the name of the output bound, `effort` the path of the effort field, `usage_option` whether
    usage in a stream has to be asked for (servers that do not know the option refuse it), `calls_need_tools` whether
    the server may pass a request on to one that takes no calls without tools, `schemas` what it takes of a schema,
    `own_parts` whether parts of its replies that are no text may go back, `content_beside_calls` what it wants as the
    text of a turn that only called, `images_in_results` whether its tool messages take more than text, `relays` whether it
    hands requests on: then it takes the caller's options of the route, and keeps calls that belong together on one.
    `thinking_switch`: thinking is switched by a field of its own, and the earlier reasoning kept by it. `late_calls`:
    arguments come in one piece, late, unless they are asked for as they grow."""

    name: DialectName
    schemas: SchemaProfile
    max_tokens: str = "max_tokens"
    effort: tuple[str, ...] = ("reasoning_effort",)
    usage_option: bool = True
    calls_need_tools: bool = False
    own_parts: bool = True
    content_beside_calls: ContentBesideCalls = "null"
    images_in_results: bool = False
    relays: bool = False
    thinking_switch: bool = False
    late_calls: bool = False

    def __str__(self) -> str:
        """What the encoding of a history depends on, as a key."""
        return f"{self.name}:{self.content_beside_calls}:{self.images_in_results}"

    def with_quirks(self, quirks: Quirks) -> Dialect:
        """The dialect as a server speaks it that does some things otherwise."""
        return replace(
            self,
            max_tokens=quirks.output_limit or self.max_tokens,
            usage_option=self.usage_option if quirks.stream_usage is None else quirks.stream_usage,
            content_beside_calls=quirks.content_beside_calls or self.content_beside_calls,
            images_in_results=quirks.images == "in_result",
        )


DIALECTS: Final[Mapping[DialectName, Dialect]] = {
    "openai": Dialect("openai", OPENAI, max_tokens="max_completion_tokens", own_parts=False),
    "openrouter": Dialect(
        "openrouter",
        OPENROUTER,
        effort=("reasoning", "effort"),
        calls_need_tools=True,
        relays=True,
    ),
    "glm": Dialect("glm", GLM, usage_option=False, thinking_switch=True, late_calls=True),
    "generic": Dialect("generic", GENERIC),
}
