"""Runs in files: what is written can be read, what was cut off is left out, what was changed is told."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from geode.adapters.journal_file import FileJournal
from geode.adapters.journal_memory import MemoryJournal
from geode.domain import codec
from geode.domain.errors import Misuse
from geode.domain.loop.inputs import Input, ModelReplied, ToolFinished
from geode.domain.loop.recording import replay
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.verdicts import Valid
from geode.ports.journal import Journal, JournalError, JournalStore
from tests.unit.domain.builders import begun, call, ok, reply

INPUTS: tuple[Input, ...] = (
    ModelReplied(1.0, reply(call("a"), "Grüße\u2028\r"), (Valid(),)),
    ToolFinished(2.0, ok("a")),
    ModelReplied(3.0, reply("done")),
)


def write(journal: Journal, *inputs: Input, left: bool = True) -> State:
    state = begun()
    journal.began(state)
    for input in inputs:
        journal.happened(state, input)
        state = step(state, input)
    if left:
        journal.left(state)
    return state


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a run that came to its end: a head, a beginning, three inputs and an end."""
    write(FileJournal(tmp_path), *INPUTS)
    return tmp_path / "run-1.jsonl"


def why(folder: Path) -> str:
    with pytest.raises(JournalError) as caught:
        FileJournal(folder).recorded("run-1")
    with pytest.raises(JournalError) as again:
        FileJournal(folder).taken("run-1")
    assert str(again.value) == str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("fsync", ["input", "round", "never"])
def test_what_was_written_is_read(tmp_path: Path, fsync: Any) -> None:
    last = write(FileJournal(tmp_path, fsync=fsync), *INPUTS)
    memory = MemoryJournal()
    write(memory, *INPUTS)
    for journal in (FileJournal(tmp_path), memory):
        recording = journal.recorded("run-1")
        found = replay(recording)
        assert (found.state, found.inputs, found.divergence, recording.torn) == (last, 3, None, False)
        assert journal.run_ids() == ("run-1",)
    assert FileJournal(tmp_path).recorded("run-1") == memory.recorded("run-1")


def test_every_line_is_json_with_a_checksum_that_covers_the_line_before(file: Path) -> None:
    lines = [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]
    assert [set(line) for line in lines] == [{"sum", "is"}] * 6
    assert lines[0]["is"] == {"geode_journal": 1, "run_id": "run-1"}
    assert len({line["sum"] for line in lines}) == 6


