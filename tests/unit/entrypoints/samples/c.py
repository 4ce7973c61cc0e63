import asyncio
from dataclasses import dataclass

import geode
from geode import ToolContext


@dataclass
class Db:
    users: dict[str, int]


@geode.tool(tier="safe")
def count_users(country: str, ctx: ToolContext[Db]) -> int:
    """Number of users of a country."""
    return ctx.deps.users[country]


class UserTools:
    def __init__(self, db: Db) -> None:
        self.db = db

    @geode.tool(tier="safe")
    def count(self, country: str) -> int:
        """Number of users of a country."""
        return self.db.users[country]


if __name__ == "__main__":
    db = Db({"FR": 42})
    print(asyncio.run(geode.run("How many in FR?", tools=[count_users], deps=db)).text)
    print(asyncio.run(geode.run("How many in FR?", tools=[UserTools(db).count])).text)
