"""Kinds of long results that were lost, flooded the context or reached outside the store, each with the id of its case."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.adapters.results_file import FileResults
from geode.domain.offload import RECALL, new_ref
from geode.domain.policy import Policy
from geode.domain.script import Called, Reply, Step, calls, says
from geode.domain.tokens import estimate_tokens
from geode.ports.events import Notice
from geode.ports.results import ResultStore
from geode.ports.tools import ToolContext
from tests.unit.application.recalls import Failing, Reader, recalls
from tests.unit.application.rig import Recorder, answered, heartbeat, results


def giving(text: str, name: str = "log") -> Any:
    """A tool that gives `text`."""
    return geode.tool(tier="safe", blocking=False, name=name)(lambda: text)


def tokens(outcome: Any) -> int:
    return sum(estimate_tokens(found.text) for found in results(outcome))


# ---- RS-10 ---------------------------------------------------------------------------------------

HUGE = "".join(f"{number:07} of a log\n" for number in range(2_000_000 // 18 + 1))


async def test_rs_10_a_result_of_two_megabytes_never_reaches_the_context_whatever_comes_after_it() -> None:
    model = Reader(calls(("log", {})), *[calls(("short", {"n": number})) for number in range(50)], says("done"))

    @geode.tool(tier="safe", blocking=False)
    def short(n: int) -> int:
        return n

    outcome = answered(await geode.run("go", model=model, tools=[giving(HUGE), short], policy=Policy(max_rounds=60)))
    first = results(outcome)[0]
    assert f"{len(HUGE)} characters" in first.text
    assert first.ref_id in first.text
    assert RECALL in first.text
    for request in model.requests[1:]:
        assert tokens(request.conversation) < 1_000


@pytest.mark.parametrize("text", ["abcd" * 14_999 + "abc", "abcd" * 15_000, "世" * 14_999, "世" * 15_000])
async def test_rs_10_at_the_boundary_to_the_letter(text: str) -> None:
    outcome = answered(await geode.run("go", model=Reader(calls(("log", {})), says("done")), tools=[giving(text)]))
    (found,) = results(outcome)
    assert bool(found.ref_id) is (estimate_tokens(text) >= 15_000)
    assert (found.text == text) is not bool(found.ref_id)


# ---- RS-11 ---------------------------------------------------------------------------------------

SOME = "".join(f"Zeile {number}: grün\r\n" for number in range(12_000))


async def test_rs_11_the_model_knows_what_is_missing_and_reads_the_identical_text() -> None:
    assert len(SOME) > 200_000
    reading = [recalls(offset=offset, limit=20_000) for offset in range(0, len(SOME), 20_000)]
    searching = [recalls(pattern="Zeile 8642:"), recalls(offset=SOME.index("Zeile 8642"), limit=11)]
    model = Reader(calls(("log", {})), *reading, *searching, says("done"))
    first, *parts = results(answered(await geode.run("go", model=model, tools=[giving(SOME)])))
    assert SOME[:100] in first.text
    assert SOME[-50:] in first.text
    assert f"kept whole as {first.ref_id}: {len(SOME)} characters" in first.text
    pieces = [part.text.split(":\n", 1)[1] for part in parts[: len(reading)]]
    assert "".join(pieces) == SOME
    found, part = parts[len(reading) :]
    assert re.findall(r"^--- at (\d+)$", found.text, re.MULTILINE) == [str(SOME.index("Zeile 8642"))]
    assert part.text.endswith(":\nZeile 8642:")


# ---- RS-12 ---------------------------------------------------------------------------------------


def _missing(folder: Path) -> ResultStore:
    (folder / "file").write_text("in the way")
    return FileResults(folder / "file" / "results")


@pytest.mark.parametrize("disk", ["full", "read-only", "missing"])
async def test_rs_12_a_disk_that_fails_costs_the_middle_of_the_text_and_never_the_result(disk: str, tmp_path: Path) -> None:
    stores: dict[str, Callable[[], ResultStore]] = {
        "full": lambda: Failing(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
        "read-only": lambda: Failing(OSError(errno.EROFS, os.strerror(errno.EROFS))),
        "missing": lambda: _missing(tmp_path),
    }
    seen = Recorder()
    model = Reader(calls(("log", {})), says("done"))
    outcome = await geode.run("go", model=model, tools=[giving(HUGE)], results=stores[disk](), observe=seen)
    (found,) = results(answered(outcome))
    assert (found.kind, found.ref_id) == ("ok", "")
    assert found.text.startswith(HUGE[:1_000])
    assert found.text.endswith(HUGE[-1_000:])
    assert re.search(rf"\[… \d+ of {len(HUGE)} characters are left out here …\]", found.text)
    assert "r_" not in found.text
    assert 24_000 < estimate_tokens(found.text) <= 25_000
    assert [one.kind for one in seen.of(Notice)] == ["store_failed", "result_cut"]


# ---- SE-02 ---------------------------------------------------------------------------------------


async def test_se_02_no_word_of_the_model_or_a_tool_becomes_the_name_of_a_file(tmp_path: Path) -> None:
    folder, kept = tmp_path / "results", list[str]()

    @geode.tool(tier="safe", blocking=False)
    def look() -> str:
        kept.extend(sorted(os.listdir(folder)))
        return "looked"

    script = Reply((Called("a_b", {}, id="../../x"),))
    model = Reader(script, calls(("look", {})), says("done"))
    outcome = answered(await geode.run("go", model=model, tools=[giving(HUGE, "a_b"), look], results=folder))
    ref = results(outcome)[0].ref_id
    assert kept == [f"{ref}.json", f"{ref}.text"]
    assert re.fullmatch(r"r_[a-z2-7]{26}", ref)
    assert sorted(os.listdir(tmp_path)) == ["results"]


@pytest.mark.parametrize("ref", ["../../x", "..\\evil", "a/b", "/etc/passwd", "r_" + "a" * 26 + "/../../x", "C:\\x", "~/.ssh"])
async def test_se_02_nor_does_what_it_asks_for(ref: str, tmp_path: Path) -> None:
    (tmp_path / "x.text").write_text("secret")
    model = Reader(calls((RECALL, {"ref_id": ref})), says("done"))
    outcome = answered(await geode.run("go", model=model, tools=[giving("short")], results=tmp_path / "a" / "b"))
    (found,) = results(outcome)
    assert (found.kind, "is no ref_id" in found.text, "secret" in found.text) == ("failed", True, False)
    assert sorted(os.listdir(tmp_path)) == ["x.text"]


# ---- SE-03 ---------------------------------------------------------------------------------------


async def test_se_03_a_link_planted_where_a_result_will_lie_changes_nothing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst case: somebody knows the id beforehand."""
    folder, victim = tmp_path / "results", tmp_path / "victim"
    victim.write_text("precious")
    ref = new_ref(bytes(16))
    os.mkdir(folder, 0o700)
    for suffix in ("text", "json"):
        os.symlink(victim, folder / f"{ref}.{suffix}")
    monkeypatch.setattr("geode.entrypoints.long_results.secrets.token_bytes", bytes)
    outcome = answered(
        await geode.run("go", model=Reader(calls(("log", {})), says("done")), tools=[giving(HUGE)], results=folder)
    )
    (found,) = results(outcome)
    assert (found.kind, found.ref_id) == ("ok", "")
    assert _text(victim) == "precious"


