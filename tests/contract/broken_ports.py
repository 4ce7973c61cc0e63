"""Implementations of the other ports broken on purpose, each in one way, and the tests that have to notice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Final

from geode.adapters.clock_manual import ManualClock
from geode.adapters.clock_system import SystemClock
from geode.adapters.conversations_memory import MemoryConversations
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.results_memory import MemoryResults
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.compliance import (
    ApproverHarness,
    ClockHarness,
    ImageResizerHarness,
    JournalHarness,
    SchemaHarness,
    TokenCounterHarness,
    ToolHarness,
)
from geode.domain.approval import Approve, Decision, Question
from geode.domain.content import Image
from geode.domain.conversation import Conversation
from geode.domain.loop.inputs import Input
from geode.domain.loop.recording import Recording
from geode.domain.loop.state import State
from geode.domain.tokens import CountTokens
from geode.entrypoints.compliance.shipped import MemoryConversationsHarness, MemoryJournalHarness, MemoryResultsHarness
from geode.ports import Tool, ToolSpec
from geode.ports.results import Origin, Piece
from geode.ports.schema import Check
from tests.contract.broken_credentials import BROKEN_CREDENTIALS
from tests.contract.broken_sources import BROKEN_SOURCES


class AnswersEverything(ApproverHarness):
    """It answers for calls that nobody asked about."""

    def approver(self) -> Any:
        class Approver:
            async def decide(self, question: Question) -> Mapping[str, Decision]:
                return {f"call_{number}": Approve() for number in range(9)}

        return Approver()


class AnswersYes(ApproverHarness):
    def approver(self) -> Any:
        class Approver:
            async def decide(self, question: Question) -> Mapping[str, Any]:
                return {asked.call.id: "yes" for asked in question.calls}

        return Approver()


class GoesBack(ClockHarness):
    def clock(self) -> SystemClock:
        class Clock(SystemClock):
            def now(self) -> float:
                return -super().now()

        return Clock()


class HoldsTheLoop(ClockHarness):
    def clock(self) -> ManualClock:
        class Clock(ManualClock):
            async def sleep(self, seconds: float) -> None:
                _hold(min(seconds, 0.02))
                self.advance(seconds)

        return Clock()


def _hold(seconds: float) -> None:
    time.sleep(seconds)


class SleepsOn(ClockHarness):
    """Who is cancelled wakes up as if nothing had been."""

    def clock(self) -> SystemClock:
        class Clock(SystemClock):
            async def sleep(self, seconds: float) -> None:
                try:
                    await super().sleep(seconds)
                except asyncio.CancelledError:
                    return

        return Clock()


class _Validator(JsonschemaValidator):
    def compile(self, schema: Mapping[str, Any]) -> Check:
        check = super().compile(schema)
        return lambda value: self.told(check(value))

    def told(self, errors: tuple[str, ...]) -> tuple[str, ...]:
        raise NotImplementedError


class FirstErrorOnly(SchemaHarness):
    def validator(self) -> JsonschemaValidator:
        class Validator(_Validator):
            def told(self, errors: tuple[str, ...]) -> tuple[str, ...]:
                return errors[:1]

        return Validator()


class NoPlaces(SchemaHarness):
    def validator(self) -> JsonschemaValidator:
        class Validator(_Validator):
            def told(self, errors: tuple[str, ...]) -> tuple[str, ...]:
                return tuple(error.partition(": ")[2] for error in errors)

        return Validator()


class PassesWhatItCannotCheck(SchemaHarness):
    def validator(self) -> JsonschemaValidator:
        class Validator(_Validator):
            def told(self, errors: tuple[str, ...]) -> tuple[str, ...]:
                return tuple(error for error in errors if "could not be checked" not in error)

        return Validator()


class TakesAnySchema(SchemaHarness):
    def validator(self) -> Any:
        class Validator:
            def compile(self, schema: Mapping[str, Any]) -> Check:
                try:
                    return JsonschemaValidator().compile(schema)
                except ValueError:
                    return lambda _: ()

        return Validator()


class LosesAnInput(MemoryJournalHarness):
    def __init__(self) -> None:
        class Journal(MemoryJournal):
            def happened(self, before: State, input: Input) -> None:
                inputs = self.inputs[before.terms.run_id]
                super().happened(before, inputs[-1] if len(inputs) == 2 else input)

        self._one = Journal()


class MixesRuns(JournalHarness):
    """It keeps one run at a time."""

    def journal(self) -> MemoryJournal:
        class Journal(MemoryJournal):
            def began(self, state: State) -> None:
                self.inputs = {run_id: [] for run_id in self.inputs}
                super().began(state)

        return Journal()

    def read(self, journal: Any, run_id: str) -> tuple[State, list[Input]]:
        return journal.states[run_id], journal.inputs[run_id]


class LendsTwice(MemoryJournalHarness):
    """Whoever asks may go on with a run."""

    def __init__(self) -> None:
        class Journal(MemoryJournal):
            def taken(self, run_id: str) -> Recording:
                return self.recorded(run_id)

        self._one = Journal()


class SavesOver(MemoryConversationsHarness):
    """It never looks at the version."""

    def __init__(self) -> None:
        class Store(MemoryConversations):
            async def save(self, id: str, conversation: Conversation, version: int = 0) -> int:
                row = self._rows.get(id)
                return await super().save(id, conversation, 0 if row is None else row.version)

        self._one = Store()


class CountsBytes(MemoryResultsHarness):
    """It cuts where the bytes are, not the characters."""

    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        class Store(MemoryResults):
            async def read(self, ref_id: str, offset: int = 0, limit: int | None = None) -> Piece:
                whole = await super().read(ref_id)
                await super().read(ref_id, offset, limit)
                data = whole.text.encode()[offset : None if limit is None else offset + limit]
                return Piece(data.decode("utf-8", "replace"), min(offset, whole.characters), whole.characters)

        self._one = Store(max_bytes=max_bytes, now=now)


class KeepsForEver(MemoryResultsHarness):
    """It has no clock."""

    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        self._one = MemoryResults(max_bytes=max_bytes, now=lambda: 0.0)


class PutsOver(MemoryResultsHarness):
    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        class Store(MemoryResults):
            async def put(self, ref_id: str, text: str, origin: Origin, expires_at: float | None = None) -> None:
                await self.delete((ref_id,))
                await super().put(ref_id, text, origin, expires_at)

        self._one = Store(max_bytes=max_bytes, now=now)


class TakesAnyName(MemoryResultsHarness):
    """What it is asked to delete is believed."""

    def __init__(self, max_bytes: int, now: Callable[[], float]) -> None:
        class Store(MemoryResults):
            async def delete(self, ref_ids: Collection[str]) -> None:
                for ref_id in ref_ids:
                    self._kept.pop(ref_id, None)

        self._one = Store(max_bytes=max_bytes, now=now)


class CountsWords(TokenCounterHarness):
    """What has no spaces has no tokens."""

    def counter(self) -> CountTokens:
        return lambda text: len(text.split())


class Undescribed(ToolHarness):
    def tool(self) -> Tool:
        return Tool(ToolSpec("double", "", {"type": "object", "properties": {}}), _safe(), lambda _, __: 2)

    def arguments(self) -> Mapping[str, Any]:
        return {}


class RaisesNothing(Undescribed):
    """It says in words that it failed, as if that were a result."""

    fails_with: ClassVar[Mapping[str, Any] | None] = {"n": 0}

    def tool(self) -> Tool:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        return Tool(ToolSpec("half", "Half of it.", schema), _safe(), lambda given, _: "error" if "n" in given else "fine")


def _safe() -> Any:
    from geode import SafetyTier

    return SafetyTier.SAFE


# Each harness with the tests that have to notice, without the `test_` before their names.
class ResizesNothing(ImageResizerHarness):
    def resizer(self) -> Any:
        class Resizer:
            def fitted(self, image: Image, *, max_bytes: int, max_side: int) -> Image:
                return image

        return Resizer()


BROKEN_PORTS: Final[Mapping[type[Any], frozenset[str]]] = {
    AnswersEverything: frozenset(
        {
            "answers_are_decisions_by_call_id",
            "nothing_asked_nothing_answered",
            "one_question_after_another",
            "sessions_that_ask_at_the_same_time_get_their_own_answers",
        }
    ),
    AnswersYes: frozenset({"answers_are_decisions_by_call_id"}),
    GoesBack: frozenset({"time_never_goes_back", "sleeping_takes_as_long_as_it_says"}),
    HoldsTheLoop: frozenset({"others_go_on_meanwhile"}),
    SleepsOn: frozenset({"cancelling_passes_through"}),
    FirstErrorOnly: frozenset({"every_error_has_its_place"}),
    NoPlaces: frozenset({"every_error_has_its_place"}),
    PassesWhatItCannotCheck: frozenset({"hostile_schemas_and_arguments_neither_hang_nor_pass_nor_fill_the_memory"}),
    TakesAnySchema: frozenset(
        {
            "a_schema_that_is_none_is_a_value_error_that_says_where",
            "hostile_schemas_and_arguments_neither_hang_nor_pass_nor_fill_the_memory",
        }
    ),
    LosesAnInput: frozenset(
        {
            "what_was_written_is_the_whole_run",
            "runs_at_the_same_time_are_kept_apart",
            "the_recording_can_be_replayed",
            "a_run_is_gone_on_with_by_another",
        }
    ),
    LendsTwice: frozenset({"one_at_a_time_has_a_run", "a_run_under_way_is_not_given_away"}),
    SavesOver: frozenset(
        {
            "a_second_writer_is_refused_with_both_versions",
            "a_new_one_has_version_0",
            "a_new_one_does_not_replace_an_old_one",
            "of_many_writers_at_once_one_wins",
            "a_branch_takes_no_ones_place",
        }
    ),
    CountsBytes: frozenset({"any_part_is_counted_in_characters"}),
    KeepsForEver: frozenset(
        {
            "when_its_time_is_over_it_cannot_be_read",
            "a_sweep_takes_what_is_over_and_nothing_else",
            "the_time_can_be_set_anew",
        }
    ),
    PutsOver: frozenset({"what_is_kept_is_never_changed"}),
    TakesAnyName: frozenset({"what_is_no_id_never_reaches_the_place"}),
    CountsWords: frozenset(
        {
            "it_counts_any_text_in_whole_numbers_and_every_time_alike",
            "more_text_has_more_tokens",
        }
    ),
    ResizesNothing: frozenset(
        {
            "sides_come_within_the_limit_in_their_proportions",
            "bytes_come_within_the_limit",
            "what_moves_stands_still",
            "broken_bytes_are_a_value_error",
            "a_bomb_is_not_opened",
            "what_cannot_be_that_small_is_a_value_error",
        }
    ),
    **BROKEN_CREDENTIALS,
    **BROKEN_SOURCES,
    MixesRuns: frozenset({"runs_at_the_same_time_are_kept_apart"}),
    Undescribed: frozenset({"it_is_described_for_any_provider"}),
    RaisesNothing: frozenset({"a_failure_is_a_failed_result"}),
}
