"""The suite that proves an adapter: what every implementation of a port has to keep, as classes of tests.

An author writes one harness (how the suite gets at the adapter, and how it reads what left) and inherits the
contract of the port. Three things judge what an adapter does: the neutral view of what left, a server that
refuses what real ones refuse (for the wires that geode knows), and the specification as data.

| file | what it holds |
|---|---|
| specification, histories | the data: spellings of the choice, replies, faults, conversations |
| harness, http_harness, wire_harness | how the suite gets at a model adapter; the last plays the emulator |
| server, servers | the loopback server of the suite's own, for any protocol; servers that answer exact bytes |
| view, reading | what a request says, from the neutral rows and from the three wires |
| tool_choice, replay, prompt, faults, facts, replies, streaming, cancellation, capabilities | one contract each |
| typed_answers | the contract of a run whose answer has to fit a schema |
| adapter | all of them |
| approval, clock, conversations, credentials, journal, schema, tools, tool_sources | the contracts of the other ports |
| shipped, shipped_credentials, shipped_mcp, registered | the harnesses of the adapters that ship, and those by entry point |

Nothing here is skipped: what an adapter declares has a test, and what it does not declare has the opposite
test, in which an unexpected success fails. The public names are in `geode.compliance`.
"""

from importlib.util import find_spec

# Without it pytest would skip every coroutine, or call it an unknown kind of test.
if find_spec("pytest_asyncio") is None:
    raise ImportError("the compliance suite needs the extra 'compliance': pip install 'geode[compliance]'")
