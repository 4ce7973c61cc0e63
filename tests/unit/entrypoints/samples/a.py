import asyncio

import geode


@geode.tool(tier="safe")
def get_weather(city: str) -> str:
    """Current weather of a city."""
    return f"18 C in {city}"


if __name__ == "__main__":
    print(asyncio.run(geode.run("Weather in Paris?", model="gpt-5.2", tools=[get_weather])).text)
