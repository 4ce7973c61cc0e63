"""Which adapter answers a model id, under which name, by which credential, and where: the table of spec section 8.

Expected values: spec section 8 and 10, wire facts F (addresses), the cases CF-02 and CF-03.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from geode.domain.errors import Misuse
from geode.domain.provider import Provider
from geode.domain.targets import BUILT_IN
from geode.entrypoints.config import configuration
from geode.entrypoints.routes.connections import find_connection
from geode.entrypoints.routes.registry import bootstrap_builtins, forget_adapters

ANTHROPIC = "https://api.anthropic.com"
OPENAI = "https://api.openai.com/v1"
CODEX = "https://chatgpt.com/backend-api/codex"
OPENROUTER = "https://openrouter.ai/api/v1"
GLM = "https://api.z.ai/api/paas/v4"
GLM_CODING = "https://api.z.ai/api/coding/paas/v4"
LAB = "http://gpu-3:8000/v1"
DESK = "http://127.0.0.1:1234/v1"

# Two servers as an operator declares them, and rules of their own.
DECLARED = f"""
[providers.lab]
base_url = "{LAB}"
key = "env:LAB_KEY"

[providers.desk]
base_url = "{DESK}"
wire = "responses"
"""

# A program that is there on any machine stands for the one of the adapter.
PROGRAM = '[providers.{}]\nbin = "sh"\nkey = "env:LAB_KEY"\n'


@dataclass(frozen=True)
class Row:
    """A model id in a configuration, and what is to come of it."""

    id: str
    adapter: str
    model: str
    key: str
    url: str
    routing: str = ""
    config: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    providers: tuple[Provider, ...] = ()


def direct(id: str, adapter: str, key: str, url: str) -> Row:
    return Row(id, adapter, id, key, url)


OWN = Provider("anthropic-payg", "messages", "http://127.0.0.1:1", "mine")
SHED = Provider("shed", "chat", "http://127.0.0.1:2/v1")
ROWS = (
    # Every built-in by the beginning of the id, and by its own name.
    *(direct(id, "anthropic-payg", "ANTHROPIC_API_KEY", ANTHROPIC) for id in ("claude-opus-5-5", "claude-3-7-sonnet-latest")),
    *(
        direct(id, "openai-payg", "OPENAI_API_KEY", OPENAI)
        for id in ("gpt-5.2", "gpt-6-sol", "gpt-4o-2024-11-20", "chatgpt-4o-latest", "o1", "o1-mini", "o3", "o3-pro", "o4-mini")
    ),
    direct("ft:gpt-4o:acme::x1", "openai-payg", "OPENAI_API_KEY", OPENAI),
    direct("gpt-5.3-codex", "openai-payg", "OPENAI_API_KEY", OPENAI),
    *(direct(id, "glm-payg", "ZAI_API_KEY", GLM) for id in ("glm-5.3", "glm-4.7-flash")),
    Row("anthropic-payg/claude-opus-5-5", "anthropic-payg", "claude-opus-5-5", "ANTHROPIC_API_KEY", ANTHROPIC),
    Row("anthropic-oauth/claude-opus-5-5", "anthropic-oauth", "claude-opus-5-5", "ANTHROPIC_AUTH_TOKEN", ANTHROPIC),
    Row("openai-payg/gpt-5.2", "openai-payg", "gpt-5.2", "OPENAI_API_KEY", OPENAI),
    Row("codex-oauth/gpt-6-sol", "codex-oauth", "gpt-6-sol", "codex-oauth.json", CODEX),
    Row("openrouter-payg/x/y", "openrouter-payg", "x/y", "OPENROUTER_API_KEY", OPENROUTER),
    Row("glm-payg/glm-5.3", "glm-payg", "glm-5.3", "ZAI_API_KEY", GLM),
    Row("glm-coding-plan/glm-5.3", "glm-coding-plan", "glm-5.3", "ZAI_CODING_API_KEY", GLM_CODING),
    # A maker's name is a namespace too: the model is the maker's, whatever it is called.
    Row("anthropic/claude-opus-5-5", "anthropic-payg", "claude-opus-5-5", "ANTHROPIC_API_KEY", ANTHROPIC),
    Row("openai/claude-like", "openai-payg", "claude-like", "OPENAI_API_KEY", OPENAI),
    Row("glm/gpt-like", "glm-payg", "gpt-like", "ZAI_API_KEY", GLM),
    # The relay: one namespace is taken off, and wins over what the rest begins or ends with.
    Row(
        "openrouter/anthropic/claude-opus-4.5", "openrouter-payg", "anthropic/claude-opus-4.5", "OPENROUTER_API_KEY", OPENROUTER
    ),
    Row("openrouter/openai/gpt-5.3-codex", "openrouter-payg", "openai/gpt-5.3-codex", "OPENROUTER_API_KEY", OPENROUTER),
    Row("openrouter/openai/gpt-5.1-codex-max", "openrouter-payg", "openai/gpt-5.1-codex-max", "OPENROUTER_API_KEY", OPENROUTER),
    Row("openrouter/z-ai/glm-5.3", "openrouter-payg", "z-ai/glm-5.3", "OPENROUTER_API_KEY", OPENROUTER),
    Row("openrouter/openrouter/auto", "openrouter-payg", "openrouter/auto", "OPENROUTER_API_KEY", OPENROUTER),
    Row("openrouter/auto", "openrouter-payg", "openrouter/auto", "OPENROUTER_API_KEY", OPENROUTER),
    Row("openrouter/x/y:free", "openrouter-payg", "x/y:free", "OPENROUTER_API_KEY", OPENROUTER),
    # The source is a setting, in each place of the configuration; the keys that exist decide nothing.
    Row("gpt-5.2", "codex-oauth", "gpt-5.2", "codex-oauth.json", CODEX, config='[sources]\nopenai = "oauth"'),
    Row("gpt-5.2", "codex-oauth", "gpt-5.2", "codex-oauth.json", CODEX, routing='[sources]\nopenai = "oauth"'),
    Row("gpt-5.2", "codex-oauth", "gpt-5.2", "codex-oauth.json", CODEX, variables={"GEODE_SOURCE_OPENAI": "oauth"}),
    Row("openai/gpt-5.2", "codex-oauth", "gpt-5.2", "codex-oauth.json", CODEX, variables={"GEODE_SOURCE_OPENAI": "oauth"}),
    Row(
        "claude-opus-5-5",
        "anthropic-oauth",
        "claude-opus-5-5",
        "ANTHROPIC_AUTH_TOKEN",
        ANTHROPIC,
        config='[sources]\nanthropic = "oauth"',
    ),
    Row("glm-5.3", "glm-coding-plan", "glm-5.3", "ZAI_CODING_API_KEY", GLM_CODING, config='[sources]\nglm = "coding-plan"'),
    Row(
        "gpt-5.2",
        "openai-payg",
        "gpt-5.2",
        "OPENAI_API_KEY",
        OPENAI,
        config='[sources]\nopenai = "oauth"',
        variables={"GEODE_SOURCE_OPENAI": "payg"},
    ),
    # An empty variable is no value: what stands below holds.
    Row(
        "gpt-5.2",
        "codex-oauth",
        "gpt-5.2",
        "codex-oauth.json",
        CODEX,
        config='[sources]\nopenai = "oauth"',
        variables={"GEODE_SOURCE_OPENAI": ""},
    ),
    Row("gpt-5.2", "openai-payg", "gpt-5.2", "OPENAI_API_KEY", OPENAI, variables={"OPENAI_BASE_URL": ""}),
    # A source of one maker is none of another's, and a name is stronger than the setting.
    Row(
        "claude-opus-5-5",
        "anthropic-payg",
        "claude-opus-5-5",
        "ANTHROPIC_API_KEY",
        ANTHROPIC,
        config='[sources]\nopenai = "oauth"',
    ),
    Row("openai-payg/gpt-5.2", "openai-payg", "gpt-5.2", "OPENAI_API_KEY", OPENAI, config='[sources]\nopenai = "oauth"'),
    # Servers of one's own, declared in TOML.
    Row("lab/my-llama", "lab", "my-llama", "LAB_KEY", LAB, routing=DECLARED),
    Row("lab/meta/llama-4", "lab", "meta/llama-4", "LAB_KEY", LAB, routing=DECLARED),
    Row("lab/claude-like", "lab", "claude-like", "LAB_KEY", LAB, routing=DECLARED),
    Row("lab/openrouter/auto", "lab", "openrouter/auto", "LAB_KEY", LAB, routing=DECLARED),
    Row("desk/qwen3", "desk", "qwen3", "", DESK, routing=DECLARED),
    Row("gpt-5.2", "openai-payg", "gpt-5.2", "OPENAI_API_KEY", OPENAI, routing=DECLARED),
    # Prefixes of one's own come first, and a shipped one can be led elsewhere.
    Row("llama-4", "lab", "llama-4", "LAB_KEY", LAB, routing=DECLARED + '[routing.prefixes]\n"llama-" = "lab"'),
    Row("gpt-oss-120b", "lab", "gpt-oss-120b", "LAB_KEY", LAB, routing=DECLARED + '[routing.prefixes]\n"gpt-oss-" = "lab"'),
    Row(
        "gpt-5.2",
        "openai-payg",
        "gpt-5.2",
        "OPENAI_API_KEY",
        OPENAI,
        routing=DECLARED + '[routing.prefixes]\n"gpt-oss-" = "lab"',
    ),
    Row("o3", "lab", "o3", "LAB_KEY", LAB, routing=DECLARED + '[routing.prefixes]\n"o3" = "lab"'),
    Row("hall/m", "lab", "m", "LAB_KEY", LAB, routing=DECLARED + '[routing.prefixes]\n"hall/" = "lab"'),
    Row("glm-5.3", "glm-payg", "glm-5.3", "ZAI_API_KEY", GLM, routing='[routing.prefixes]\n"glm-5" = "glm"'),
    # A rule that catches the rest of an id of the relay catches nothing.
    Row(
        "openrouter/openai/gpt-5.3-codex",
        "openrouter-payg",
        "openai/gpt-5.3-codex",
        "OPENROUTER_API_KEY",
        OPENROUTER,
        routing=DECLARED + '[routing.prefixes]\n"openrouter" = "lab"\n"open" = "lab"',
    ),
    # Addresses: the variable, the operator's file, the caller's Provider, each stronger than what ships.
    Row(
        "gpt-5.2",
        "openai-payg",
        "gpt-5.2",
        "OPENAI_API_KEY",
        "https://p.example/v1",
        variables={"OPENAI_BASE_URL": "https://p.example/v1"},
    ),
    Row(
        "claude-x",
        "anthropic-payg",
        "claude-x",
        "ANTHROPIC_API_KEY",
        "https://p.example",
        variables={"ANTHROPIC_BASE_URL": "https://p.example"},
    ),
    Row(
        "openrouter/x/y",
        "openrouter-payg",
        "x/y",
        "OPENROUTER_API_KEY",
        "https://p.example",
        variables={"OPENROUTER_BASE_URL": "https://p.example"},
    ),
    Row(
        "glm-5",
        "glm-payg",
        "glm-5",
        "ZAI_API_KEY",
        "https://open.bigmodel.cn/api/paas/v4",
        routing='[providers.glm-payg]\nbase_url = "https://open.bigmodel.cn/api/paas/v4"',
    ),
    Row("gpt-5.2", "openai-payg", "gpt-5.2", "WORK_KEY", OPENAI, routing='[providers.openai-payg]\nkey = "env:WORK_KEY"'),
    Row(
        "codex-oauth/m",
        "codex-oauth",
        "m",
        "codex-oauth.json",
        "https://p.example",
        variables={"CODEX_BASE_URL": "https://p.example"},
    ),
    Row(
        "glm-coding-plan/m",
        "glm-coding-plan",
        "m",
        "ZAI_CODING_API_KEY",
        "https://p.example",
        variables={"ZAI_CODING_BASE_URL": "https://p.example"},
    ),
    Row(
        "claude-opus-5-5",
        "anthropic-payg",
        "claude-opus-5-5",
        'Provider("anthropic-payg")',
        "http://127.0.0.1:1",
        providers=(OWN,),
    ),
    Row("shed/m", "shed", "m", "", "http://127.0.0.1:2/v1", providers=(SHED,)),
    Row(
        "lab/m",
        "lab",
        "m",
        "",
        "http://127.0.0.1:3/v1",
        routing=DECLARED,
        providers=(Provider("lab", "chat", "http://127.0.0.1:3/v1"),),
    ),
    # Programs, at their own address and at another.
    Row("claude-cli/claude-opus-5", "claude-cli", "claude-opus-5", "LAB_KEY", "", routing=PROGRAM.format("claude-cli")),
    Row("codex-cli/x/y", "codex-cli", "x/y", "LAB_KEY", "", routing=PROGRAM.format("codex-cli")),
    Row(
        "claude-opus-5",
        "claude-cli",
        "claude-opus-5",
        "LAB_KEY",
        DESK,
        routing=f'{PROGRAM.format("claude-cli")}base_url = "{DESK}"\n[sources]\nanthropic = "cli"\n',
    ),
)


def test_the_table_is_large_enough_and_has_every_built_in() -> None:
    assert len(ROWS) >= 60
    assert {row.adapter for row in ROWS} >= {*BUILT_IN, "lab", "desk"}
    assert len({(row.id, row.routing, row.config, str(row.variables), row.providers) for row in ROWS}) == len(ROWS)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, with every key that anybody could have, and a registry that was not filled yet."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("GEODE_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    keys = [str(target.credential.key or "") for target in BUILT_IN.values()]
    for variable in [key.removeprefix("env:") for key in keys if key.startswith("env:")] + ["LAB_KEY", "WORK_KEY"]:
        monkeypatch.setenv(variable, "sk-some-key")
    for target in BUILT_IN.values():
        if target.transport is not None:
            monkeypatch.delenv(target.transport.moved_by, raising=False)
    tokens = home / "credentials" / "codex-oauth.json"
    tokens.parent.mkdir(mode=0o700)
    tokens.write_text('{"access_token": "t", "expires_at": 4102444800}')
    tokens.chmod(0o600)
    forget_adapters()
    yield home
    forget_adapters()


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_a_row_of_the_table(row: Row, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "routing.toml").write_text(row.routing)
    (home / "config.toml").write_text(row.config)
    for name, value in row.variables.items():
        monkeypatch.setenv(name, value)
    registry, config = bootstrap_builtins(), configuration()
    own = tuple(provider.target for provider in row.providers)
    route = registry.route(row.id, own, config.sources)
    endpoint = find_connection(route, registry, config.environment).endpoint
    assert endpoint is not None
    place = endpoint.credential.source if endpoint.credential is not None else ""
    assert (route.target.name, route.model, endpoint.base_url) == (row.adapter, row.model, row.url)
    assert place.endswith(row.key) if row.key else place == ""


def test_what_was_resolved_is_not_read_again(home: Path) -> None:
    """CF-03: whoever sends has a value, and its name is final."""
    route = bootstrap_builtins().route("openrouter/anthropic/x")
    assert (route.target.name, route.model) == ("openrouter-payg", "anthropic/x")
    assert bootstrap_builtins().route(route.id) == route


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("llama-4", 'no provider serves the model "llama-4"'),
        ("Claude-opus-5-5", "no provider serves the model"),
        ("lap/llama", "did you mean lab/llama?"),
        ("openruter/x/y", "did you mean openrouter/x/y?"),
        ("openrouter/gpt-5.2", "a model of OpenRouter is openrouter/PUBLISHER/MODEL"),
        ("openrouter//x", "a model of OpenRouter is openrouter/PUBLISHER/MODEL"),
        ("openrouter/x/", "a model of OpenRouter is openrouter/PUBLISHER/MODEL"),
        ("openrouter/x /y", "a model of OpenRouter is openrouter/PUBLISHER/MODEL"),
        ("openrouter/", "names no model after its namespace"),
        ("lab/", "names no model after its namespace"),
        (" gpt-5.2", "is empty or has white space around it"),
        ("gpt-5.2\n", "is empty or has white space around it"),
        ("claude-x/y", "no provider serves the model"),
        ("gpt-5.2\nx", "has line ends, control characters or half of a character in it"),
        ("gpt-\x1b[31mred", "has line ends, control characters or half of a character in it"),
        ("gpt-\udcff", "has line ends, control characters or half of a character in it"),
        ("gpt-" + "x" * 253, "has 257 characters; no id has more than 256"),
    ],
)
def test_an_id_that_nobody_serves_is_refused_before_anything_leaves(id: str, said: str, home: Path) -> None:
    (home / "routing.toml").write_text(DECLARED)
    with pytest.raises(Misuse) as caught:
        bootstrap_builtins().route(id)
    assert (caught.value.id, said in str(caught.value)) == ("unknown-model", True)


def test_a_source_that_does_not_exist_is_told_with_those_that_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODE_SOURCE_OPENAI", "subscription")
    with pytest.raises(Misuse, match=r"openai has no such credential source\. It has: payg, oauth"):
        bootstrap_builtins().route("gpt-5.2", (), configuration().sources)


def test_a_key_that_is_not_there_is_not_looked_for_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which source serves a provider is a setting, never taken from the keys that happen to exist."""
    monkeypatch.delenv("OPENAI_API_KEY")
    registry, config = bootstrap_builtins(), configuration()
    with pytest.raises(Misuse, match="openai-payg has no key: set OPENAI_API_KEY"):
        find_connection(registry.route("gpt-5.2", (), config.sources), registry, config.environment)


MOVED = "OPENAI_BASE_URL=https://elsewhere.example/v1\n"


def test_a_folder_does_not_have_a_key_sent_to_an_address_of_its_choice(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned folder may hold a `.env`: what stands there moves no key that is from anywhere else."""
    (tmp_path / ".env").write_text(MOVED)
    with pytest.raises(Misuse, match=r"\.env:1 moves its address, and its key is not from there") as caught:
        address_of("gpt-5.2")
    assert caught.value.id == "address-place"
    monkeypatch.delenv("OPENAI_API_KEY")
    (tmp_path / ".env").write_text(MOVED + "OPENAI_API_KEY=sk-of-the-folder\n")
    assert address_of("gpt-5.2") == "https://elsewhere.example/v1"


def test_the_users_own_file_may_move_an_address(home: Path) -> None:
    (home / ".env").write_text(MOVED)
    assert address_of("gpt-5.2") == "https://elsewhere.example/v1"


def address_of(id: str) -> str:
    registry, config = bootstrap_builtins(), configuration()
    endpoint = find_connection(registry.route(id, (), config.sources), registry, config.environment).endpoint
    assert endpoint is not None
    return endpoint.base_url
