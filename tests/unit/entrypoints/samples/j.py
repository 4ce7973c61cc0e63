import logging

import geode
from geode.events import Event, ModelReplied, ToolFinished
from tests.unit.entrypoints.samples.a import get_weather

log = logging.getLogger("app.llm")


def observe(event: Event) -> None:
    match event:
        case ModelReplied(run_id=run, round=n, request_id=rid, route=route, usage=u):
            log.info(
                "model run=%s round=%s id=%s via=%s in=%s out=%s usd=%s",
                *(run, n, rid, route, u.input_tokens, u.output_tokens, u.cost_usd),
            )
        case ToolFinished(run_id=run, call=call, result=result, seconds=s):
            log.info("tool run=%s call=%s %s %s %.2fs", run, call.id, call.name, result.kind, s)
        case _:
            pass


async def main() -> None:
    async with geode.session(tools=[get_weather], observe=observe) as loop:
        log.info("total %s", (await loop.run("Weather in Paris?")).usage)
