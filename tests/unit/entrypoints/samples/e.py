import geode
from geode.events import Finished, Notice, TextDelta, ToolFinished, ToolStarted
from tests.unit.entrypoints.samples.a import get_weather


async def page() -> None:
    async with geode.session(tools=[get_weather]) as loop:
        async for event in loop.stream("Weather in Paris?"):
            match event:
                case TextDelta(text=text):
                    print("text", text)
                case ToolStarted(call=call):
                    print("call", call.name, call.input)
                case ToolFinished(result=result):
                    print("result", result.kind, result.text)
                case Notice(kind=kind, text=text):
                    print(kind, text)
                case Finished(outcome=outcome):
                    print("end", outcome.text)
                case _:
                    pass
