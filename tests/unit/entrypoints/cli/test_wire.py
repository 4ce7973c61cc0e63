"""`geode wire` as a person types it: lines in, lines out, and what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.entrypoints.cli.commands import command, environment, geode, lines_of

FINE = json.dumps({"id": 1, "protocol": "chat", "request": {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}})
ANSWER = json.dumps(
    {"id": 3, "protocol": "chat", "response": {"choices": [{"finish_reason": "stop", "message": {"content": "Hi"}}]}}
)
ORPHAN = json.dumps(
    {"id": 2, "protocol": "chat", "request": {"model": "m", "messages": [{"role": "tool", "tool_call_id": "a"}]}}
)


def test_lines_from_stdin_and_from_files_in_their_order(project: Path) -> None:
    (project / "a.jsonl").write_text(f"{FINE}\n\n{ORPHAN}")
    (project / "b.jsonl").write_text(f"{FINE}\r\n")
    done = geode("wire", "check", "a.jsonl", "-", "b.jsonl", cwd=project, stdin=f"{ORPHAN}\n")
    assert [(one["id"], one["accepted"]) for one in lines_of(done.stdout)] == [(1, True), (2, False), (2, False), (1, True)]
    assert (done.returncode, done.stderr) == (1, "")


def test_nothing_refused_is_a_success(project: Path) -> None:
    done = geode("wire", "check", cwd=project, stdin=f"{FINE}\n")
    assert (done.returncode, lines_of(done.stdout)[0]["status"]) == (0, 200)
    assert geode("wire", "check", cwd=project).returncode == 0


@pytest.mark.parametrize(
    ("action", "more"),
    [
        (["check"], {"accepted": False, "status": None, "violations": []}),
        (["decode"], {}),
        (["transcode", "--to", "messages"], {}),
    ],
    ids=["check", "decode", "transcode"],
)
def test_a_line_that_is_none_gets_a_line_and_the_others_go_on(action: list[str], more: dict[str, Any], project: Path) -> None:
    good = ANSWER if action == ["decode"] else FINE
    done = geode("wire", *action, cwd=project, stdin=f'{good}\nx\n{{"id":7,"protocol":"chta"}}\n{good}\n')
    first, none, unknown, last = lines_of(done.stdout)
    assert first == last
    assert none == {"id": None, "line": 2, **more, "error": "line 2: not JSON: Expecting value (column 1)"}
    assert (unknown["id"], unknown["line"]) == (7, 3)
    assert unknown["error"].startswith('line 3: "protocol" is unknown: "chta"; did you mean chat?')
    assert (done.returncode, done.stderr) == (1, "")


def test_decode_and_transcode(project: Path) -> None:
    done = geode("wire", "decode", cwd=project, stdin=ANSWER)
    assert (done.returncode, lines_of(done.stdout)[0]["text"]) == (0, "Hi")
    done = geode("wire", "transcode", "--to", "chat:glm", "--model", "glm-5", cwd=project, stdin=FINE)
    (shown,) = lines_of(done.stdout)
    assert (done.returncode, shown["dialect"], shown["request"]["model"]) == (0, "glm", "glm-5")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wire"], "the following arguments are required: ACTION"),
        (["wire", "transcode"], "the following arguments are required: --to"),
        (["wire", "transcode", "--to", "chat:anthropic"], "names no dialect of chat: openai, openrouter, glm, generic"),
        (["wire", "transcode", "--to", "messages:"], "names no dialect of messages: anthropic"),
        (["wire", "transcode", "--to", "smtp"], "names no wire: messages, responses, chat or chat:DIALECT"),
        (["wire", "check", "--too", "x"], "there is no argument --too"),
    ],
)
def test_wrong_use(arguments: list[str], said: str, project: Path) -> None:
    done = geode(*arguments, cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_file_that_is_not_there(project: Path) -> None:
    done = geode("wire", "check", "gone.jsonl", cwd=project)
    assert (done.returncode, done.stderr) == (74, "geode wire: No such file or directory: gone.jsonl\n")


def test_each_result_comes_before_the_next_line(project: Path) -> None:
    process = subprocess.Popen(
        command("wire", "check"), cwd=project, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for id, given in ((1, FINE), (2, ORPHAN)):
            process.stdin.write(f"{given}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == id
        process.stdin.close()
    assert process.returncode == 1


@pytest.mark.parametrize("action", [["check"], ["decode"], ["transcode", "--to", "responses"]], ids=lambda it: it[0])
def test_no_sdk_is_loaded(action: list[str], project: Path) -> None:
    program = (
        "import sys; from geode.entrypoints.cli.main import main; "
        f"main(['wire', *{action!r}]); "
        "print([name for name in ('anthropic', 'openai', 'starlette') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project, input=FINE, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_checking_loads_no_adapter(project: Path) -> None:
    program = (
        "import sys; from geode.entrypoints.cli.main import main; main(['wire', 'check']); "
        "print([name for name in sys.modules if name.startswith(('geode.adapters', 'httpx'))], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project, input=FINE, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


MEASURED = """
import sys, tracemalloc
from geode.entrypoints.cli.main import main
tracemalloc.start()
main(sys.argv[1:])
print(tracemalloc.get_traced_memory()[1], file=sys.stderr)
"""


@pytest.mark.parametrize("action", [["check"], ["decode"], ["transcode", "--to", "messages"]], ids=lambda it: it[0])
def test_a_long_file_takes_no_more_memory_than_a_short_one(action: list[str], project: Path) -> None:
    both = json.dumps({**json.loads(FINE), **json.loads(ANSWER), "padding": "x" * 10_000})
    used = []
    for name, lines in (("short.jsonl", 10), ("long.jsonl", 1000)):
        (project / name).write_text(f"{both}\n" * lines)
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, "wire", *action, name],
            cwd=project,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert len(done.stdout.splitlines()) == lines
        used.append(int(done.stderr))
    assert used[1] < used[0] * 1.2


def long_line(rounds: int, *, id: str) -> str:
    """A history whose calls have ids of their own, or all the same one."""
    messages: list[Any] = [{"role": "user", "content": "go"}]
    for number in range(rounds):
        name = id.format(number)
        messages += [
            {"role": "assistant", "content": [{"type": "tool_use", "id": name, "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": "ok"}]},
        ]
    return json.dumps({"protocol": "messages", "request": {"model": "m", "max_tokens": 9, "messages": messages}})


@pytest.mark.parametrize("action", [["check"], ["transcode", "--to", "chat"]], ids=lambda it: it[0])
@pytest.mark.parametrize("id", ["call_{}", "same"])
def test_a_long_line_takes_time_by_its_length(action: list[str], id: str, project: Path) -> None:
    seconds = []
    for rounds in (1000, 8000):
        given, start = long_line(rounds, id=id), time.perf_counter()
        assert len(lines_of(geode("wire", *action, cwd=project, stdin=given).stdout)) == 1
        seconds.append(time.perf_counter() - start)
    # Were it the square, it would be 64 times as long.
    assert seconds[1] < 24 * seconds[0]
