"""The README's first example is what a newcomer runs first: it has to work as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FIRST = re.search(r"```python\n(.*?)```", README, re.DOTALL)
ANSWER = "It is 18 C in Paris."


def test_the_first_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    assert FIRST is not None
    done = subprocess.run(
        [sys.executable, "-c", FIRST.group(1)], capture_output=True, text=True, cwd=tmp_path, env={"PATH": ""}, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ANSWER}\n", "")


def test_the_first_example_is_short_and_its_answer_comes_early() -> None:
    assert FIRST is not None
    assert len(FIRST.group(1).splitlines()) <= 20
    said = README.index(f"`{ANSWER}`")
    assert len(README[:said].split()) < 150


def test_every_file_that_the_documentation_links_to_exists() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
