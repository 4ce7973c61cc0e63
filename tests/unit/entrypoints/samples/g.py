import geode
from geode import Answered, Exhausted, Failed, Policy
from tests.unit.entrypoints.samples.a import get_weather


async def main() -> str:
    policy = Policy(max_rounds=3, max_seconds=30, max_tool_calls=20)
    match await geode.run("Loop!", tools=[get_weather], policy=policy):
        case Answered(text=text):
            return text
        case Exhausted(reason=reason, text=text):
            return f"{text} (stopped by {reason})"
        case Failed(reason=reason, why=why):
            return f"{reason}: {why}"
        case other:
            return type(other).__name__
