"""What the exit code of `geode` says: one number for each outcome, so that scripts can tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from geode.domain.loop.outcome import Outcome

NOT_ALL: Final = 1
WRONG_USE: Final = 2
UNWRITABLE: Final = 74
INTERRUPTED: Final = 130
READER_GONE: Final = 141
SERVER_FAILED: Final = 5

_BY_OUTCOME: Final[Mapping[str, int]] = {
    "Answered": 0,
    "Refused": 3,
    "Exhausted": 4,
    "Failed": 5,
    "Stopped": 6,
    "Suspended": 7,
}
EXIT_CODES: Final[Mapping[int, str]] = {
    0: "Answered: the model ended by itself",
    NOT_ALL: "geode demo: something was not as it must be; geode wire: a request was refused, or a line was none; "
    "geode runs replay: the run came to something else; geode config get: nothing sets it; geode models ID: it cannot be asked"
    "; geode tools, geode mcp: something is wrong with a tool, or a required server fails",
    WRONG_USE: "wrong use: the message on stderr says what and how to mend it",
    3: "Refused: the model declined",
    4: "Exhausted: a limit ended the run (--max-rounds, --time, …)",
    5: "Failed: the provider, or a required MCP server, failed; or the request or the key is refused",
    6: "Stopped: the run was ended by its caller",
    7: "Suspended: the run waits for a person's answer",
    UNWRITABLE: "a file or stdout cannot be read or written: a full disk, a closed stream, a damaged journal; see stderr",
    INTERRUPTED: "interrupted by Ctrl-C; the run was cancelled cleanly",
    READER_GONE: "the reader of stdout went away",
}


def exit_code(outcome: Outcome) -> int:
    """The code of `geode run` for the way its run ended."""
    return _BY_OUTCOME[type(outcome).__name__]
