"""Asking a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from geode.domain.approval import Decision, Question


class Approver(Protocol):
    """`decide` answers every call of the question, by call id; a call left out counts as `Later`.

    geode asks one question at a time of one approver. An approver that raises denies the calls of its question.
    """

    async def decide(self, question: Question) -> Mapping[str, Decision]: ...
