"""The harnesses of the adapters that ship.

They declare what the adapters declare, and the contracts ask it both ways; the facts beside that come from the
specification.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from geode.adapters.clock_manual import ManualClock
from geode.adapters.clock_system import SystemClock
from geode.adapters.conversations_file import FileConversations
from geode.adapters.conversations_memory import MemoryConversations
from geode.adapters.conversations_sqlite import SqliteConversations
from geode.adapters.images_pillow import PillowImages
from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.results_file import FileResults
from geode.adapters.results_memory import MemoryResults
from geode.adapters.results_objects import ObjectResults
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.adapters.scripted.model import ScriptedModel
from geode.adapters.tokens_tiktoken import TiktokenCounter
from geode.domain.approval import Approve, Deny, Later
from geode.domain.content import ToolUseBlock
from geode.domain.request import Capabilities
from geode.domain.script import Step
from geode.domain.targets import DialectName
from geode.entrypoints.approvers import ApproveAll, ApproveNamed, AskAboutOthers, AskEach, InTurn
from geode.entrypoints.compliance.approval import ApproverHarness
from geode.entrypoints.compliance.clock import ClockHarness
from geode.entrypoints.compliance.conversations import ConversationStoreHarness
from geode.entrypoints.compliance.harness import ModelHarness
from geode.entrypoints.compliance.images import ImageResizerHarness
from geode.entrypoints.compliance.journal import JournalStoreHarness
from geode.entrypoints.compliance.playing import Playing
from geode.entrypoints.compliance.results import DurableResultStoreHarness, ResultStoreHarness
from geode.entrypoints.compliance.schema import SchemaHarness
from geode.entrypoints.compliance.tokens import TokenCounterHarness
from geode.entrypoints.compliance.wire_harness import WireHarness
from geode.entrypoints.emulator import Dialect
from geode.entrypoints.routes.capabilities import capabilities_of


class ShippedHarness(WireHarness):
    """`auto_only` are models that take no forced choice. `parallel`: parallel calls are asked for. `calls_need_tools`:
    a history with calls goes out with their tools although none are given."""

    auto_only: ClassVar[tuple[str, ...]] = ()
    parallel: ClassVar[bool] = False
    calls_need_tools: ClassVar[bool] = False


class MessagesHarness(ShippedHarness):
    wire, spoken, model = "messages", "anthropic", "claude-opus-5"
    stands_for: ClassVar[str] = "anthropic-payg"
    capabilities = capabilities_of("messages")
    auto_only = ("claude-opus-5-5", "claude-fable-5-1", "claude-mythos-5-1")
    calls_need_tools = True


class ResponsesHarness(ShippedHarness):
    """Servers of one's own."""

    wire, model = "responses", "gpt-4.1"
    spoken: ClassVar[Dialect] = "openai"
    dialect: ClassVar[DialectName] = "generic"
    capabilities = capabilities_of("responses", "generic")
    reasoner = "gpt-5.2"
    parallel = True


class ResponsesOpenaiHarness(ResponsesHarness):
    """OpenAI's own, which keeps the beginning of requests by a key."""

    dialect, stands_for = "openai", "openai-payg"
    capabilities = capabilities_of("responses", "openai")


class ChatHarness(ShippedHarness):
    """Servers of one's own."""

    wire, model = "chat", "local-model"
    spoken: ClassVar[Dialect] = "generic"
    dialect: ClassVar[DialectName] = "generic"
    capabilities = capabilities_of("chat", "generic")


class ChatOpenaiHarness(ChatHarness):
    spoken, dialect, model = "openai", "openai", "gpt-4.1"
    capabilities = capabilities_of("chat", "openai")
    reasoner = "gpt-5.2"


class ChatOpenrouterHarness(ChatHarness):
    spoken, dialect, model = "openrouter", "openrouter", "mistralai/mistral-large"
    stands_for = "openrouter-payg"
    capabilities = capabilities_of("chat", "openrouter")
    calls_need_tools = True


class ChatGlmHarness(ChatHarness):
    spoken, dialect, model = "glm", "glm", "glm-5.2"
    stands_for: ClassVar[str] = "glm-payg"
    capabilities = capabilities_of("chat", "glm")


class _Model(ScriptedModel):
    """How much of the script is played is what the tests ask; it is no fault by itself."""

    def finish(self) -> None:
        """Nothing is checked."""


class ScriptedHarness(ModelHarness):
    """The scripted model sends nothing: a request counts, and has no bytes."""

    capabilities = Capabilities(response_schema=True)
    model = "scripted"
    streams = True
    thinks = True

    @asynccontextmanager
    async def playing(self, *script: Step, pace_seconds: float = 0.0) -> AsyncIterator[Playing]:
        model = _Model(*script)
        yield Playing(model, self.model, lambda: [b""] * len(model.requests))


# ---- the other ports -----------------------------------------------------------------------------


class SystemClockHarness(ClockHarness):
    def clock(self) -> SystemClock:
        return SystemClock()


class ManualClockHarness(ClockHarness):
    def clock(self) -> ManualClock:
        return ManualClock()


