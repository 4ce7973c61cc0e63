"""The grammar of the command line, and what it needs to be told."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import get_args

import pytest

from geode.domain.script import Fails, Reply
from geode.domain.script_json import STEP_WORDS, script_from_json
from geode.domain.targets import WireName
from geode.entrypoints.cli.arguments import DIALECTS, WIRES, parser
from geode.entrypoints.cli.exit_codes import EXIT_CODES
from geode.entrypoints.cli.main import main
from geode.entrypoints.emulator import Dialect

# What a bare install lacks is simulated by making the imports fail; what must not load is looked for.
WITHOUT_EXTRAS = """
import sys
absent = ("anthropic", "openai", "httpx2", "rich", "starlette", "uvicorn", "jiter")
sys.modules.update(dict.fromkeys(absent))
from geode.entrypoints.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as error:
    code = error.code
loaded = [name for name in (*absent, "jsonschema", "dependency_injector", "pydantic") if sys.modules.get(name)]
print("LOADED", loaded)
sys.exit(code)
"""


def without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["emulate", "--help"], ["demo", "--help"], ["--version"]])
def test_help_needs_no_extra_and_loads_nothing_heavy(arguments: list[str]) -> None:
    done = without_extras(*arguments)
    assert done.returncode == 0, done.stderr
    assert "LOADED []" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["emulate"], 'geode emulate needs the extra "emulator": pip install "geode[emulator]"'),
        (["demo"], 'geode demo needs the extra "emulator": pip install "geode[emulator]"'),
        (["run", "Hi", "--model", "claude-x"], 'anthropic-payg needs the package anthropic: pip install "geode[anthropic]"'),
        (["run", "Hi", "--model", "gpt-5"], 'openai-payg needs the package openai: pip install "geode[openai]"'),
    ],
)
def test_a_missing_extra_is_named_with_its_command(arguments: list[str], extra: str) -> None:
    done = without_extras(*arguments)
    assert done.returncode == 2
    assert extra in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_says_every_exit_code(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().out
    assert [f"{code:>3}  {meaning}" in said for code, meaning in EXIT_CODES.items()] == [True] * len(EXIT_CODES)


def test_help_of_the_emulator_shows_a_script_that_can_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["emulate", "--help"])
    said = capsys.readouterr().out
    example = json.loads(said[said.index("  [\n") : said.index("\n  ]") + 4])
    assert [type(step) for step in script_from_json(example)] == [Reply, Fails, Reply]
    assert set(STEP_WORDS) == {word for word in STEP_WORDS if word in said}


def test_the_words_of_the_grammar_are_those_of_the_modules_that_know_them() -> None:
    assert set(WIRES) == set(get_args(WireName))
    assert set(DIALECTS) == set(get_args(Dialect))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["walk"], "invalid choice: 'walk'"),
        (["run"], "the following arguments are required: PROMPT"),
        (["run", "Hi", "--max-rounds", "0"], "'0' is not a whole number of 1 or more"),
        (["run", "Hi", "--max-rounds", "many"], "'many' is not a whole number of 1 or more"),
        (["run", "Hi", "--time", "-3"], "'-3' is not a number of seconds above 0"),
        (["run", "Hi", "--time", "nan"], "'nan' is not a number of seconds above 0"),
        (["run", "Hi", "--time", "inf"], "'inf' is not a number of seconds above 0"),
        (["run", "Hi", "--base-url", "localhost:8000"], "'localhost:8000' is no address: http://HOST:PORT or https://…"),
        (["run", "Hi", "--base-url", "user:pw@host/v1?k=pw"], "'***@host/v1?***' is no address: http://HOST:PORT or"),
        (["run", "Hi", "--wire", "soap"], "invalid choice: 'soap'"),
        (["emulate", "--port", "70000"], "'70000' is not a port (0 to 65535)"),
    ],
)
def test_wrong_arguments_are_named_and_end_with_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_addresses_lose_their_last_slash() -> None:
    assert parser().parse_args(["run", "Hi", "--base-url", "http://h:1/v1/"]).base_url == "http://h:1/v1"
