"""What Anthropic Messages refuses in the conversation: pairing, order, contents, ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from geode.entrypoints.emulator.bound import prefixes
from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, listed, mapped, objects, shown

ID_PATTERN: Final = r"[A-Za-z0-9_-]+"
NAME_PATTERN: Final = r"[A-Za-z0-9_-]{1,128}"
THINKING: Final = ("thinking", "redacted_thinking")
PLAIN: Final = ("text", *THINKING)


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, which the server merges before it judges pairing."""

    role: str
    blocks: list[tuple[Path, dict[str, Any]]]

    def of(self, kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        return ((path, block) for path, block in self.blocks if block.get("type") == kind)


Conversation: TypeAlias = list[Turn]


def turns(request: Request) -> Conversation:
    """The conversation with neighbours merged and plain strings as text blocks."""
    found: Conversation = []
    for place, message in objects(request.get("messages")):
        role = ident(message.get("role"))
        if not found or found[-1].role != role:
            found.append(Turn(role, []))
        path: Path = ("messages", place, "content")
        content = message.get("content")
        if isinstance(content, str):
            found[-1].blocks.append((path, {"type": "text", "text": content}))
        found[-1].blocks.extend(((*path, number), block) for number, block in objects(content))
    return found


def shapes(request: Request, _: Facts) -> Iterator[Finding]:
    """Messages are objects whose content is a text or a list of blocks."""
    for place, message in enumerate(listed(request.get("messages"))):
        content = mapped(message).get("content")
        blocks = listed(content)
        if not isinstance(message, dict) or not (content is None or isinstance(content, str | list)):
            text = f"messages.{place}: Input does not match the expected shape."
            yield "messages.anthropic.messages.shape", ("messages", place), text
        for number, block in enumerate(blocks):
            if not isinstance(block, dict):
                text = f"messages.{place}.content.{number}: Input does not match the expected shape."
                yield "messages.anthropic.messages.shape", ("messages", place, "content", number), text


def pairing(conversation: Conversation, _: Request, __: Facts) -> Iterator[Finding]:
    """Calls and results of neighbouring turns, one to one."""
    earlier: set[str] = set()
    for number, turn in enumerate(conversation):
        before = conversation[number - 1] if number else None
        after = conversation[number + 1] if number + 1 < len(conversation) else None
        if turn.role == "assistant":
            yield from _answered(turn, after)
            earlier |= {ident(block.get("id")) for _, block in turn.of("tool_use")}
        elif turn.role == "user":
            expected = (
                {ident(block.get("id")) for _, block in before.of("tool_use")}
                if before and before.role == "assistant"
                else set()
            )
            yield from _belonging(turn, expected, earlier)


def _answered(turn: Turn, after: Turn | None) -> Iterator[Finding]:
    results = (
        {ident(block.get("tool_use_id")) for _, block in after.of("tool_result")} if after and after.role == "user" else set()
    )
    seen: set[str] = set()
    for path, block in turn.of("tool_use"):
        name = ident(block.get("id"))
        if name in seen:
            yield (
                "messages.anthropic.tool_use.duplicate_id",
                (*path, "id"),
                f"tool_use ids must be unique; {shown(name)} occurs twice",
            )
        elif name not in results:
            text = f"{'.'.join(map(str, path[:2]))}: tool_use ids without tool_result blocks immediately after: {shown(name)}"
            yield "messages.anthropic.tool_use.unanswered", path, text
        seen.add(name)


def _belonging(turn: Turn, expected: set[str], earlier: set[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    other = False
    for path, block in turn.blocks:
        if block.get("type") != "tool_result":
            other = True
            continue
        name = ident(block.get("tool_use_id"))
        place = ".".join(map(str, path))
        if name not in expected:
            kind = "stale" if name in earlier else "orphan"
            yield (
                f"messages.anthropic.tool_result.{kind}",
                path,
                f"{place}: unexpected tool_use_id in tool_result blocks: {shown(name)}",
            )
        elif name in seen:
            text = f"{place}: more than one tool_result for id {shown(name)}; each tool_use takes a single result"
            yield "messages.anthropic.tool_result.duplicate", path, text
        if other:
            yield (
                "messages.anthropic.tool_result.not_first",
                path,
                f"{place}: tool_result blocks must come before other content",
            )
        seen.add(name)


def texts(conversation: Conversation, request: Request, _: Facts) -> Iterator[Finding]:
    """Empty contents, empty texts, and texts of nothing but whitespace."""
    messages = listed(request.get("messages"))
    for place, message in objects(messages):
        content = message.get("content")
        final = place == len(messages) - 1 and message.get("role") == "assistant"
        if content in ("", [], None) and not final:
            yield (
                "messages.anthropic.content.empty",
                ("messages", place, "content"),
                f"messages.{place}: content must not be empty",
            )
    named = [("system", ("system", place), block) for place, block in objects(request.get("system"))]
    for role, path, block in [*((turn.role, *one) for turn in conversation for one in turn.blocks), *named]:
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            continue
        if text == "" and isinstance(path[-1], int):
            yield "messages.anthropic.text.empty", (*path, "text"), "messages: text content blocks must be non-empty"
        elif text and role != "assistant" and not text.strip():
            # Blanks that the model itself wrote were recorded to be taken back.
            yield (
                "messages.anthropic.text.whitespace_only",
                path,
                "messages: text content blocks must contain non-whitespace text",
            )


def calls(conversation: Conversation, __: Request, _: Facts) -> Iterator[Finding]:
    """The shape of tool_use blocks."""
    for turn in conversation:
        for path, block in turn.of("tool_use"):
            place = ".".join(map(str, path))
            if not fits(ID_PATTERN, block.get("id")):
                yield "messages.anthropic.tool_use.id_pattern", (*path, "id"), f"{place}.id: must match ^[a-zA-Z0-9_-]+$"
            if not isinstance(block.get("name"), str) or not block["name"]:
                text = f"{place}.name: String should have at least 1 character"
                yield "messages.anthropic.tool_use.name_missing", (*path, "name"), text
            elif not fits(NAME_PATTERN, block["name"]):
                yield (
                    "messages.anthropic.tool_use.name_pattern",
                    (*path, "name"),
                    f"{place}.name: must match ^[a-zA-Z0-9_-]{{1,128}}$",
                )
        for path, block in (*turn.of("tool_use"), *turn.of("server_tool_use")):
            if not isinstance(block.get("input"), dict):
                text = f"{'.'.join(map(str, path))}.input: must be an object"
                yield "messages.anthropic.tool_use.input_type", (*path, "input"), text


def roles(conversation: Conversation, request: Request, _: Facts) -> Iterator[Finding]:
    """Who may speak where: roles, and system messages between the turns."""
    model = model_of(request)
    if not listed(request.get("messages")):
        yield "messages.anthropic.messages.required", ("messages",), "messages: at least one message is required"
    for number, turn in enumerate(conversation):
        place = turn.blocks[0][0][:2] if turn.blocks else ("messages",)
        if turn.role == "system":
            if "system message" in model.refuses:
                text = "messages: role 'system' is not supported on this model"
                yield "messages.anthropic.messages.system_role_old_model", place, text
            elif number and next(conversation[number - 1].of("tool_use"), None):
                yield (
                    "messages.anthropic.messages.system_role_position",
                    place,
                    "messages: system message must follow a user turn",
                )
        elif turn.role not in ("user", "assistant"):
            yield (
                "messages.anthropic.messages.role",
                place,
                f"messages: unexpected role {shown(turn.role)!r}; allowed: user, assistant",
            )


def last_word(conversation: Conversation, request: Request, facts: Facts) -> Iterator[Finding]:
    """A conversation that ends with the assistant's own text, which it shall go on with."""
    if not conversation or conversation[-1].role != "assistant":
        return
    turn = conversation[-1]
    text = "".join(ident(block.get("text", "")) for _, block in turn.of("text"))
    # A paused turn is continued by sending it back as it is; only the server's own blocks show it.
    if text in facts.paused or any(block.get("type") not in PLAIN for _, block in turn.blocks):
        return
    path = turn.blocks[-1][0] if turn.blocks else ("messages",)
    if "prefill" in model_of(request).refuses:
        message = "This model does not support assistant message prefill; the conversation must end with a user message"
        yield "messages.anthropic.assistant.prefill_unsupported", path, message
    elif text != text.rstrip():
        message = "messages: final assistant content cannot end with trailing whitespace"
        yield "messages.anthropic.assistant.trailing_whitespace", path, message


def thinking_blocks(conversation: Conversation, request: Request, facts: Facts) -> Iterator[Finding]:
    """Thinking in the history: shape, signature, place."""
    manual = mapped(request.get("thinking")).get("type") == "enabled"
    for _number, turn in enumerate(conversation):
        for path, block in turn.of("thinking"):
            if not isinstance(block.get("thinking"), str) or not isinstance(block.get("signature"), str):
                text = f"{'.'.join(map(str, path))}: a thinking block needs thinking and signature"
                yield "messages.anthropic.thinking.shape", path, text
            elif facts.signatures is not None and block["signature"] not in facts.signatures:
                text = f"{'.'.join(map(str, path))}: invalid signature in thinking block"
                yield "messages.anthropic.thinking.signature_invalid", (*path, "signature"), text
    begun = _begun(conversation)
    if manual and begun is not None and begun.blocks:
        path, first = begun.blocks[0]
        if first.get("type") not in THINKING:
            text = f"{'.'.join(map(str, path))}.type: expected thinking or redacted_thinking, found {shown(first.get('type'))}"
            yield "messages.anthropic.thinking.missing_in_tool_turn", path, text


def _begun(conversation: Conversation) -> Turn | None:
    """The first reply of the tool loop that goes on: it begins with thinking, those after results need not."""
    if not conversation or next(conversation[-1].of("tool_result"), None) is None:
        return None
    asked = [
        number for number, turn in enumerate(conversation) if turn.role == "user" and next(turn.of("tool_result"), None) is None
    ]
    first = asked[-1] + 1 if asked else 0
    return next((turn for turn in conversation[first:] if turn.role == "assistant"), None)


def bound_thinking(request: Request, facts: Facts) -> Iterator[Finding]:
    """Thinking of a model that binds it goes back behind what it was made after, unchanged, or not at all."""
    binding = mapped(mapped(request.get("thinking")).get("block_binding"))
    if facts.prefixes is None or "changed prefix" not in model_of(request).refuses:
        return
    if binding.get("prefix_mismatch_behavior") == "drop_block":
        return
    before = list(prefixes(request))
    for place, message in objects(request.get("messages")):
        for number, block in objects(message.get("content")):
            known = facts.prefixes.get(ident(block.get("signature"))) if block.get("type") == "thinking" else None
            if known is not None and before[place] not in known:
                text = f"messages.{place}.content.{number}: thinking block does not match the conversation before it"
                yield "messages.anthropic.thinking.prefix_changed", ("messages", place, "content", number), text


def server_tools(conversation: Conversation, __: Request, _: Facts) -> Iterator[Finding]:
    """A server tool's use and its result stay together in one assistant turn.

    Recorded: beside a call of the client's own, the server's may still be running. Results are
    counted, not named, for they too were recorded with other ids.
    """
    for turn in conversation[:-1]:
        used = list(turn.of("server_tool_use"))
        answered = sum(1 for _, block in turn.blocks if ident(block.get("type")).endswith("_tool_result"))
        if len(used) > answered and next(turn.of("tool_use"), None) is None:
            path, block = used[answered]
            text = f"tool use with id {shown(block.get('id'))} found without a corresponding tool result block"
            yield "messages.anthropic.server_tool.pairing", path, f"{'.'.join(map(str, path[:2]))}: {text}"


def by_turns(request: Request, facts: Facts) -> Iterator[Finding]:
    """Everything that is judged by turns; they are made once."""
    conversation = turns(request)
    for judge in (roles, pairing, texts, calls, last_word, thinking_blocks, server_tools):
        yield from judge(conversation, request, facts)


CHECKS: Final = (shapes, by_turns, bound_thinking)
