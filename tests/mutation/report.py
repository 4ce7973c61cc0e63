"""The figures of mutation testing, what was said about the survivors, and whether the two agree."""

from __future__ import annotations

import json
import platform
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from tests.fuzz.marathon import commit
from tests.mutation.mutants import ROOT, Verdict

EVIDENCE: Final = ROOT / "docs" / "evidence" / "mutation.json"
EXPLAINED: Final = ROOT / "tests" / "mutation" / "equivalent.toml"
LEAST_SHARE: Final = 0.95


@dataclass(frozen=True)
class Survivor:
    mutant: str
    function: str
    change: str

    @property
    def key(self) -> tuple[str, str]:
        return self.function, self.change


@dataclass(frozen=True)
class Figures:
    """Of one module; what did not end is among the killed. `digest` tells of which sources and tests."""

    digest: str
    mutants: int
    killed: int
    timeouts: int
    survivors: tuple[Survivor, ...] = ()

    @staticmethod
    def of(digest: str, verdicts: Iterable[Verdict]) -> Figures:
        found = list(verdicts)
        survivors = tuple(Survivor(one.name, one.function, one.change) for one in found if one.fate == "survived")
        timeouts = sum(one.fate == "timeout" for one in found)
        return Figures(digest, len(found), len(found) - len(survivors), timeouts, survivors)


@dataclass(frozen=True)
class Report:
    modules: Mapping[str, Figures] = field(default_factory=dict[str, Figures])

    @property
    def mutants(self) -> int:
        return sum(one.mutants for one in self.modules.values())

    @property
    def killed(self) -> int:
        return sum(one.killed for one in self.modules.values())

    @property
    def share(self) -> float:
        return self.killed / self.mutants if self.mutants else 0.0

    @property
    def survivors(self) -> list[Survivor]:
        return [survivor for one in self.modules.values() for survivor in one.survivors]

    @staticmethod
    def read() -> Report:
        """The evidence as it stands; empty if there is none."""
        if not EVIDENCE.exists():
            return Report()
        written: dict[str, Any] = json.loads(EVIDENCE.read_text())
        return Report({name: _figures(one) for name, one in written["modules"].items()})

    def of_modules(self, names: Iterable[str]) -> Report:
        """Without modules that are gone."""
        return Report({name: self.modules[name] for name in names if name in self.modules})

    def with_module(self, name: str, figures: Figures) -> Report:
        return Report(dict(sorted({**self.modules, name: figures}.items())))

    def write(self) -> None:
        EVIDENCE.write_text(
            json.dumps(
                {
                    "commit": commit(),
                    "python": platform.python_version(),
                    "mutants": self.mutants,
                    "killed": self.killed,
                    "share": round(self.share, 4),
                    "modules": {name: asdict(one) for name, one in self.modules.items()},
                },
                indent=2,
                ensure_ascii=False,
            )
            + "\n"
        )


def _figures(written: Mapping[str, Any]) -> Figures:
    return Figures(**{**written, "survivors": tuple(Survivor(**one) for one in written["survivors"])})


@dataclass(frozen=True)
class Explained:
    """Why survivors cannot be noticed: each by its function and change, or by what lines differ in wherever that is."""

    mutants: Mapping[tuple[str, str], str]
    anywhere: Mapping[str, str] = field(default_factory=dict[str, str])

    @staticmethod
    def read(text: str) -> Explained:
        written = tomllib.loads(text)
        mutants: dict[tuple[str, str], str] = {}
        for one in written.get("mutant", ()):
            key = one["function"], one["change"].strip("\n")
            if key in mutants:
                raise ValueError(f"{key[0]} is listed twice with the change\n{key[1]}")
            if not one["why"].strip():
                raise ValueError(f"{key[0]} is listed without a reason, with the change\n{key[1]}")
            mutants[key] = one["why"]
        return Explained(mutants, {one["differ_in"]: one["why"] for one in written.get("anywhere", ())})

    def by_kind(self, survivor: Survivor) -> str | None:
        """The expression that explains it, if one does: without what it matches, the lines are the same."""
        before, _, after = survivor.change.partition("\n")
        same = (one for one in self.anywhere if re.sub(one, "", before[2:]) == re.sub(one, "", after[2:]))
        return next(same, None)


def judged(report: Report, listed: Explained) -> list[str]:
    """What is wrong: survivors nobody explained, explained ones that do not survive, too few that were killed."""
    single = {one.key for one in report.survivors}
    by_kind = {one.key: kind for one in report.survivors if (kind := listed.by_kind(one))}
    wrong = [
        f"{one.mutant} survives and is not in {EXPLAINED.name}:\n{one.change}"
        for one in report.survivors
        if one.key not in listed.mutants and one.key not in by_kind
    ]
    gone = [
        f"{function} is in {EXPLAINED.name} and does not survive:\n{change}"
        for function, change in listed.mutants
        if (function, change) not in single
    ]
    unused = [
        f"nothing that survives differs in {kind}, see {EXPLAINED.name}"
        for kind in listed.anywhere
        if kind not in by_kind.values()
    ]
    wrong += gone + unused
    if report.share < LEAST_SHARE:
        wrong.append(f"{report.share:.2%} of the mutants were killed; at least {LEAST_SHARE:.0%} have to be")
    return wrong


def table(report: Report) -> str:
    """The figures for a person, one module a line."""
    lines = [
        f"{name.removeprefix('geode.domain.'):<24}{one.mutants:>6}{one.killed:>6}{len(one.survivors):>6}"
        for name, one in report.modules.items()
        if one.mutants
    ]
    heads = f"{'':<24}{'made':>6}{'killed':>6}{'left':>6}"
    return "\n".join(
        (heads, *lines, f"{'':<24}{report.mutants:>6}{report.killed:>6}{len(report.survivors):>6}  {report.share:.2%}")
    )
