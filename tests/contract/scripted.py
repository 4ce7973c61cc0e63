"""The harness of the scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from geode.adapters.scripted.model import ScriptedModel
from geode.domain.script import Step
from tests.contract.adapter_contract import Playing


class ScriptedHarness:
    @asynccontextmanager
    async def playing(self, *script: Step) -> AsyncIterator[Playing]:
        model = ScriptedModel(*script)
        yield Playing(model, "scripted", lambda: len(model.requests))
