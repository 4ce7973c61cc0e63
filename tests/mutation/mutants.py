"""What mutmut knows: the mutants of a module, what became of them, and which tests reach it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_module_from_key, orig_function_and_class_names_from_key

ROOT: Final = Path(__file__).parents[2]
# From the root, where mutmut runs and where the driver goes.
DOMAIN: Final = Path("src", "geode", "domain")
_IMPORT: Final = re.compile(r"^from (tests\.[\w.]+) import ", re.MULTILINE)
_STATS: Final = Path("mutants", "mutmut-stats.json")
_STATS_OF: Final = Path("mutants", "stats-of")

Fate: TypeAlias = Literal["killed", "timeout", "survived"]
# A mutant that no test reaches survives. One that eats memory until it is ended was noticed, as was one without end.
_FATES: Final[dict[str, Fate]] = {
    "killed": "killed",
    "survived": "survived",
    "no tests": "survived",
    "timeout": "timeout",
    "segfault": "timeout",
}


@dataclass(frozen=True)
class Verdict:
    """What became of one mutant: of which function, and with which lines changed. mutmut's numbers shift, these do not."""

    name: str
    function: str
    change: str
    fate: Fate


@dataclass(frozen=True)
class Module:
    path: Path

    @property
    def name(self) -> str:
        return ".".join(self.path.relative_to("src").with_suffix("").parts)

    @property
    def short(self) -> str:
        return self.name.removeprefix("geode.domain.")

    @property
    def is_laid_out(self) -> bool:
        return self._data().meta_path.exists()

    def mutants(self) -> dict[str, int | None]:
        return self._data().exit_code_by_key

    def _data(self) -> SourceFileMutationData:
        data = SourceFileMutationData(path=self.path)
        data.load()
        return data


@dataclass(frozen=True)
class World:
    """The files that mutants are made of and run with, by their contents at one moment."""

    files: Mapping[Path, str]

    @staticmethod
    def now() -> World:
        paths = [*Path("src").rglob("*.py"), *Path("tests").rglob("*.py"), Path("pyproject.toml")]
        return World({path: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(paths)})

    @property
    def mark(self) -> str:
        """Changes whenever something does."""
        return self._of(self.files)

    def digest(self, module: Module) -> str:
        """Of the module, of every file of tests that reaches it, and of what these import of the tests.

        What reaches it is known from the run of this world.
        """
        stats: dict[str, Any] = json.loads(_STATS.read_text())
        reached = {
            Path(test.partition("::")[0])
            for function, tests in stats["tests_by_mangled_function_name"].items()
            if get_module_from_key(function) == module.name
            for test in tests
        }
        return self._of({module.path, *self._with_imports(reached)})

    def _with_imports(self, tests: Iterable[Path]) -> set[Path]:
        found, new = set[Path](), set(tests)
        while new:
            found |= new
            named = {Path(*name.split(".")).with_suffix(".py") for path in new for name in _IMPORT.findall(path.read_text())}
            new = (named & self.files.keys()) - found
        return found

    def _of(self, paths: Iterable[Path]) -> str:
        versions = f"{platform.python_version()} {importlib.metadata.version('mutmut')}"
        listed = "".join(f"\n{self.files[path]} {path}" for path in sorted(paths))
        return hashlib.sha256(f"{versions}{listed}".encode()).hexdigest()[:16]


def stats_are_of(world: World) -> bool:
    return _STATS.exists() and _STATS_OF.exists() and _STATS_OF.read_text() == world.mark


def forget_verdicts(module: Module, world: World) -> None:
    """The module is to be run from its start; what tests reach is found out anew if anything changed."""
    if not stats_are_of(world):
        _STATS.unlink(missing_ok=True)
        shutil.rmtree(Path("mutants", "tests"), ignore_errors=True)
        _STATS_OF.parent.mkdir(exist_ok=True)
        _STATS_OF.write_text(world.mark)
    data = SourceFileMutationData(path=module.path)
    data.load()
    if data.exit_code_by_key:
        data.exit_code_by_key = dict.fromkeys(data.exit_code_by_key)
        data.save()


def unjudged(module: Module) -> list[str]:
    return [name for name, code in module.mutants().items() if code is None]


def verdicts(module: Module) -> list[Verdict]:
    """RuntimeError if a mutant has no verdict."""
    found: list[Verdict] = []
    for name, code in module.mutants().items():
        status = status_by_exit_code[code]
        if status not in _FATES:
            raise RuntimeError(f"{name} has no verdict: {status} ({code})")
        fate = _FATES[status]
        change = _change(name, module.path) if fate == "survived" else ""
        found.append(Verdict(name, _function(name), change, fate))
    return found


def _function(mutant: str) -> str:
    function, owner = orig_function_and_class_names_from_key(mutant)
    return ".".join(part for part in (get_module_from_key(mutant), owner, function) if part)


def _change(mutant: str, path: Path) -> str:
    """The lines that differ, without their indentation: `- before` and `+ after`."""
    lines = get_diff_for_mutant(mutant, path=path).split("\n")[2:]
    return "\n".join(f"{line[0]} {line[1:].strip()}" for line in lines if line[:1] in ("-", "+"))
