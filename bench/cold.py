"""What a fresh process pays: `import geode`, and a session over a scripted model up to its first model call."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

IMPORT = """
from time import process_time
before = process_time()
import geode
print(process_time() - before)
"""
FIRST_CALL = """
from time import process_time
before = process_time()
import asyncio
import geode
from geode.testing import ScriptedModel, says

@geode.tool(tier="safe")
def look_up(key: str, count: int = 3) -> str:
    "Look a key up."
    return key

class Timed(ScriptedModel):
    async def acomplete(self, request, emit):
        print(process_time() - before)
        return await super().acomplete(request, emit)

asyncio.run(geode.run("go", model=Timed(says("done")), tools=[look_up]))
"""


def cold(passes: int) -> dict[str, float]:
    """Median CPU in milliseconds of each, each time in a process of its own."""
    return {
        name: round(median(_timed(code) for _ in range(passes)) * 1e3, 1)
        for name, code in (("import geode", IMPORT), ("first call", FIRST_CALL))
    }


def _timed(code: str) -> float:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[0])


if __name__ == "__main__":
    print(json.dumps(cold(5)))
