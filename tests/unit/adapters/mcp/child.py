"""A server of the protocol written by hand: it reads and writes lines of JSON, and misbehaves as its plan says.

Run as `python child.py PLAN`, where PLAN is JSON. It shares nothing with the client: no package is imported.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

Message = dict[str, Any]
PLAN: Message = json.loads(sys.argv[1])
LOCK = threading.Lock()
TOOL: Message = {
    "name": "add",
    "description": "Adds",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}
SEEN: list[Message] = []


def line(text: str) -> None:
    with LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def send(**message: Any) -> None:
    line(json.dumps({"jsonrpc": "2.0", **message}))


def note(message: Message) -> None:
    """What came in is written down, for the test to look at."""
    SEEN.append(message)
    if PLAN.get("diary"):
        with open(PLAN["diary"], "a") as file:
            file.write(json.dumps({**message, "pid": os.getpid()}) + "\n")


def listed(message: Message) -> None:
    cursor = message.get("params", {}).get("cursor")
    for text in PLAN.get("during_list", []):
        send(method=text)
    time.sleep(PLAN.get("page_seconds", 0))
    if PLAN.get("hang") == "list":
        return
    if "crash_in_list" in PLAN:
        os._exit(PLAN["crash_in_list"])
    lists = sum(one.get("method") == "tools/list" for one in SEEN)
    if lists > 1 and "later_list_error" in PLAN:
        send(id=message["id"], error={"code": -32603, "message": PLAN["later_list_error"]})
        return
    if "lists" in PLAN:
        page = {"tools": PLAN["lists"][lists - 1]}
    elif "every_page" in PLAN:
        page = PLAN["every_page"]
    elif "pages" in PLAN:
        pages = PLAN["pages"]
        at = 0 if cursor is None else next(at + 1 for at, page in enumerate(pages) if page.get("nextCursor") == cursor)
        page = pages[at]
    else:
        page = {"tools": PLAN.get("tools", [TOOL])}
    if "numbered_cursors" in PLAN:
        page = {**page, "nextCursor": f"c{lists}"}
    send(id=message["id"], result=page)


def called(message: Message) -> None:
    name, arguments, id = message["params"]["name"], message["params"].get("arguments"), message["id"]
    for text in PLAN.get("before_answer", []):
        line(text)
    if name in PLAN.get("results", {}):
        send(id=id, result=PLAN["results"][name])
    elif name in TRICKS:
        TRICKS[name](id, arguments, message)
    else:
        answer(id, f"{name}({json.dumps(arguments)})")


def environment(id: Any, arguments: Message, message: Message) -> None:
    answer(id, json.dumps(dict(os.environ)))


def crash(id: Any, arguments: Message, message: Message) -> None:
    sys.stderr.write("about to fall\nthe disk is full\n")
    sys.stderr.flush()
    os._exit(3)


def hang(id: Any, arguments: Message, message: Message) -> None:
    """No answer comes."""


def long(id: Any, arguments: Message, message: Message) -> None:
    answer(id, "x" * arguments["letters"])


def slow(id: Any, arguments: Message, message: Message) -> None:
    threading.Timer(arguments["seconds"], answer, (id, arguments["say"])).start()


def progress(id: Any, arguments: Message, message: Message) -> None:
    token = message["params"]["_meta"]["progressToken"]
    send(method="notifications/progress", params={"progressToken": token, "progress": 1, "total": 2, "message": "half"})
    answer(id, "done")


def refuse(id: Any, arguments: Message, message: Message) -> None:
    send(id=id, error={"code": PLAN.get("code", -32602), "message": "not like this"})


def change(id: Any, arguments: Message, message: Message) -> None:
    for _ in range(arguments.get("times", 1)):
        send(method="notifications/tools/list_changed")
    answer(id, "changed")


def ask_client(id: Any, arguments: Message, message: Message) -> None:
    send(id="from-server", method=arguments["method"], params=arguments["params"])
    answer(id, json.dumps(wait_for("from-server")))


TRICKS = {trick.__name__: trick for trick in (environment, crash, hang, long, slow, progress, refuse, change, ask_client)}


def wait_for(id: str) -> Message:
    while True:
        message: Message = json.loads(sys.stdin.readline())
        note(message)
        if message.get("id") == id:
            return message


def answer(id: Any, text: str) -> None:
    send(id=id, result={"content": [{"type": "text", "text": text}]})


def handle(message: Message) -> None:
    note(message)
    method = message.get("method")
    if method == "initialize":
        if PLAN.get("hang") == "start":
            return
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}}
        send(id=message["id"], result={**result, "serverInfo": {"name": "by hand", "version": "7"}})
    elif method == "tools/list":
        listed(message)
    elif method == "tools/call":
        called(message)


def main() -> None:
    for text in PLAN.get("at_start", []):
        line(text)
    sys.stderr.write(PLAN.get("stderr", "") + "y" * PLAN.get("flood", 0))
    sys.stderr.flush()
    if PLAN.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "grandchild" in PLAN:
        # It writes down its id, ignores what asks it to end, and holds the pipes of its parent open.
        program = (
            "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
            f"open({PLAN['grandchild']!r}, 'w').write(str(os.getpid())); time.sleep(600)"
        )
        subprocess.Popen([sys.executable, "-c", program])
        while not (os.path.exists(PLAN["grandchild"]) and os.path.getsize(PLAN["grandchild"])):
            time.sleep(0.01)
    if "exit" in PLAN:
        os._exit(PLAN["exit"])
    for text in sys.stdin:
        handle(json.loads(text))
    if PLAN.get("stay"):
        time.sleep(600)


main()
