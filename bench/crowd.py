"""`make crowd N=2000`: so many runs at once in one process, a random third cancelled, a tenth streams that are left.

Over scripted models, then over each wire against the emulator on this machine's loopback. What must hold
is asserted; the figures are printed and written to `docs/evidence/crowd.json` with the commit and the seed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import subprocess
from pathlib import Path
from typing import Any, get_args

from tests.unit.entrypoints.crowd import On, crowd

EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence" / "crowd.json"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    report: dict[str, Any] = {"commit": commit, "python": platform.python_version(), "crowds": []}
    for on in get_args(On):
        found = asyncio.run(crowd(given.runs, given.seed, on))
        print(json.dumps(found), flush=True)
        assert not found["wrong"], found["wrong"][:3]
        assert (found["tasks_left"], found["threads_left"], found["files_left"]) == (0, 0, 0)
        report["crowds"].append(found)
    EVIDENCE.parent.mkdir(parents=True, exist_ok=True)
    EVIDENCE.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
