"""What observers and streams see."""

from geode.ports.events import (
    ApprovalAsked,
    CallDelta,
    Event,
    Finished,
    ModelCalled,
    ModelReplied,
    Notice,
    Observer,
    Retrying,
    RoundClosed,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
)

__all__ = [
    "ApprovalAsked",
    "CallDelta",
    "Event",
    "Finished",
    "ModelCalled",
    "ModelReplied",
    "Notice",
    "Observer",
    "Retrying",
    "RoundClosed",
    "TextDelta",
    "ThinkingDelta",
    "ToolFinished",
    "ToolProgressed",
    "ToolStarted",
]
