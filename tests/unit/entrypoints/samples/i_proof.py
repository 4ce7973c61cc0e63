from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from geode.compliance import CancellationContract, FaultContract, HttpHarness, ReplayContract, ToolChoiceContract
from tests.unit.entrypoints.samples.i import Acme


class AcmeHarness(HttpHarness):
    capabilities = Acme.capabilities

    def adapter(self, base_url: str) -> Acme:
        return Acme(httpx2.AsyncClient(base_url=base_url))

    def render(self, reply: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"say": reply["text"], "calls": reply["calls"], "in": 1, "out": 1}

    def view(self, body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        return list(body["log"])


class TestAcme(ToolChoiceContract, ReplayContract, FaultContract, CancellationContract):
    harness = AcmeHarness
