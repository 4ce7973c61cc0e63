"""The adapter for the ChatGPT backend keeps the contract of every adapter, and of those over HTTP."""

from geode.entrypoints.compliance.shipped_servers import CodexOAuthHarness
from tests.contract.http_contract import HttpContract
from tests.contract.wire_contract import PausingContract


class TestCodexOAuth(HttpContract, PausingContract):
    harness = CodexOAuthHarness
