import asyncio

import geode
from geode import Approve, Deny, Later, Suspended, ToolUseBlock


@geode.tool(tier="dangerous")
def delete_user(user_id: int) -> str:
    """Delete a user."""
    return f"deleted {user_id}"


async def ask(call: ToolUseBlock) -> Approve | Deny | Later:
    answer = await asyncio.to_thread(input, f"{call.name}({call.input})? ")
    return Approve() if answer == "y" else Deny("the operator said no")


async def now() -> None:
    print((await geode.run("Delete user 7", tools=[delete_user], approve=ask)).text)


async def park(call: ToolUseBlock) -> Later:
    return Later()


async def tomorrow() -> None:
    async with geode.session(tools=[delete_user], approve=park) as loop:
        outcome = await loop.run("Delete user 7")
        if isinstance(outcome, Suspended):
            outcome = await loop.resume(outcome.snapshot, {c.id: Approve() for c in outcome.asked})
