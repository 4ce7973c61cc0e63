"""`python -m tests.mutation`: change the domain in small ways, module by module, and see whether its examples notice.

mutmut makes the mutants and runs on each the examples that reach it. A module is run again when its source
or a test that reaches it changed since its figures in `docs/evidence/mutation.json`; one that was interrupted
goes on. Every mutant that survives has to stand in `equivalent.toml`, with the reason why no test can notice it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.mutation.mutants import DOMAIN, ROOT, Module, World, forget_verdicts, stats_are_of, unjudged, verdicts
from tests.mutation.report import EXPLAINED, Explained, Figures, Report, judged, table

_BEGUN = Path("mutants", "begun")


def run(module: Module, world: World, children: int) -> None:
    """Runs every mutant of the module, or those that an interrupted run left over."""
    begun = f"{module.name} {world.mark}"
    names = unjudged(module) if _BEGUN.exists() and _BEGUN.read_text() == begun and stats_are_of(world) else []
    if not names:
        forget_verdicts(module, world)
        _BEGUN.write_text(begun)
        names = [f"{module.name}.*"]
    mutmut = Path(sys.executable).with_name("mutmut")
    subprocess.run([mutmut, "run", "--max-children", str(children), *names], check=True)
    _BEGUN.unlink()


def figures(module: Module, known: Figures | None, world: World, children: int) -> Figures:
    """The figures that are known, where neither the module nor a test that reaches it changed since; else new ones."""
    if stats_are_of(world) and known is not None and known.digest == world.digest(module):
        return known
    print(f"== {module.short}", flush=True)
    if not (stats_are_of(world) and module.is_laid_out and not module.mutants()):
        run(module, world, children)
    return Figures.of(world.digest(module), verdicts(module))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--module", help="this one alone, as `habits` or `loop.step`, whether it changed or not")
    parser.add_argument("--max-children", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    given = parser.parse_args()
    os.chdir(ROOT)
    modules = [Module(path) for path in sorted(DOMAIN.rglob("*.py")) if path.name != "__init__.py"]
    chosen = [one for one in modules if given.module in (None, one.short)]
    if not chosen:
        parser.error(f"no module {given.module!r}; there are {', '.join(one.short for one in modules)}")
    report = Report.read().of_modules(one.name for one in modules)
    for module in chosen:
        known = None if given.module else report.modules.get(module.name)
        found = figures(module, known, World.now(), given.max_children)
        if found != known:
            report = report.with_module(module.name, found)
            report.write()
    print(table(report))
    wrong = judged(report, Explained.read(EXPLAINED.read_text()))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
