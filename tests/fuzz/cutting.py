"""Conversations that are compacted at every place where they may be cut: what is left is whole, and every server takes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from returns.result import Failure

from geode.domain.compaction import INSTRUCTION, cut_points, shortened
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse
from geode.domain.loop.compacting import compaction_problem
from geode.domain.negotiation import negotiate
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn
from tests.fuzz.encoding import wrong
from tests.fuzz.requests import NAME, Adapter, requests

BATCH = 10


def batch(adapter: Adapter, number: int, *, examples: int = BATCH) -> Counter[str]:
    """`examples` conversations with a place to cut, at all their places. AssertionError with the smallest that breaks."""
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(requests(adapter))
    def each(request: AdapterCallRequest) -> None:
        cuts = cut_points(request.turns)
        if not cuts or negotiate(NAME, request, adapter.able).value_or(None) is None:
            reject()
        assert cuts == tuple(_places(request.turns)), "a place to cut is one that parts nothing, and each of them is one"
        for cut in cuts:
            found = list(_broken(adapter, request, cut))
            assert found == [], f"{adapter.name}, cut at {cut}: {'; '.join(found)}"
        seen.update({f"{adapter.name}: conversations": 1, f"{adapter.name}: cuts": len(cuts)})

    each()
    return seen


def _places(turns: tuple[Turn, ...]) -> Iterator[int]:
    """Told anew: before somebody begins to speak, and before the model goes on after results."""
    for place, (before, turn) in enumerate(pairwise(turns), 1):
        begins = isinstance(turn, UserTurn) and _says(turn) and not isinstance(before, UserTurn)
        if begins or (isinstance(turn, AssistantTurn) and isinstance(before, ToolResultsTurn)):
            yield place


def _says(turn: UserTurn) -> bool:
    """Whether anything of it is sent."""
    return any(not isinstance(part, Text) or part.text.strip() for part in turn.items) or any(map(str.strip, turn.hints))


def _broken(adapter: Adapter, request: AdapterCallRequest, cut: int) -> Iterator[str]:
    """What speaks against the conversation that is compacted there, and against the request for its summary."""
    before = request.conversation
    try:
        after = shortened(before, cut, "What was before.")
        asked = Conversation(before.turns[:cut]).grown(UserTurn((Text(INSTRUCTION),)))
    except Misuse as error:
        yield f"the laws are broken: {error}"
        return
    kept = before.turns[cut:]
    if after.turns[-len(kept) :] != kept:
        yield "something after the cut is lost"
    prompts = [turn for turn in before.turns if isinstance(turn, UserTurn) and _says(UserTurn(turn.items))]
    if prompts and prompts[-1] not in after.turns:
        yield "the last prompt is lost"
    if len(after.turns) > len(kept) + 2:
        yield "something before the cut is left"
    if problem := compaction_problem(before, after):
        yield f"a run could not go on with it: {problem}"
    for conversation in (after, asked):
        agreed = negotiate(NAME, replace(request, conversation=conversation), adapter.able)
        # A budget of thinking wants the thinking of a round that may stand before the cut.
        if isinstance(agreed, Failure):
            agreed = negotiate(NAME, replace(request, conversation=conversation, thinking=None), adapter.able)
        if agreed.value_or(None) is None:
            yield f"it cannot leave: {agreed.failure()}"
        else:
            yield from wrong(adapter, agreed.unwrap().request)
