"""What each id at the end of a Misuse stands for: the one table behind `docs/errors.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MISUSE_IDS: Final[Mapping[str, str]] = {
    "adapter-factory": "What makes an adapter is a function of an `AdapterContext`, or of nothing.",
    "adapter-name": "The name of an adapter is one word without a slash: its models are `NAME/MODEL`.",
    "adapter-override": "An `Override` names who replaces an adapter (`origin`) and why (`reason`).",
    "adapter-policy": "`~/.geode/adapters.toml` says something that is no line of it, or overrides nobody.",
    "address-place": "A `.env` of the working directory moves the address of a provider whose key is from elsewhere.",
    "answer-type": "An answer was none of `Approve()`, `Deny(why)` and `Later()`, or the answers were no mapping by call id.",
    "approve-name": "`geode run --approve` names a tool that the run does not have.",
    "approve-type": "`approve=` takes a function of one call, or an object with `decide(question)`.",
    "branch-place": "A conversation branches only between rounds: never between a call and its result.",
    "call-id": "A conversation was built with a call id that is empty or occurs twice; `Conversation.repaired` mends it.",
    "capability": "`Capabilities` takes the words that its docstring names, and no others.",
    "cache": '`cache=` is "auto" or "off".',
    "config-file": "A file of the configuration is no TOML, or cannot be read; the message names the line and the column.",
    "config-key": "There is no setting of this name; the message has the closest one, and the place where it is written.",
    "config-value": "A setting has a value of the wrong type, or an empty one; the message names the line and the column.",
    "context-twice": "A tool takes its `ToolContext` twice; one is enough.",
    "chat-command": "A line of a chat that begins with a slash names no command, or says more than its command takes.",
    "conversation-type": "`conversation=` takes a `Conversation`: `Conversation.loads(text)` makes one of stored text, "
    "`geode.conversation_from(wire, list)` one of the messages of another program.",
    "conversation-id": "The id of a stored conversation is a name for a file: letters, digits, `_`, `-` and `.`.",
    "cost-unknown": "A budget of dollars needs models whose calls have a known price, or a provider that says what it charged.",
    "count-tokens-type": "`count_tokens=` takes a function that gives the number of tokens of a text.",
    "definition": "A definition of a tool lacks something, or says something that none has; the message has file and line.",
    "definition-handlers": "A definition has no function of its name, or one that cannot take what its schema names; or a "
    "function of `handlers=` is of no definition.",
    "deps-type": "A tool's `ToolContext[D]` wants other dependencies than `deps=` gives.",
    "emulator-address": "`geode emulate` cannot listen there: the address is taken, or is none of this machine's loopback.",
    "effort": "An effort, given or configured, is a word that the model takes, for example `low`.",
    "empty-prompt": "A prompt says nothing.",
    "empty-turn": "A conversation was built with an assistant turn that says nothing.",
    "entered-twice": "A session is entered once, and a `Runtime` is open once at a time.",
    "env-file": "A line of a `.env` file cannot be read, or the file cannot.",
    "fallback-setting": "A fallback does not take a setting of the session, such as its effort; none is sent otherwise.",
    "fallback-twice": "A chain of models names each model once; all attempts on it are made before the next one is asked.",
    "fallbacks-type": "`fallbacks=` takes a list of model ids and adapters, the models after the primary in their order.",
    "field-default": "A pydantic `Field` is the default of a parameter; it belongs into `Annotated[…]`.",
    "hooks-type": "`hooks=` takes a `Hooks` or a list of them; a `Hooks` takes functions, and a `Veto` a text.",
    "journal-folder": "The folder that `geode runs --journal` names holds no runs.",
    "journal-reads": "Resuming a run by its id needs a journal that is kept, for example a folder.",
    "journal-type": "`journal=` takes a folder, or an object with the methods of `geode.ports.Journal`.",
    "json-file": "A JSON file cannot be read, is no JSON, or has a key twice; the message names the line.",
    "key-form": "A key has white space, a line end or letters beyond ASCII in it, which no key has.",
    "key-place": "The file or the command that a key comes from cannot be used; the message says why, and what to do.",
    "max-sessions": "`max_sessions` counts the sessions that a Runtime lends at once: a whole number of 1 or more.",
    "mcp-config": "A file declares an MCP server that cannot be used, for example with a variable that is not set; the message "
    "has file and line.",
    "mcp-name": "`geode mcp check` names a server that is not configured.",
    "mcp-server": "An `McpServer` is declared in a way that cannot work; the message says what to write.",
    "mcp-start": "An MCP server cannot be begun: its command is not on PATH, or a variable that it is to be given is not set.",
    "media-bytes": "The bytes of an `Image` or a `Document` are empty or of another type than it says; they may have been cut "
    "or encoded on their way.",
    "media-data": "An `Image` and a `Document` hold bytes; for an address there are `ImageUrl` and `DocumentUrl`.",
    "media-type": "An `Image` is png, jpeg, gif or webp, a `Document` is a PDF or plain text.",
    "media-url": "`ImageUrl` and `DocumentUrl` take an http or https address.",
    "messages-type": "`conversation_from` takes a list of JSON objects: the messages of a request, or the items of its input.",
    "missing-extra": "A package that this needs is not installed; the message names the extra.",
    "model-choice": "A model cannot be chosen: it is not reached, does not take the effort, or does not fit beside the others.",
    "model-type": "`model=` takes a model id or an adapter.",
    "no-annotation": "A tool's parameter has no type, so no schema could tell a model what to fill in.",
    "no-key": "The provider's key is in none of the places that the message names.",
    "no-model": "Nothing names a model: neither `model=` nor any place of the configuration; the message lists them.",
    "no-program": "An adapter over a command line program needs the program, on PATH or where `bin` says.",
    "no-targets": "`call_with_failover` takes the models that it may ask, the first of them first.",
    "no-terminal": "Asking and picking need a terminal; the message says what to write where there is none.",
    "not-a-list": "`tools=` takes a list.",
    "not-a-tool": "What was given as a tool is no function, no method, no object that can be called and no `Tool`.",
    "not-suspended": "Only the snapshot of a `Suspended` outcome can be resumed.",
    "observe-type": "`observe=` takes a function of one event, or a list of them.",
    "one-run": "A session runs one run at a time; a `Runtime` lends a session to each.",
    "open-round": "A conversation was built whose last calls have no results; `Conversation.repaired` mends it.",
    "option-alone": "An option of the command line says nothing without another one, which the message names.",
    "opaque-json": "An opaque item of a turn holds text that is no JSON; it could never be sent back.",
    "other-loop": "A `Runtime` belongs to the event loop that it was opened in; make one for each.",
    "policy-type": "`policy=` takes a `Policy`.",
    "policy-value": "A limit is out of its range.",
    "prompt-type": "A prompt is text, an `Image`, a `Document`, or a list of them.",
    "provider": "A `Provider` has a name, a wire, a dialect, an address or a key that cannot work.",
    "providers-type": "`providers=` takes a list of `Provider`.",
    "response-schema": "`response_schema=` is a JSON Schema, and without one an answer has a text and no value.",
    "routing-file": "`~/.geode/routing.toml` says something that cannot be; the message names file, line and column.",
    "result-id": "The id of a stored result is `r_` and 26 letters of a-z2-7: geode makes it up, nobody else.",
    "result-span": "A part of a stored result begins at a character of 0 or more, and has 0 or more of them.",
    "results-type": "`results=` takes a folder, or an object with the methods of `geode.ports.ResultStore`.",
    "result-limits": "`Policy(result_limits_of=…)` names a tool that the session does not have.",
    "renderers-type": "`renderers=` takes functions of one value by the class that they are for.",
    "resizer-type": "`resizer=` takes an object with the method of `geode.ports.ImageResizer`.",
    "run-id": "A run's id is a name for a file: letters, digits, `_` and `-`.",
    "runs-tools": "A run waits for a person with calls of tools that `geode runs resume` was given by no `--tools`.",
    "runs-which": "`geode runs` was given the beginning of an id that no run has, or that several have.",
    "runtime-closed": "A `Runtime` lends sessions only inside its `async with`.",
    "script": "The script for `geode emulate` cannot be read; the message names the place in it.",
    "script-step": "A step of a scripted model was written in a way that says nothing; the message has the right one.",
    "session-closed": "A session runs only inside its `async with`.",
    "snapshot-type": "`resume(…)` takes the text that `Suspended.snapshot` is.",
    "stale-snapshot": "The run has gone on since this snapshot was made, as its journal shows.",
    "source-twice": "Two sources of tools have one name; it tells their tools apart.",
    "subagent-setting": "A setting of `geode.subagent` is that of the session which it is used in, or of the wrong kind.",
    "system-type": "`system=` takes text.",
    "temperature": "`temperature=` takes a finite number.",
    "text-now": "`ctx.results.text_now(…)` is for tools in threads of their own; a coroutine awaits `ctx.results.text(…)`.",
    "thinking": '`thinking=` takes "adaptive" or a budget of 1024 tokens or more.',
    "tool-choice": "`tool_choice=` is no accepted spelling, or names a tool that is not there.",
    "tool-name": "A tool's name is blank, or has letters or a length that providers refuse.",
    "tool-reconcile": "`reconcile=` takes a function of the arguments and the `ToolContext`.",
    "tool-recovery": "A tool's `alternative` or `fallback` is no tool of the session, or could never stand in for it.",
    "tool-setting": "A setting of `@tool` is none that it takes.",
    "tool-schema": 'A tool\'s `input_schema` is no JSON Schema, one too big to be checked, or none of `type: "object"`.',
    "tool-timeout": "A tool's deadline is no number of seconds above 0.",
    "toolkit": "`toolkit=` takes a `Toolkit`, several, or a function that chooses such; the names in it are names of tools.",
    "tool-twice": "Two tools of a session have the same name.",
    "tool-type": "A tool's parameter has a type that no JSON Schema describes.",
    "tools-argument": "`geode run --tools` takes MODULE:NAME, or FILE.json:MODULE for definitions.",
    "tools-module": "The module that `--tools` names cannot be imported.",
    "tools-name": "The module that `--tools` names has no such tools in it.",
    "unbound-method": "A method was given without its object; a tool is the method of an instance.",
    "unknown-annotation": "A tool's annotation names something that is not known where the tool was written.",
    "unknown-call": "An answer is for a call that does not wait for one.",
    "unknown-model": "No provider serves a model of this id.",
    "unknown-name": "A setting or a limit has no such name; the message has the closest one.",
    "unknown-tier": "A tier is none of safe, mcp_trusted, expensive, write and dangerous.",
    "unpaired": "A conversation was built with a call and a result that do not pair; `Conversation.repaired` mends it.",
    "var-args": "A tool takes `*args` or `**kwargs`, which no schema can describe.",
    "who-pays": "An adapter over a command line program is told who pays: an API key (`key`) or its own login (`login`).",
    "wire": "A wire is messages, responses or chat.",
}


def errors_page() -> str:
    """The text of `docs/errors.md`."""
    rows = [f"| `{id}` | {explained} |" for id, explained in sorted(MISUSE_IDS.items())]
    return "\n".join([_HEAD, *rows, ""])


_HEAD: Final = """# Misuse, by id

Every `geode.Misuse` says what is wrong, where, and what to do instead, and ends with an id in brackets.
It is raised where the mistake was made, before any request leaves. What a provider or a tool does wrong
is never a Misuse: it is in the outcome of the run.

| id | meaning |
|---|---|"""
