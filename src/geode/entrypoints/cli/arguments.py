"""The grammar of the command line. Nothing here imports what a subcommand needs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from geode import __version__
from geode.entrypoints.cli.chat_arguments import CHAT_EPILOG, MODEL_EPILOG, add_model_command
from geode.entrypoints.cli.config_arguments import CONFIG_EPILOG, add_about, add_config, add_json, add_models
from geode.entrypoints.cli.exit_codes import EXIT_CODES
from geode.entrypoints.cli.tools_arguments import MCP_EPILOG, TOOLS_EPILOG, add_mcp, add_tools, add_tools_options

# Written out, because the modules that know them are imported only by the commands that use them.
WIRES: Final = ("messages", "responses", "chat")
DIALECTS: Final = ("anthropic", "openai", "openrouter", "glm", "generic", "codex")
SPOKEN_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "messages": ("anthropic",),
    "responses": ("openai",),
    "chat": ("openai", "openrouter", "glm", "generic"),
}
DEFAULT_PORT: Final = 8765
DEFAULT_JOURNAL: Final = ".geode/runs"

_CODES: Final = "exit codes:\n" + "\n".join(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items())

_RUN_EPILOG: Final = f"""\
keys come from the environment or a .env file (ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, ZAI_API_KEY);
a server on this machine needs none. geode adapters shows the key of each, geode models ID how one is reached.

examples:
  geode run "What changed?" --model claude-sonnet-4-5 --tools app:search --tools app:read,write --approve write
  git diff | geode run - --model gpt-5.2 --system "Review this." --stream
  geode run "Who wrote it?" --model gpt-5.2 --schema person.json | jq .name
  geode run "Hi" --model my-llama --base-url http://gpu-3:8000/v1 --wire chat

{_CODES}
"""

_RUNS_EPILOG: Final = f"""\
geode run --journal DIR keeps a run as it happens. RUN is its id, or the beginning of it.

Resuming asks the model again and keeps every finished result. Calls that had been started run again where
they are safe or idempotent, are looked up where their tool can do that, and else are told to the model as of
unknown outcome. Tools, the system text and the schema are not kept: give the ones that the run had.

examples:
  geode run "Tidy up" --tools app:everything --approve all --journal {DEFAULT_JOURNAL}
  geode runs list
  geode runs resume 3f2a --tools app:everything --approve all
  geode runs replay 3f2a

{_CODES}
"""

_EMULATE_EPILOG: Final = """\
A script is a JSON list of steps, played one for each reply; without --script the emulator greets.
  [
    {"thinks": "I need the file.", "says": "I look.", "calls": [["read_file", {"path": "README.md"}]]},
    {"fails": 529, "retry_after": 1},
    {"says": "Done."}
  ]
words of a step: says, thinks, calls ([name, arguments] or [name, arguments, id]), refuses, pauses, cut;
  or one of: fails (a status), hangs, drops (connect, headers, before_output, after_output, before_end),
  malformed (html, not_json, error_in_200, error_in_stream, empty, wrong_shape).

Which step is due is read out of each request's own history, so any number of runs can play the
script, again and again. With --once the script is played once in all, one step for each request.
"""

_WIRE_EPILOG: Final = """\
A line is one exchange. All three read of it
  protocol   messages, responses or chat
  dialect    anthropic, openai, openrouter, glm, generic or codex; else it is told by
  host       such as api.openai.com; else it is the wire's own first one
  id         anything; it comes back with the result
and pass over what they do not know. A line that is no exchange gets a result with "error" and its number,
and the others go on. Files are read a line at a time, - or none is stdin.

check      reads request, and anthropic-version in request_headers or headers
           {"id","accepted","status","violations":[{"rule","at","message"}]}
           at is a JSON pointer into the request; status is what the server answers
decode     reads status, headers, and response (JSON or text) or sse (text)
           {"id","text","calls":[{"id","name","input"}],"stop","usage","failure"}
           failure is null or {"kind","status","code","retryable","retry_after","message"};
           a call whose arguments are no JSON object has their text in "unparsed"