def test_files_are_the_users_alone(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write(FileJournal(file.parent / "new" / "er"), left=False)
    assert stat.S_IMODE((file.parent / "new" / "er").stat().st_mode) == 0o700
    assert stat.S_IMODE((file.parent / "new" / "er" / "run-1.lock").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("fsync", "synced"), [("input", 5), ("round", 4), ("never", 0)], ids=["every line", "replies, beginning and end", "none"]
)
def test_what_is_synced(tmp_path: Path, fsync: Any, synced: int, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[int] = []

    def noted(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            files.append(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write(FileJournal(tmp_path, fsync=fsync), *INPUTS)
    # The head goes to disk with the beginning.
    assert len(files) == synced


# ---- cut off -----------------------------------------------------------------------------------


def test_wherever_the_file_is_cut_what_was_whole_is_read(file: Path) -> None:
    whole = file.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    places = {
        0,
        1,
        len(whole) - 1,
        *ends,
        *(end - 1 for end in ends),
        *(end + 1 for end in ends[:-1]),
        *range(0, len(whole), 97),
    }
    for place in sorted(places):
        file.write_bytes(whole[:place])
        recording = FileJournal(file.parent).recorded("run-1")
        lines = sum(end <= place for end in ends)
        assert len(recording.records) == max(0, lines - 1)
        assert recording.torn == (place not in {0, *ends})


def test_what_was_cut_off_is_removed_and_written_over(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = file.read_bytes()
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    file.write_bytes(whole[: ends[2] + 5])
    journal = FileJournal(file.parent)
    recording = journal.taken("run-1")
    assert recording.torn
    assert "run-1.jsonl: its last line was cut off and is left out" in caplog.text
    assert file.read_bytes() == whole[: ends[2]]
    state = replay(recording).state
    assert state is not None
    journal.began(state)
    journal.left(state)
    again = FileJournal(file.parent).recorded("run-1")
    assert not again.torn
    assert [type(record).__name__ for record in again.records] == ["Began", "Happened", "Began", "Left"]
    assert replay(again).divergence is None


def test_zeros_that_a_power_cut_left_are_cut_off(file: Path) -> None:
    whole = file.read_bytes()
    for tail in (b"\0" * 4096, b"\0" * 10 + b"\n"):
        file.write_bytes(whole + tail)
        recording = FileJournal(file.parent).recorded("run-1")
        assert (recording.torn, len(recording.records)) == (True, 5)


# ---- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 6])
def test_a_changed_line_is_named(file: Path, number: int) -> None:
    lines = file.read_bytes().split(b"\n")
    line = lines[number - 1]
    for changed in (
        line[:-3] + bytes([line[-3] ^ 1]) + line[-2:],
        line[:20] + b"x" + line[21:],
        b"",
        b"{}",
        b"\xff\xfe",
        b"[" * 5000,
    ):
        file.write_bytes(b"\n".join([*lines[: number - 1], changed, *lines[number:]]))
        text = why(file.parent)
        assert text.startswith(f"{file}, line {number}: ")
        assert text.endswith("Restore the file, or cut it before this line and lose what came after")


@pytest.mark.parametrize("change", ["lost", "twice", "swapped"])
def test_lines_that_are_missing_or_moved_are_noticed(file: Path, change: str) -> None:
    lines = file.read_bytes().split(b"\n")
    match change:
        case "lost":
            del lines[2]
        case "twice":
            lines.insert(2, lines[2])
        case _:
            lines[2], lines[3] = lines[3], lines[2]
    file.write_bytes(b"\n".join(lines))
    number = 4 if change == "twice" else 3
    assert f"line {number}: its checksum does not fit: it was changed, or a line before it is missing" in why(file.parent)


def test_a_newer_format_is_refused_with_both_numbers(file: Path) -> None:
    lines = file.read_bytes().split(b"\n")
    for head in (b'{"is":{"geode_journal":2},"sum":"0"}', lines[0].replace(b'"geode_journal":1', b'"geode_journal":2')):
        file.write_bytes(b"\n".join([head, *lines[1:]]))
        assert "line 1: the journal has format 2; this geode reads 1. Use a newer geode" in why(file.parent)


def test_a_newer_value_in_a_line_is_refused_with_both_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "FORMAT", 7)
    write(FileJournal(tmp_path))
    monkeypatch.undo()
    assert "line 2: stored Entry has format 7; this geode reads 1" in why(tmp_path)


@pytest.mark.parametrize(
    "content", [b"hello\n", b"null\n", b"\n\n\n", b"{}\n" * 3, os.urandom(3000).replace(b"\0", b"x") + b"\n"]
)
def test_another_file_is_none_of_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run-1.jsonl").write_bytes(content)
    assert ", line 1: " in why(tmp_path)


def test_an_empty_file_is_a_run_that_never_began(tmp_path: Path) -> None:
    (tmp_path / "run-1.jsonl").touch()
    assert FileJournal(tmp_path).recorded("run-1").records == ()


# ---- writing that fails ------------------------------------------------------------------------


def test_a_disk_that_is_full_leaves_no_half_line_and_nothing_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = FileJournal(tmp_path)
    state = begun()
    journal.began(state)
    before = (tmp_path / "run-1.jsonl").read_bytes()
    really = os.write
    calls = 0

    def half(descriptor: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise OSError(28, "No space left on device")
        return really(descriptor, data[:10])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(JournalError, match=r"run-1\.jsonl: No space left on device\. It takes a folder with room"):
        journal.happened(state, INPUTS[0])
    monkeypatch.undo()
    assert (tmp_path / "run-1.jsonl").read_bytes() == before
    with pytest.raises(JournalError, match="could not be written before, so nothing more is"):
        journal.happened(state, INPUTS[0])
    journal.left(state)
    assert (tmp_path / "run-1.jsonl").read_bytes() == before
    assert not (tmp_path / "run-1.lock").exists(), "whoever repairs the disk can go on"


# ---- one writer --------------------------------------------------------------------------------


def test_a_second_writer_is_refused_with_who_holds_it(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path)
    write(journal, *INPUTS[:1], left=False)
    for other in (journal, FileJournal(tmp_path)):
        with pytest.raises(JournalError, match="run run-1 is being run already, by this process; wait for its end"):
            other.taken("run-1")
    with pytest.raises(JournalError, match="by this process"):
        FileJournal(tmp_path).began(begun())
    assert len(FileJournal(tmp_path).recorded("run-1").records) == 2, "looking is free"
    journal.let_go("run-1")
    assert FileJournal(tmp_path).taken("run-1").records


HOLDER = """
import sys
from geode.adapters.journal_file import FileJournal
FileJournal(sys.argv[1]).taken("run-1")
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_process_that_died_holds_nothing(tmp_path: Path) -> None:
    write(FileJournal(tmp_path), *INPUTS[:1])
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "taken\n"
        with pytest.raises(JournalError, match=f"by process {holder.pid}; wait for its end, or end that process"):
            FileJournal(tmp_path).taken("run-1")
        holder.kill()
        holder.wait()
        assert (tmp_path / "run-1.lock").exists()
        assert FileJournal(tmp_path).taken("run-1").records


def test_of_many_that_want_it_one_has_it(tmp_path: Path) -> None:
    write(FileJournal(tmp_path), *INPUTS[:1])
    taken = 0
    journals = [FileJournal(tmp_path) for _ in range(20)]
    for journal in journals:
        try:
            journal.taken("run-1")
            taken += 1
        except JournalError:
            pass
    assert taken == 1


# ---- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", "a.b", "x" * 129, "a\n", "\0", "ä"])
def test_an_id_is_never_a_path(tmp_path: Path, run_id: str) -> None:
    for method in (FileJournal(tmp_path).recorded, FileJournal(tmp_path).taken):
        with pytest.raises(Misuse) as caught:
            method(run_id)
        assert caught.value.id == "run-id"


def test_a_link_is_not_followed(file: Path) -> None:
    (file.parent / "link.jsonl").symlink_to(file)
    journal = FileJournal(file.parent)
    assert journal.run_ids() == ("run-1",)
    with pytest.raises(JournalError, match=r"link\.jsonl cannot be read"):
        journal.recorded("link")


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "nowhere")
    assert journal.run_ids() == ()
    for method in (journal.recorded, journal.taken):
        with pytest.raises(JournalError, match="has no run 'run-9'"):
            method("run-9")
    assert not (tmp_path / "nowhere").exists()


def test_runs_come_in_the_order_in_which_they_were_written_to(tmp_path: Path) -> None:
    for number, name in enumerate(("b", "a", "c")):
        path = tmp_path / f"{name}.jsonl"
        path.touch()
        os.utime(path, (number, number))
    (tmp_path / "other.txt").touch()
    (tmp_path / "folder.jsonl").mkdir()
    assert FileJournal(tmp_path).run_ids() == ("b", "a", "c")


def test_a_policy_that_is_none_is_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match='takes "input", "round" or "never", got \'always\''):
        FileJournal(tmp_path, fsync=cast("Any", "always"))


def test_both_are_journals_that_can_be_read(tmp_path: Path) -> None:
    assert isinstance(FileJournal(tmp_path), JournalStore)
    assert isinstance(MemoryJournal(), JournalStore)
