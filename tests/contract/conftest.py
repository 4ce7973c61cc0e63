"""The shared classes assert too: pytest has to rewrite them as it does test files."""

import pytest

pytest.register_assert_rewrite("tests.contract.adapter_contract", "tests.contract.http_contract", "tests.contract.reading")
