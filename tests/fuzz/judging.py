"""What must hold of whatever an answer was read to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

import httpx2
from returns.result import Result, Success

from geode.adapters.http_json.answer import read_answer
from geode.domain.codec import dumps, loads
from geode.domain.content import Opaque, Owner, Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.failures import CallFailure, FailureClass, classify_retry_error
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Transcript, UserTurn
from geode.entrypoints.emulator import check, laws
from tests.fuzz.corpus import Spoken

ME: Final = Owner("lab", "model-1")
_TOOLS: Final = (ToolSpec("read", "Read a file.", {"type": "object", "properties": {}}),)
_GO: Final = UserTurn((Text("go"),))
# More tokens than any model will ever count.
_COUNTABLE: Final = 2**63

Outcome = Result[AdapterCallResult, CallFailure]


def answer(spoken: Spoken, status: int, chunks: Iterable[bytes], *, streamed: bool) -> Outcome:
    """The answer, read as calls read it."""
    response = httpx2.Response(status, headers={"request-id": "req_1"})
    return read_answer(spoken.wire, response, chunks, ME, streamed=streamed)


def word(outcome: Outcome) -> str:
    """What it came to, for counting."""
    if isinstance(outcome, Success):
        return f"reply: {outcome.unwrap().stop.value}"
    return f"failure: {classify_retry_error(outcome.swap().unwrap()).value}"


def wrong(spoken: Spoken, outcome: Outcome) -> list[str]:
    """What is wrong with it: nothing, if all is well."""
    if isinstance(outcome, Success):
        reply = outcome.unwrap()
        found = list(_reply(reply))
        return found or list(_again(spoken, reply))
    return list(_failure(outcome.swap().unwrap()))


def _failure(failure: CallFailure) -> Iterator[str]:
    if not isinstance(classify_retry_error(failure), FailureClass):
        yield "the failure has no class"
    if not failure.message.strip():
        yield "the failure says nothing"
    yield from _stored("failure", (failure.message, failure.error_type, failure.error_code, failure.request_id))
    if len(failure.message) > 5_000:
        yield f"the message has {len(failure.message)} characters"


def _reply(reply: AdapterCallResult) -> Iterator[str]:
    stop: object = reply.stop
    if not isinstance(stop, Stop):
        yield "no stop"
    usage = reply.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens)
    if not all(type(count) is int and 0 <= count < _COUNTABLE for count in counts):
        yield f"odd counts {counts}"
    if usage.cost_usd is not None and not usage.cost_usd.is_finite():
        yield f"odd cost {usage.cost_usd}"
    yield from _stored("stop word, route", (reply.stop_word, reply.route, reply.text))
    yield from _stored("refusal", (_json(reply.refusal),))
    for item in reply.items:
        match item:
            case Text(text=text):
                yield from _stored("text", (text,))
            case ToolUseBlock():
                yield from _stored("call", (item.id, item.name, item.unparsed or "", _json(item.input)))
                if not isinstance(item.input, dict):
                    yield f"the input is {type(item.input)}"
            case Opaque():
                yield from _stored("opaque item", (item.kind, item.json_text))
                json.loads(item.json_text, parse_constant=_refuse)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _stored(what: str, texts: Iterable[Any]) -> Iterator[str]:
    """Texts that are texts, and that any file or socket takes."""
    for text in texts:
        if not isinstance(text, str):
            yield f"{what}: {type(text)} instead of text"
        elif not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                yield f"{what}: {error}"


def following(reply: AdapterCallResult) -> Conversation:
    """The conversation in which the reply was answered, as a loop has it that broke off before its calls ran."""
    return Conversation.repaired([_GO, AssistantTurn(reply.items, ME), UserTurn((Text("and?"),))])


def next_request(spoken: Spoken, conversation: Conversation) -> bytes:
    return spoken.wire.encode(AdapterCallRequest(ME.model, conversation, tools=_TOOLS, limits=Limits(64)), ME)


def _again(spoken: Spoken, reply: AdapterCallResult) -> Iterator[str]:
    """The next request holds the reply: it is stored, read again, written, and judged by the rules of the server."""
    conversation = following(reply)
    if loads(Transcript, dumps(Transcript(conversation.turns))).turns != conversation.turns:
        yield "it does not come back from its store"
    body = json.loads(next_request(spoken, conversation), parse_constant=_refuse)
    for found in (*check(spoken.protocol, body, spoken.dialect), *laws(spoken.protocol, body)):
        # An id goes back to the server that made it as it is, whatever it begins with.
        if found.rule != "responses.openai.item.id_prefix":
            yield f"{found.rule} at {found.at}: {found.message[:200]}"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