async def test_se_03_nor_is_a_link_planted_afterwards_read(tmp_path: Path) -> None:
    folder, secret = tmp_path / "results", tmp_path / "secret"
    secret.write_text("secret")

    @geode.tool(tier="safe", blocking=False)
    def plant(ref_id: str, ctx: ToolContext[None]) -> str:
        os.unlink(folder / f"{ref_id}.text")
        os.symlink(secret, folder / f"{ref_id}.text")
        return "planted"

    model = Reader(calls(("log", {})), calls(("plant", {"ref_id": "REF"})), recalls(), says("done"))
    found = results(answered(await geode.run("go", model=model, tools=[giving(HUGE), plant], results=folder)))[-1]
    assert (found.kind, found.text.endswith("the store failed"), "secret" in found.text) == ("failed", True, False)
    assert _text(secret) == "secret"


def _text(path: Path) -> str:
    return path.read_text()


# ---- SE-04 ---------------------------------------------------------------------------------------

HOSTILE = "a" * 40 + "b"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", HOSTILE),
        ("(a|aa)+$", HOSTILE),
        ("(.*)*x", HOSTILE * 3),
        (r"^(\w+\s?)*$", "word " * 12 + "!"),
        ("(?=(a+))a*b\\1", HOSTILE),
    ],
)
async def test_se_04_a_pattern_that_explodes_is_answered_and_the_loop_goes_on(
    pattern: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geode.application.recalling.SEARCH_SECONDS", 0.5)
    steps: list[Step] = [calls(("log", {})), recalls(pattern=pattern), recalls(limit=5), says("done")]
    running = geode.run("go", model=Reader(*steps), tools=[giving((text + "\n") * 2_000)])
    outcome, pause = await heartbeat(running)
    _, found, after = results(answered(outcome))
    assert found.kind in ("ok", "failed")
    if found.kind == "failed":
        assert found.text == "the search took longer than 0.5 s: use a simpler pattern"
    assert after.text.endswith(":\n" + text[:5])
    # A search that holds the loop would hold it for ever; a busy machine holds it for a moment.
    assert pause < 5
