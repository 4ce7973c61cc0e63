"""The survivors of mutation testing are explained, each of them and no other."""

from __future__ import annotations

import pytest

from tests.mutation.mutants import Verdict
from tests.mutation.report import Explained, Figures, Report, judged

LISTED = '[[mutant]]\nfunction = "m.f"\nwhy = "nobody can see it"\nchange = """\n- a < 1\n+ a <= 1\n"""\n'
KEY = ("m.f", "- a < 1\n+ a <= 1")


def report(killed: int, *survivors: tuple[str, str]) -> Report:
    dead = [Verdict(f"m.x_f__mutmut_{number}", "m.f", "", "killed") for number in range(killed)]
    alive = [Verdict(f"m.x_f__mutmut_{killed + at}", *one, "survived") for at, one in enumerate(survivors)]
    return Report({"m": Figures.of("0", [*dead, *alive])})


def test_a_survivor_that_is_listed_is_as_it_has_to_be() -> None:
    assert judged(report(19, KEY), Explained.read(LISTED)) == []


def test_a_survivor_that_is_not_listed_is_named_with_its_change() -> None:
    assert judged(report(99, ("m.f", "- a\n+ b")), Explained({})) == [
        "m.x_f__mutmut_99 survives and is not in equivalent.toml:\n- a\n+ b"
    ]


def test_what_is_listed_and_does_not_survive_is_named() -> None:
    assert judged(report(99), Explained.read(LISTED)) == [f"m.f is in equivalent.toml and does not survive:\n{KEY[1]}"]


def test_what_lines_differ_in_may_be_explained_wherever_it_is() -> None:
    listed = Explained({}, {r"\bcast\([^,]*, ": "nothing looks at it"})
    cast = ("m.f", '- return cast("int", a)\n+ return cast(None, a)')
    assert judged(report(99, cast), listed) == []
    (more,) = judged(report(99, cast, ("m.f", '- return cast("int", a)\n+ return cast(None, b)')), listed)
    assert more.startswith("m.x_f__mutmut_100 survives")
    assert judged(report(99), listed) == [r"nothing that survives differs in \bcast\([^,]*, , see equivalent.toml"]


def test_too_few_that_were_killed() -> None:
    """Issue: at least 95 %, the explained ones among those that were not."""
    assert judged(report(18, KEY), Explained.read(LISTED)) == ["94.74% of the mutants were killed; at least 95% have to be"]


@pytest.mark.parametrize(
    ("text", "why"), [(LISTED * 2, "twice"), (LISTED.replace("nobody can see it", " "), "without a reason")]
)
def test_a_list_that_says_nothing_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Explained.read(text)


def test_what_does_not_end_is_killed() -> None:
    found = Figures.of("0", [Verdict("m.x_f__mutmut_1", "m.f", "", "timeout"), Verdict("m.x_f__mutmut_2", *KEY, "survived")])
    assert (found.mutants, found.killed, found.timeouts, len(found.survivors)) == (2, 1, 1, 1)
