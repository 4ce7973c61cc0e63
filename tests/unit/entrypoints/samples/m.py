import asyncio

import geode
from tests.unit.entrypoints.samples.a import get_weather


async def main() -> None:
    async with geode.Runtime(tools=[get_weather], max_sessions=50) as runtime:

        async def one(city: str) -> str:
            async with runtime.session() as loop:
                return (await loop.run(f"Weather in {city}?")).text

        print(len(set(await asyncio.gather(*(one(str(n)) for n in range(100))))))
