"""Servers of the Model Context Protocol keep the contract of a source of tools, in both ways to reach them."""

from geode.compliance import ToolSourceContract
from geode.entrypoints.compliance.shipped_mcp import McpChildHarness, McpHttpHarness


class TestMcpChild(ToolSourceContract):
    harness = McpChildHarness


class TestMcpHttp(ToolSourceContract):
    harness = McpHttpHarness
