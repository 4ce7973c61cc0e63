import geode
from geode import Provider

LAB = Provider("lab", wire="chat", base_url="http://gpu-3:8000/v1", key="env:LAB_KEY")


async def main() -> None:
    print((await geode.run("Hi", model="lab/my-llama", providers=[LAB])).text)