transcode  reads request
           {"id","protocol","dialect","request","notes":[{"kind","at","message"}]}, which check reads in its turn
           kinds of notes, each for something that did not come along:
             server_tool   tools that the provider runs or defines
             opaque        items that only their maker understands, such as signed thinking
             media         media with no form there: they become words
             file_id       references to what the provider keeps
             sampling      every setting that has no neutral form, and what the model there does not take
             repaired      the history broke the laws and was mended

examples:
  geode wire check captured.jsonl
  geode wire decode captured.jsonl | jq .text
  geode wire transcode --to chat:openrouter --model openai/gpt-5.2 captured.jsonl | geode wire check
"""


def parser() -> argparse.ArgumentParser:
    """The whole grammar; `command` in the namespace is the subcommand."""
    top = argparse.ArgumentParser(
        prog="geode",
        description="Tool calling with large language models, in a conversation that never gets out of step.",
        epilog=f"geode COMMAND --help says more.\n\n{_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"geode {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (help, epilog, add_options) in _COMMANDS.items():
        add_options(
            commands.add_parser(
                name,
                help=help,
                description=help[0].upper() + help[1:] + ".",
                epilog=epilog,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
        )
    return top


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("prompt", metavar="PROMPT", help="what to do; - reads it from stdin")
    _add_model(run)
    add_tools_options(run)
    _add_limits(run)
    add_schema(run)
    output = run.add_argument_group("output", "without either: the answer on stdout")
    output.add_argument("--stream", action="store_true", help="text as it comes; tool calls and results on stderr")
    output.add_argument(
        "--jsonl", action="store_true", help="every event as one JSON object a line on stdout; deltas too with --stream"
    )
    _add_journal(run, "keep the run there as it happens, for geode runs (default: what is configured, else it is not kept)")


def add_schema(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--schema", metavar="FILE.json", help="a JSON Schema that the answer has to fit; its JSON goes to stdout"
    )


def _add_chat(chat: argparse.ArgumentParser) -> None:
    _add_model(chat)
    add_tools_options(chat)
    _add_limits(chat, "of each prompt's run")
    _add_journal(
        chat, "keep each run there as it happens, for /resume and geode runs (default: GEODE_JOURNAL, else none is kept)"
    )


def _add_limits(command: argparse.ArgumentParser, what: str = "") -> None:
    limits = command.add_argument_group("limits", what or None)
    limits.add_argument("--max-rounds", metavar="N", type=_count, help="model rounds at most (default 50)")
    limits.add_argument("--time", metavar="SECONDS", type=_seconds, help="wall time at most")


def _add_model(command: argparse.ArgumentParser) -> None:
    model = command.add_argument_group("model")
    model.add_argument("--model", metavar="ID", help="the model (default: what is configured, see geode config)")
    model.add_argument("--effort", metavar="WORD", help="how hard it is to think, in its own words: sent, or refused")
    model.add_argument(
        "--fallback",
        metavar="ID",
        action="append",
        default=[],
        help="a model to go on with where all attempts fail; repeatable",
    )
    model.add_argument("--system", metavar="TEXT", default="", help="the system text")
    model.add_argument("--base-url", metavar="URL", type=_address, help="another address for the model's provider")
    model.add_argument(
        "--wire", choices=WIRES, help="with --base-url: a server of your own, which speaks this wire and serves any model id"
    )
    model.add_argument("--key-from", metavar="VARIABLE", help="with --wire: the variable with the key of your server")


def _add_journal(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument("--journal", metavar="DIR", help=help)


def _add_runs(runs: argparse.ArgumentParser) -> None:
    actions = runs.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (help, names_one) in _ACTIONS.items():
        action = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        if names_one:
            action.add_argument("run", metavar="RUN", help="the id of the run, or the beginning of it")
        _add_journal(action, f"where runs are kept (default: what is configured, else {DEFAULT_JOURNAL})")
        if name == "resume":
            _add_model(action)
            add_tools_options(action)
            add_schema(action)
            action.add_argument("--jsonl", action="store_true", help="every event as one JSON object a line on stdout")
        else:
            action.add_argument("--json", action="store_true", help="one JSON value on stdout")


_ACTIONS: Final[Mapping[str, tuple[str, bool]]] = {
    "list": ("say which runs there are, and where each stopped", False),
    "show": ("tell what happened in a run", True),
    "resume": ("go on with a run that waits for a person, or whose process ended", True),
    "replay": ("decide everything in a run again, from what was written, and compare", True),
}


def _add_emulate(emulate: argparse.ArgumentParser) -> None:
    emulate.add_argument("--host", default="127.0.0.1", help="a loopback address (default 127.0.0.1)")
    emulate.add_argument("--port", type=_port, default=DEFAULT_PORT, help=f"default {DEFAULT_PORT}; 0 takes a free one")
    emulate.add_argument("--script", metavar="FILE.json", help="what the model does, step by step")
    emulate.add_argument("--dialect", choices=DIALECTS, help="whose grammar and rules (default: each wire's own first one)")
    emulate.add_argument("--once", action="store_true", help="play the script once, then answer with an error")


def _add_wire(wire: argparse.ArgumentParser) -> None:
    actions = wire.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, help in (
        ("check", "would the server take these requests?"),
        ("decode", "what do these answers say?"),
        ("transcode", "the same requests on another wire, with a note for what does not come along"),
    ):
        action = actions.add_parser(
            name, help=help, description=help, epilog=_WIRE_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        action.add_argument("files", metavar="FILE", nargs="*", help="JSON lines (default: stdin)")
        if name == "transcode":
            action.add_argument("--to", metavar="WIRE[:DIALECT]", type=_target, required=True, help="messages, responses, chat")
            action.add_argument("--model", metavar="ID", help="the model there (default: the same)")


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument("--wire", choices=WIRES, help="only this one")
    demo.add_argument("--keep", metavar="FOLDER", help="write the reports here, not into a temporary folder")
    demo.add_argument("--no-color", action="store_true", help="plain text")


_COMMANDS: Final[Mapping[str, tuple[str, str, Callable[[argparse.ArgumentParser], None]]]] = {
    "run": ("give a prompt and tools to a model, and run to the end", _RUN_EPILOG, _add_run),
    "chat": ("talk with a model, with tools, in one conversation", f"{CHAT_EPILOG}{_CODES}\n", _add_chat),
    "model": ("pick the models of the roles and the effort, or set them", MODEL_EPILOG, add_model_command),
    "runs": ("list, show, resume and replay the runs that were kept", _RUNS_EPILOG, _add_runs),
    "tools": ("list the tools that a run would have, or check them", f"{TOOLS_EPILOG}\n{_CODES}\n", add_tools),
    "mcp": ("list the MCP servers that are configured, or open and check them", f"{MCP_EPILOG}\n{_CODES}\n", add_mcp),
    "config": ("read, set and explain what is configured", CONFIG_EPILOG, add_config),
    "models": ("say what is known of models: window, effort, price, and who serves them", "", add_models),
    "adapters": ("list the adapters: whose they are, how they are reached, and who let them in", "", add_json),
    "about": ("say what is in force: the model, the settings, and the files that they come from", "", add_about),
    "emulate": ("play a model server on this machine, for all three wires", _EMULATE_EPILOG, _add_emulate),
    "wire": ("look at captured traffic: check requests, decode answers, move them to another wire", _WIRE_EPILOG, _add_wire),
    "demo": (
        "one run for each wire, offline and without a key, on the files of the current directory",
        "The model is played by the emulator; the SDKs, HTTP, the tools and the files are real.",
        _add_demo,
    ),
}


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0 to 65535)")
    return int(text)


def _target(text: str) -> tuple[str, str]:
    wire, colon, dialect = text.partition(":")
    if wire not in SPOKEN_IN:
        raise argparse.ArgumentTypeError(f"{text!r} names no wire: messages, responses, chat or chat:DIALECT")
    spoken = SPOKEN_IN[wire]
    if colon and dialect not in spoken:
        raise argparse.ArgumentTypeError(f"{text!r} names no dialect of {wire}: {', '.join(spoken)}")
    return wire, dialect or spoken[0]


def _address(text: str) -> str:
    if not text.startswith(("http://", "https://")) or not text.partition("://")[2]:
        from geode.domain.addresses import shown_address

        raise argparse.ArgumentTypeError(f"{shown_address(text)!r} is no address: http://HOST:PORT or https://…")
    return text.rstrip("/")