class JsonschemaHarness(SchemaHarness):
    def validator(self) -> JsonschemaValidator:
        return JsonschemaValidator()


class PillowImagesHarness(ImageResizerHarness):
    """Needs the extra `images`."""

    def resizer(self) -> PillowImages:
        return PillowImages()


class MemoryJournalHarness(JournalStoreHarness):
    def __init__(self) -> None:
        self._one = MemoryJournal()

    def journal(self) -> MemoryJournal:
        return self._one


class FileJournalHarness(JournalStoreHarness):
    def __init__(self) -> None:
        self._folder = _folder_of(self)

    def journal(self) -> FileJournal:
        return FileJournal(self._folder, fsync="never")


class MemoryConversationsHarness(ConversationStoreHarness):
    def __init__(self) -> None:
        self._one = MemoryConversations()

    def store(self) -> MemoryConversations:
        return self._one

    async def put_text(self, id: str, text: str) -> None:
        self._one.texts[id] = text


class FileConversationsHarness(ConversationStoreHarness):
    def __init__(self) -> None:
        self._folder = _folder_of(self)

    def store(self) -> FileConversations:
        return FileConversations(self._folder)

    async def put_text(self, id: str, text: str) -> None:
        path = self._folder / f"{id}.json"
        path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "conversation": json.loads(text)}), "utf-8")


class SqliteConversationsHarness(ConversationStoreHarness):
    def __init__(self) -> None:
        self._path = _folder_of(self) / "chats.db"

    def store(self) -> SqliteConversations:
        return SqliteConversations(self._path)

    async def put_text(self, id: str, text: str) -> None:
        with contextlib.closing(sqlite3.connect(self._path)) as database:
            database.execute("UPDATE conversations SET text = ? WHERE id = ?", (text, id))
            database.commit()


class MemoryResultsHarness(ResultStoreHarness):
    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        self._one = MemoryResults(max_bytes=max_bytes, now=now)

    def store(self) -> MemoryResults:
        return self._one

    async def things(self) -> int:
        return len(self._one.ref_ids)


class FileResultsHarness(DurableResultStoreHarness):
    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        self._folder, self._max_bytes, self._now = _folder_of(self), max_bytes, now

    def store(self) -> FileResults:
        return FileResults(self._folder, max_bytes=self._max_bytes, now=self._now)

    async def things(self) -> int:
        return len(list(self._folder.glob("*"))) if self._folder.exists() else 0

    async def damage(self, ref_id: str) -> None:
        path = self._folder / f"{ref_id}.text"
        path.write_bytes(path.read_bytes()[:-1])


class ObjectResultsHarness(DurableResultStoreHarness):
    """A bucket in memory; needs the extra `objects`."""

    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        self._max_bytes, self._now = max_bytes, now
        self._bucket = self.bucket()

    def bucket(self) -> Any:
        """A store of obstore's."""
        from obstore.store import MemoryStore

        return MemoryStore()

    def store(self) -> ObjectResults:
        return ObjectResults(self._bucket, max_bytes=self._max_bytes, now=self._now)

    async def things(self) -> int:
        return sum([len(batch) async for batch in self._bucket.list()])

    async def damage(self, ref_id: str) -> None:
        path = f"geode-results/{ref_id}.text"
        data = bytes(await (await self._bucket.get_async(path)).bytes_async())
        await self._bucket.put_async(path, data[:-1])


class TiktokenHarness(TokenCounterHarness):
    """A table of a few tokens, made here: those that are in use are fetched from the network. Needs the extra `tiktoken`."""

    def counter(self) -> TiktokenCounter:
        import tiktoken

        single = [bytes((number,)) for number in range(256)]
        ranks = {token: rank for rank, token in enumerate([*single, b"th", b"he", b"the", b" the", b"  ", b"aa", b"aaaa"])}
        pattern = r"\s?\w+|\s+|[^\s\w]+"
        return TiktokenCounter(tiktoken.Encoding("tiny", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<s>": 999}))


def _folder_of(harness: object) -> Path:
    """A folder that lives as long as the harness."""
    path = tempfile.mkdtemp()
    weakref.finalize(harness, shutil.rmtree, path, ignore_errors=True)
    return Path(path) / "kept"


class ApproveAllHarness(ApproverHarness):
    def approver(self) -> ApproveAll:
        return ApproveAll()


class ApproveNamedHarness(ApproverHarness):
    """Denies what the contract asks about, but for one tool."""

    def approver(self) -> ApproveNamed:
        return ApproveNamed(["remove"])


class AskAboutOthersHarness(ApproverHarness):
    """Knows one tool, and has all others allowed."""

    def approver(self) -> AskAboutOthers:
        return AskAboutOthers(["remove"], ApproveAll())


class AskEachHarness(ApproverHarness):
    """A function that answers in turn with all that can be answered."""

    def approver(self) -> AskEach:
        async def answer(call: ToolUseBlock) -> Approve | Deny | Later:
            return (Later(), Approve(), Deny("no"))[call.input["number"] % 3]

        return AskEach(answer)


class InTurnHarness(ApproverHarness):
    def approver(self) -> InTurn:
        return InTurn(ApproveAll(), "somebody")
