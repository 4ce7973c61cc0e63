"""The laws about files: what may import what, what loads when, how long, and with which marks."""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "geode"
MAX_LINES = 400

DOMAIN_MAY_IMPORT = frozenset(
    {
        "__future__",
        "base64",
        "collections",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "functools",
        "geode.domain",
        "hashlib",
        "itertools",
        "json",
        "math",
        "re",
        "returns.result",
        "typing",
        "unicodedata",
    }
)
LOADED_ONLY_WHEN_USED = (
    "PIL",
    "anthropic",
    "dependency_injector",
    "dotenv",
    "httpx",
    "httpx2",
    "jsonschema",
    "obstore",
    "openai",
    "prompt_toolkit",
    "regex",
    "tiktoken",
    "tomlkit",
)

INLINE_EXCEPTION = re.compile(r"#\s*(type:\s*ignore|noqa|pyright:|mypy:|ruff:|flake8:|fmt:|pragma:)", re.IGNORECASE)

# Home folders, and the roots where checkouts tend to lie. A path in a URL or in a longer path is none.
MACHINE_PATH = re.compile(r"(?<![\w./:~-])/(?:root|work|Users/\w+|home/\w+)/")


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Every module that is imported anywhere in the file, with its line; relative ones made absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *(node.module or "").split("."))).strip(".")
            # `from geode import domain` imports geode.domain too; `from geode.domain.x import Y` a name of it.
            if module == "geode":
                yield from ((f"geode.{alias.name}", node.lineno) for alias in node.names)
            else:
                yield module, node.lineno


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    package = path.relative_to(SRC.parent).with_suffix("").parts[:-1]
    yield from imports(ast.parse(path.read_text("utf-8")), package)


def within(module: str, allowed: frozenset[str]) -> bool:
    return any(module == entry or module.startswith(entry + ".") for entry in allowed)


def comments(path: Path) -> Iterator[tokenize.TokenInfo]:
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
    return (token for token in tokens if token.type == tokenize.COMMENT)


def is_table(tree: ast.Module) -> bool:
    """Whether the file holds data alone: no function, no class, no branch."""
    return all(isinstance(node, ast.Expr | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign) for node in tree.body)


def project_files() -> list[Path]:
    """Every file that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("this copy is no git checkout, so what is tracked is unknown")
    return [path for entry in listed.stdout.decode().split("\0") if entry and (path := ROOT / entry).is_file()]


def test_domain_imports_only_pure_parts() -> None:
    foreign = [
        f"{name(path)}:{line} imports {module}"
        for path in python_files(SRC / "domain")
        for module, line in imports_of(path)
        if not within(module, DOMAIN_MAY_IMPORT)
    ]
    assert foreign == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os.path as p", ["os.path"]),
        ("def f():\n    from time import sleep", ["time"]),
        ("from . import loop", ["geode.domain"]),
        ("from ..ports import model", ["geode.ports"]),
        ("from geode import ports", ["geode.ports"]),
        ("from returns import result", ["returns"]),
    ],
)
def test_every_form_of_import_is_seen(source: str, expected: list[str]) -> None:
    assert [module for module, _ in imports(ast.parse(source), ("geode", "domain"))] == expected


def test_dependency_injector_is_known_to_the_container_alone() -> None:
    importers = {
        name(path)
        for path in python_files(SRC)
        for module, _ in imports_of(path)
        if within(module, frozenset({"dependency_injector"}))
    }
    assert importers <= {"src/geode/entrypoints/container.py"}


def test_import_geode_loads_nothing_heavy() -> None:
    program = "import json, sys, geode; print(json.dumps(sorted(m.partition('.')[0] for m in sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)).isdisjoint(LOADED_ONLY_WHEN_USED)


def test_the_installed_package_is_what_tests_import() -> None:
    program = "import geode; print(list(geode.__path__)[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not Path(done.stdout.strip()).resolve().is_relative_to(SRC.parent)


def test_no_file_is_too_long_to_hold_in_mind() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in python_files(SRC)}
    too_long = [
        f"{name(path)}: {lines} lines"
        for path, lines in lengths.items()
        if lines > MAX_LINES and not is_table(ast.parse(path.read_text("utf-8")))
    ]
    assert too_long == []


def test_source_has_no_inline_exceptions() -> None:
    marks = [
        f"{name(path)}:{token.start[0]} {token.string}"
        for path in python_files(SRC)
        for token in comments(path)
        if INLINE_EXCEPTION.search(token.string)
    ]
    assert marks == []


def test_layer_contracts_excuse_no_import() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    assert [contract["id"] for contract in contracts if "ignore_imports" in contract] == []


def test_no_file_names_a_place_on_a_machine() -> None:
    found = []
    for path in project_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue  # a binary file
        found += [
            f"{name(path)}:{number} {line.strip()[:120]}"
            for number, line in enumerate(text.splitlines(), 1)
            if MACHINE_PATH.search(line) or str(ROOT) in line
        ]
    assert found == []
