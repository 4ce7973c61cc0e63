"""`--tools MODULE:NAME`: what it finds, and what it says of what it does not find."""

from __future__ import annotations

from pathlib import Path

import pytest

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.errors import Misuse
from geode.entrypoints.cli.tools import named_values
from geode.entrypoints.tools import build_tools


def names(*wanted: str) -> list[str]:
    return [tool.spec.name for tool in build_tools(named_values(wanted), validator=JsonschemaValidator())]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["app:add"], ["add"]),
        (["app:add,save"], ["add", "save"]),
        (["app: add , save "], ["add", "save"]),
        (["app:everything"], ["add", "stumble", "save"]),
        (["app:save", "app:add"], ["save", "add"]),
        (["math:sqrt"], None),
    ],
)
def test_functions_lists_and_names_with_commas(project: Path, wanted: list[str], found: list[str] | None) -> None:
    if found is None:
        with pytest.raises(Misuse):  # a builtin without annotations is found, and refused as any tool would be
            names(*wanted)
    else:
        assert names(*wanted) == found


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("app", "--tools app: names no tool; write MODULE:NAME, for example --tools app:search [tools-argument]"),
        (":add", "--tools :add: names no module; write MODULE:NAME"),
        ("app:", "--tools app:: names no tool"),
        (
            "nowhere:add",
            '--tools nowhere:add: there is no module "nowhere"; looked in {project} and among the installed packages',
        ),
        (
            "app.py:add",
            "looked in {project} and among the installed packages; for the file app.py write app:… [tools-module]",
        ),
        ("geode.nowhere:add", 'there is no module "geode.nowhere"'),
        (
            "app:ad",
            'module "app" ({project}/app.py) has no "ad". Did you mean add? There is: add, everything, hang, save, stumble',
        ),
        ("app:settings", "settings is of type dict; it must be a function or a list of tools"),
        ("broken:add", "importing \"broken\" failed with NameError: name 'x' is not defined ({project}/broken.py:2)"),
        ("needy:add", "importing \"needy\" failed with ModuleNotFoundError: No module named 'missing_dependency'"),
        ("leaving:add", 'importing "leaving" failed with SystemExit: 3'),
        ("empty:add", 'has no "add". There is: no function at all'),
        ("app:add,add", 'two tools are called "add"'),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_what_is_there(project: Path, wanted: str, said: str) -> None:
    (project / "broken.py").write_text("y = 1\nx\n")
    (project / "needy.py").write_text("import missing_dependency\n")
    (project / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    (project / "empty.py").write_text("")
    with pytest.raises(Misuse) as raised:
        names(wanted)
    assert said.format(project=project) in str(raised.value)


def test_a_syntax_error_is_told_with_its_line(project: Path) -> None:
    (project / "unfinished.py").write_text("def add(:\n")
    with pytest.raises(Misuse, match=r"SyntaxError: invalid syntax \(unfinished.py, line 1\)"):
        names("unfinished:add")
