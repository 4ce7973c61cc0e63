"""Messages with a token keeps the contract of its wire."""

from geode.entrypoints.compliance.shipped_servers import AnthropicOAuthHarness
from tests.contract.wire_contract import WireContract


class TestAnthropicOAuth(WireContract):
    harness = AnthropicOAuthHarness
