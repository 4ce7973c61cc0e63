"""Assertions that explain themselves in the shared classes too."""

import pytest

for _name in ("wire_contract", "wire_fault_contract", "http_contract"):
    pytest.register_assert_rewrite(f"tests.contract.{_name}")
