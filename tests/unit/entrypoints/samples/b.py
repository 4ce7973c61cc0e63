import geode
from geode.testing import ScriptedModel, calls, says
from tests.unit.entrypoints.samples.a import get_weather


async def test_weather() -> None:
    model = ScriptedModel(calls(("get_weather", {"city": "Paris"})), says("18 C"))
    outcome = await geode.run("Weather?", model=model, tools=[get_weather])
    assert isinstance(outcome, geode.Answered)
    assert outcome.text == "18 C"
    assert [r.text for r in outcome.conversation.results()] == ["18 C in Paris"]
