"""Files of the user alone, replaced at once, and one holder at a time."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from geode.adapters.private_files import Lock, LockHeld, holder_of, replace_private


def test_a_file_is_replaced_at_once_and_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_private(path, b"one")
    first = path.stat().st_ino
    replace_private(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_ino != first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_lock_has_one_holder_and_leaves_nothing(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    assert holder_of(tmp_path / "lock") == "this process"
    with pytest.raises(LockHeld) as caught:
        Lock(tmp_path / "lock")
    assert caught.value.who == "this process"
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []
    assert holder_of(tmp_path / "lock") is None
    Lock(tmp_path / "lock").release()


def test_who_waits_has_it_next(tmp_path: Path) -> None:
    counted: list[int] = []

    def count() -> None:
        for _ in range(20):
            lock = Lock(tmp_path / "lock", wait=True)
            before = len(counted)
            counted.append(before)
            assert len(counted) == before + 1
            lock.release()

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == list(range(160))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid":"x","host":1}', b"\xff"])
def test_a_holder_that_does_not_say_who_it_is(tmp_path: Path, content: bytes) -> None:
    lock = Lock(tmp_path / "lock")
    (tmp_path / "lock").write_bytes(content)
    with pytest.raises(LockHeld, match="another process"):
        Lock(tmp_path / "lock")
    lock.release()


def test_a_holder_on_another_machine_is_named_with_it(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text('{"pid": 7, "host": "far-away"}')
    assert holder_of(tmp_path / "lock") == "process 7 on far-away"


def test_a_process_that_ended_holds_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, os; from geode.adapters import private_files as f; f.Lock(pathlib.Path(sys.argv[1])); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "lock")], check=True)
    assert (tmp_path / "lock").exists()
    assert holder_of(tmp_path / "lock") is None
    Lock(tmp_path / "lock").release()
