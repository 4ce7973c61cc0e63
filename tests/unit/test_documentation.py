"""Every Python block of the documentation: it runs as it stands, says what it should, and type-checks."""

from __future__ import annotations

import asyncio
import inspect
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from geode.compliance import AdapterContract, ToolSourceContract
from geode.domain.script import Script
from geode.entrypoints.compliance.registered import GROUP, contract_of
from geode.entrypoints.mcp_servers import mcp_servers_from
from geode.testing import ScriptedModel, calls, default_model, says

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "acme_adapter"
SOURCE = ROOT / "examples" / "saved_queries"
# These pages write a package step by step: their blocks are parts of one program, which is proven as a whole.
STEPS = ROOT / "docs" / "writing-an-adapter.md"
STEPS_TO_A_SOURCE = ROOT / "docs" / "writing-a-tool-source.md"
PAGES = (
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page not in (STEPS, STEPS_TO_A_SOURCE)),
)


def _blocks() -> dict[str, str]:
    """Each block by its page and the heading above it."""
    found: dict[str, str] = {}
    for page in PAGES:
        heading = page.stem
        for part in re.finditer(r"^#+ ([^\n]+)$|^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            if part[1]:
                heading = part[1]
            else:
                name = f"{page.stem}: {heading}"
                assert name not in found, f"two blocks under one heading: {name}"
                found[name] = part[2]
    return found


BLOCKS = _blocks()
# What the model does in a block that names none, and what the program then prints.
PLAYED: dict[str, tuple[Script, str]] = {
    "README: geode": ((), "It is 18 C in Paris.\n"),
    "README: What it promises": ((says("Flint"),), "Flint\n"),
    "compaction: In a run": ((), "And there is jasper. 5\n"),
    "compaction: In a test": ((), "Both. 5\n"),
    "configuration: In Python": ((says("Flint"),), "Flint\n"),
    "openrouter: OpenRouter: your options": ((says("Flint"),), "Flint\n"),
    "quickstart: A tool": (
        (calls(("search", {"query": "geode", "limit": 1})), says("One geode.")),
        "Answered One geode.\n",
    ),
    "quickstart: Methods": ((calls(("count", {"country": "XX"}), ("count", {"country": "FR"})), says("42")), "42\n"),
    "quickstart: Names, schemas, strict": ((), "['Hello, Dr Ada']\n"),
    "quickstart: What a tool may know of its call": ((calls(("pay", {"cents": 5})), says("Paid.")), "Paid.\n1 payment\n"),
    "quickstart: Pictures and documents": ((calls(("screenshot", {})), says("Yes.")), "the login page ['Image']\n"),
    "quickstart: Test it, without a network": ((), ""),
    "quickstart: Another model when one fails": ((), "from busy to spare\nHere I am.\n"),
    "quickstart: Approve": ((calls(("delete_user", {"user_id": 700})), says("Done.")), "Done.\n"),
    "quickstart: Hooks": (
        (calls(("read", {"path": "a"}), ("read", {"path": "../b"})), says("Done.")),
        (
            "before_tool {'input': {'path': 'project/a'}}\n"
            "before_tool ../b is outside of the project\n"
            "after_result {'kind': 'ok', 'text': 'project/a: token=…'}\n"
            "ok project/a: token=…\ndenied denied: ../b is outside of the project\n"
        ),
    ),
    "quickstart: Stream": (
        (calls(("search", {"query": "geode"})), says("Found one.")),
        "call search {'query': 'geode'}\nresult ok 0 s\nFound one.\nAnswered\n",
    ),
    "quickstart: Observe, and count": (
        (calls(("now", {})), says("Noon.")),
        (
            "round 1: 10 tokens in, 5 out\nround 1: ['ok']\nround 2: 10 tokens in, 5 out\n"
            "30 tokens, None dollars and 2 calls of unknown cost\n"
        ),
    ),
    "quickstart: System text, effort, temperature": ((says("Flint"),), "Flint\n"),
    "quickstart: Limits": ((says("1, 2, 3"),), "1, 2, 3\n"),
    "quickstart: A typed answer": (
        (says('{"city": "Kiel", "degrees": 21.5}'),),
        "Weather(city='Kiel', degrees=21.5)\n",
    ),
    "quickstart: A tool that keeps failing": (
        (*[calls(("search", {"query": word})) for word in ("a", "b", "geode")], says("One.")),
        (
            "failed | the archive does not answer\n"
            "failed | the archive does not answer\n"
            "ok | geode #1 | What was tried: search once more: failed (the archive does not answer); "
            "mirror in its place: failed (the copy is being made); cached as a fallback: ok.\n"
        ),
    ),
    "quickstart: A summary, or another call beside a run": (
        (says("A hard stone."), says("Hard stone that makes sparks.")),
        "Hard stone that makes sparks.\n",
    ),
    "quickstart: Keep a conversation": ((says("Hello."), says("Ada.")), "()\nAda.\n"),
    "quickstart: Store and continue": (
        (says("Hello."), says("Ada.")),
        "Ada. ()\nsaved from version 1 over version 2\n2 ['ada-otherwise', 'ada']\n",
    ),
    "quickstart: Resume after a crash": ((calls(("pay", {"cents": 5})), says("Paid.")), "Paid.\n"),
    "quickstart: Your own server": ((), "Hello from the lab.\n"),
    "quickstart: Many runs": ((says("Sunny"), says("Sunny")), "['Sunny', 'Sunny']\n"),
    "quickstart: In a container": ((), "hi\n"),
    "long-results: Long results": (
        (calls(("read_log", {})), says("Yes.")),
        "text, 86400 lines\n",
    ),
    "long-results: The session decides for each tool": (
        (calls(("read_log", {}), ("read_rules", {})), says("Yes.")),
        "True True\nFalse False\n",
    ),
    "long-results: Where they are kept": ((calls(("read_log", {})), says("Yes.")), "1 kept\n0 left\n"),
    "long-results: A tool that takes a ref_id": (
        (calls(("count_lines", {"ref_id": "the last one"})), says("I cannot tell.")),
        "failed | 'the last one' is no ref_id: use one that a result of this conversation has told, as it is\n",
    ),
    "mcp: Servers of the Model Context Protocol": (
        (calls(("add", {"a": 2, "b": 3})), says("It is 5.")),
        "5\nIt is 5.\n",
    ),
    "many-tools: Many tools": (
        (
            calls(("search_tools", {"query": "pay france"})),
            calls(("search_tools", {"name": "pay_fr", "arguments": {"cents": 5}})),
            says("Paid."),
        ),
        "may pay_fr {'cents': 5}\nPaid.\n",
    ),
    "results: Tools that yield": (
        (calls(("read_log", {"name": "web.log"})), says("Two lines.")),
        'failed\nweb.log was cut off\nWhat it gave before (2 items):\n["started","listening"]\n',
    ),
    "results: Types of your own": (
        (calls(("prices", {})), says("Two.")),
        """['["1.50 EUR","0.99 USD"]']\n""",
    ),
    "sub-agents: A run as a tool": (
        (
            calls(("research", {"task": "When was the tower built?"})),
            calls(("search", {"query": "tower"})),
            says("It was built in 1887."),
            says("In 1887."),
        ),
        (
            "research had search answer: tower: built in 1887\n"
            "research answered: It was built in 1887.\n"
            "In 1887. (60 tokens in all)\n"
        ),
    ),
    "toolkits: By value": (
        (calls(("erase_page", {"name": "beer"})), says("I can only read.")),
        "there is no tool named 'erase_page'. Did you mean: read_page?\nI can only read.\n",
    ),
    "toolkits: By a function: per user, per round": (
        (calls(("read_note", {})), calls(("write_note", {"text": "milk, bread"})), says("Done.")),
        "[('ok', 'milk'), ('ok', 'written: milk, bread')]\n",
    ),
    "tools: Definition files": (
        (calls(("get_weather", {"city": "Paris"})), says("Mild.")),
        "['18 C in Paris for 1 days'] Mild.\n",
    ),
    "wire: Move a request to another wire": ((), "turn 1: interrupted (c1)\n"),
}


def _shown(page: str, heading: str, language: str) -> str:
    """The block of another language under that heading."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8").split(f"# {heading}\n")[1]
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


# What lies beside the program of a block.
BESIDE = {"tools: Definition files": {"definitions.json": _shown("tools", "Definition files", "json")}}


def test_what_the_page_of_tools_declares_can_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NODE_ENV", "FILES_TOKEN", "DOCS_TOKEN"):
        monkeypatch.setenv(name, "x")
    (tmp_path / "config.toml").write_text(_shown("tools", "In the configuration", "toml"))
    (tmp_path / "servers.json").write_text(_shown("tools", "Files of other programs", "json"))
    assert [server.name for server in mcp_servers_from(tmp_path / "config.toml")] == ["files"]
    assert [server.name for server in mcp_servers_from(tmp_path / "servers.json")] == ["files", "docs"]


def test_every_block_is_played() -> None:
    assert set(BLOCKS) == set(PLAYED)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_runs_as_it_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GEODE_MODEL", raising=False)
    script, printed = PLAYED[name]
    for beside, text in BESIDE.get(name, {}).items():
        monkeypatch.chdir(tmp_path)
        (tmp_path / beside).write_text(text, "utf-8")
    program = tmp_path / "program.py"
    program.write_text(BLOCKS[name], "utf-8")
    with default_model(ScriptedModel(*script)):
        left = runpy.run_path(str(program), run_name="__main__")
        for test in (value for key, value in left.items() if key.startswith("test_") and inspect.iscoroutinefunction(value)):
            asyncio.run(test())
    assert capsys.readouterr().out == printed


def test_all_blocks_type_check(tmp_path: Path) -> None:
    for number, text in enumerate(BLOCKS.values()):
        (tmp_path / f"block_{number}.py").write_text(text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), list(enumerate(BLOCKS))


@pytest.mark.parametrize(("page", "example"), [(STEPS, EXAMPLE), (STEPS_TO_A_SOURCE, SOURCE)], ids=["adapter", "source"])
def test_the_steps_are_the_example(page: Path, example: Path) -> None:
    """Word for word; the example is run and type-checked like any other code."""
    code = [path.read_text("utf-8") for path in sorted(example.rglob("*.py"))]
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    assert [block for block in blocks if not any(block in text for text in code)] == []


def test_a_copy_of_the_source_proves_itself_where_it_is(tmp_path: Path) -> None:
    """As the page says: start by copying that folder."""
    shutil.copytree(SOURCE, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "a_run_asks_it"]
    done = subprocess.run(command, cwd=tmp_path / "mine", capture_output=True, text=True, timeout=120, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_the_source_is_registered_with_its_contract() -> None:
    points = tomllib.loads((SOURCE / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"][GROUP]
    assert [contract_of(EntryPoint(name, value, GROUP).load()) for name, value in points.items()] == [ToolSourceContract]


def test_the_example_is_registered_as_the_steps_say() -> None:
    points = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"][GROUP]
    (said,) = re.findall(r"^```toml\n(.*?)^```$", STEPS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert tomllib.loads(said)["project"]["entry-points"][GROUP] == points
    for name, value in points.items():
        assert contract_of(EntryPoint(name, value, GROUP).load()) is AdapterContract
