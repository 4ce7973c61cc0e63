"""The registry: snapshots by generation, adapters of other packages, and every error of spec section 8."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import geode
from geode import errors, registry
from geode.domain.errors import Misuse
from geode.domain.targets import BUILT_IN
from geode.entrypoints.cli.main import main
from geode.entrypoints.routes.plugins import made_by
from geode.entrypoints.routes.registry import forget_adapters
from geode.ports.adapters import AdapterContext
from geode.testing import ScriptedModel, calls, says

# What a package that brings an adapter has in it; importing its module leaves a mark.
MODULE = """
from pathlib import Path
from geode.testing import ScriptedModel, says

Path(__file__).with_name("imported").touch()

class Acme(ScriptedModel):
    name = "acme-payg"

def make(context):
    assert context.name == "acme-payg"
    model = Acme(says("from acme"))
    model.http = context.http
    return model

def other(context):
    return ScriptedModel(says("of another name"))

def bare():
    return Acme(says("from acme"))
"""


class Places:
    def __init__(self, home: Path, packages: Path) -> None:
        self.home, self.packages = home, packages

    def allow(self, text: str) -> None:
        (self.home / "adapters.toml").write_text("version = 1\n" + text)

    def route(self, text: str) -> None:
        (self.home / "routing.toml").write_text(text)

    def install(self, name: str = "acme-payg", value: str = "acme_geode:make", package: str = "geode-acme") -> None:
        """Put a distribution with an entry point where Python finds it."""
        info = self.packages / f"{package.replace('-', '_')}-1.2.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[geode.llm_adapters]\n{name} = {value}\n")
        (self.packages / "acme_geode.py").write_text(MODULE)

    @property
    def imported(self) -> bool:
        return (self.packages / "imported").exists()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    home, packages = tmp_path / "home", tmp_path / "packages"
    home.mkdir()
    packages.mkdir()
    monkeypatch.setenv("GEODE_HOME", str(home))
    monkeypatch.syspath_prepend(str(packages))
    sys.modules.pop("acme_geode", None)
    forget_adapters()
    yield Places(home, packages)
    forget_adapters()
    sys.modules.pop("acme_geode", None)


ALLOWED = '[adapters.acme-payg]\nenabled = true\nreason = "looked at by Ada"\n'


# ---- let in, and not there ----------------------------------------------------------------------


@pytest.mark.parametrize("model", ["acme-payg/x", "acme/x"])
def test_what_is_let_in_and_not_installed_is_listed(places: Places, capsys: pytest.CaptureFixture[str], model: str) -> None:
    places.allow(ALLOWED + 'identity = "acme"\nsource = "payg"\n')
    told = "acme-payg is let in, but not installed: no installed package has it; "
    assert main(["adapters"]) == 0
    assert told in capsys.readouterr().out
    assert main(["models", model]) == 2
    assert f'"{model}": the adapter {told}' in capsys.readouterr().err
    places.install()
    forget_adapters()
    assert main(["adapters"]) == 0
    assert "not installed" not in capsys.readouterr().out


def test_what_is_disabled_and_not_installed_is_not_listed(places: Places) -> None:
    places.allow(ALLOWED.replace("true", "false"))
    assert registry.bootstrap_builtins().listed == ()


# ---- generations -------------------------------------------------------------------------------


def test_filling_it_twice_changes_nothing(places: Places) -> None:
    first = registry.bootstrap_builtins()
    assert (first.generation, list(first.entries)) == (1, list(BUILT_IN))
    assert registry.bootstrap_builtins() is first is registry.current()


def test_an_empty_registry_says_how_to_fill_it(places: Places) -> None:
    empty = registry.current()
    assert (empty.generation, empty.entries) == (0, {})
    for ask in (
        lambda: empty.adapter("openai-payg"),
        lambda: empty.resolve_for("openai", "payg"),
        lambda: empty.route("gpt-5.2"),
    ):
        with pytest.raises(errors.AdapterNotFoundError, match=r"call geode\.registry\.bootstrap_builtins\(\) first"):
            ask()


def test_a_worker_process_that_forgot_is_told() -> None:
    program = "from geode import registry; registry.current().route('gpt-5.2')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "AdapterNotFoundError: no adapters are registered in this process" in done.stderr
    assert "whoever makes an AgenticLoop itself, as in a worker process, has to" in done.stderr


@pytest.mark.parametrize(
    "start", ["geode.session(model='lab/m', providers=own)", "geode.Runtime(model='lab/m', providers=own)"]
)
def test_sessions_and_runtimes_fill_it(start: str, places: Places) -> None:
    own = [geode.Provider("lab", "chat", "http://127.0.0.1:1/v1")]
    eval(start, {"geode": geode, "own": own})
    assert registry.current().generation == 1


def test_nobody_can_change_a_snapshot(places: Places) -> None:
    found: Any = registry.bootstrap_builtins()
    for table in (found.entries, found.table.targets, found.table.sources, found.table.defaults, found.table.prices):
        with pytest.raises(TypeError):
            table["x"] = 1
    with pytest.raises(AttributeError):
        found.generation = 7


def test_the_container_fills_it(places: Places) -> None:
    from dependency_injector import providers

    from geode.container import GeodeContainer

    own = [geode.Provider("lab", "chat", "http://127.0.0.1:1/v1")]
    GeodeContainer(model=providers.Object("lab/m"), model_providers=providers.Object(own)).session()
    assert registry.current().generation == 1


def test_a_snapshot_never_changes(places: Places) -> None:
    before = registry.bootstrap_builtins()
    names = list(before.entries)
    places.route('[providers.lab]\nbase_url = "http://127.0.0.1:1/v1"\n')
    after = registry.reload_adapters()
    assert (before.generation, list(before.entries)) == (1, names)
    assert (after.generation, "lab" in after.entries, registry.current()) == (2, True, after)


async def test_reloading_during_a_run_changes_nothing_for_it_and_is_there_for_the_next(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    def declared(port: int) -> None:
        places.route(f'[providers.lab]\nbase_url = "http://127.0.0.1:{port}/v1"\n')

    declared(1)
    reloaded: list[int] = []

    @geode.tool(tier="safe")
    def change() -> str:
        """Change what the operator declares, while the run goes on."""
        declared(2)
        reloaded.append(registry.reload_adapters().generation)
        return "changed"

    from geode.entrypoints import runtime

    asked: list[str] = []

    async def connect(connection: Any, http: Any) -> Any:
        asked.append(connection.endpoint.base_url)
        return ScriptedModel(calls(("change", {})), says("done"))

    monkeypatch.setattr(runtime, "connect", connect)
    async with geode.session(model="lab/m", tools=[change]) as loop:
        assert (await loop.run("Go")).text == "done"
    async with geode.session(model="lab/m", tools=[change]) as loop:
        await loop.run("Go")
    assert (asked, reloaded) == (["http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"], [2, 3])


async def test_the_next_session_of_a_runtime_has_the_next_generation(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    from geode.entrypoints import runtime

    asked: list[str] = []

    async def connect(connection: Any, http: Any) -> Any:
        asked.append(connection.endpoint.base_url)
        return ScriptedModel(says("one"), says("two"), name="lab")

    monkeypatch.setattr(runtime, "connect", connect)
    places.route('[providers.lab]\nbase_url = "http://127.0.0.1:1/v1"\n')
    async with geode.Runtime(model="lab/m") as shared:
        async with shared.session() as first:
            await first.run("Go")
            places.route('[providers.lab]\nbase_url = "http://127.0.0.1:2/v1"\n')
            registry.reload_adapters()
            assert (await first.run("Go")).text == "two"
        async with shared.session() as second:
            assert (await second.run("Go")).text == "one"
        before = asked.copy()
        async with shared.session() as third:
            await third.run("Go")
    assert before == asked == ["http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"]


# ---- looking up --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_is_found_by_name_and_by_provider_and_source(name: str, places: Places) -> None:
    target = BUILT_IN[name]
    found = registry.bootstrap_builtins()
    assert found.adapter(name).target == target
    assert found.resolve_for(target.identity.id, target.credential.source).target == target
    assert found.adapter(name).origin == "geode"


def test_an_unknown_name_and_an_unknown_pair_are_errors_of_their_own(places: Places) -> None:
    found = registry.bootstrap_builtins()
    with pytest.raises(errors.AdapterNotFoundError, match='no adapter is called "openai-pay"; did you mean openai-payg'):
        found.adapter("openai-pay")
    with pytest.raises(errors.AdapterNotFoundError, match=r"openai has no such credential source\. It has: payg, oauth"):
        found.resolve_for("openai", "auto")
    with pytest.raises(errors.AdapterNotFoundError, match=r"nobody serves 'acme'\. Known: anthropic, glm, openai, openrouter"):
        found.resolve_for("acme", "payg")
    assert issubclass(errors.AdapterNotFoundError, LookupError)


# ---- registering by hand -----------------------------------------------------------------------


class Acme(ScriptedModel):
    name = "acme"


async def test_an_adapter_that_is_registered_answers_under_its_name(places: Places) -> None:
    before = registry.bootstrap_builtins()
    registry.register_adapter("acme", lambda: Acme(says("hello")))
    assert (await geode.run("Hi", model="acme/m")).text == "hello"
    assert "acme" not in before.entries
    assert registry.reload_adapters().adapter("acme").origin == "register_adapter"


def test_a_name_that_is_taken_needs_an_override_with_origin_and_reason(places: Places) -> None:
    with pytest.raises(errors.AdapterAlreadyRegisteredError, match=r"an adapter openai-payg is registered \(geode\)"):
        registry.register_adapter("openai-payg", Acme)
    for lacking in ({"origin": "", "reason": "why"}, {"origin": "who", "reason": " "}):
        with pytest.raises(Misuse, match="names its origin and its reason"):
            registry.Override(**lacking)
    with pytest.raises(errors.AdapterNotFoundError, match="acme overrides nobody"):
        registry.register_adapter("acme", Acme, override=registry.Override("us", "a proxy"))
    made = registry.register_adapter("openai-payg", Acme, override=registry.Override("us", "a proxy"))
    entry = made.adapter("openai-payg")
    assert (entry.origin, entry.reason, entry.replaced) == ("us", "a proxy", "geode")
    assert made.route("gpt-5.2").target.name == "openai-payg"


def test_two_adapters_of_one_provider_and_source_are_refused_and_nothing_is_left_of_it(places: Places) -> None:
    with pytest.raises(errors.AdapterAlreadyRegisteredError, match="both serve openai by the source 'payg'"):
        registry.register_adapter("acme", Acme, identity="openai", source="payg")
    assert "acme" not in registry.reload_adapters().entries
    made = registry.register_adapter("acme", Acme, identity="openai", source="plan")
    assert made.resolve_for("openai", "plan").target.name == "acme"


@pytest.mark.parametrize("name", ["", "a/b", "a b"])
def test_a_name_that_no_id_could_have_is_refused(name: str, places: Places) -> None:
    with pytest.raises(Misuse, match="one word without a slash"):
        registry.register_adapter(name, Acme)


async def test_an_adapter_of_another_name_is_refused(places: Places) -> None:
    registry.register_adapter("acme", lambda: ScriptedModel(says("hello")))
    with pytest.raises(
        errors.AdapterNameMismatchError, match='made an adapter called "scripted" where it is registered as "acme"'
    ):
        await geode.run("Hi", model="acme/m")


class Broken(ScriptedModel):
    def __init__(self) -> None:
        raise RuntimeError("no licence")


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (Broken, r"the adapter acme \(register_adapter\) cannot be made: RuntimeError: no licence"),
        (lambda: None, r"the factory of the adapter acme \(register_adapter\) gave NoneType, no adapter"),
        (lambda: Acme, r"the factory of the adapter acme \(register_adapter\) gave type, no adapter"),
    ],
)
async def test_a_factory_that_makes_no_adapter_is_named(factory: Any, said: str, places: Places) -> None:
    registry.register_adapter("acme", factory)
    with pytest.raises(errors.AdapterError, match=said):
        await geode.run("Hi", model="acme/m")


def test_what_is_no_factory_is_refused_at_once(places: Places) -> None:
    nothing: Any = 5
    with pytest.raises(Misuse, match="what makes the adapter acme must be a function, got int"):
        registry.register_adapter("acme", nothing)


# ---- entry points ------------------------------------------------------------------------------


def test_without_a_line_of_the_policy_it_is_listed_and_never_imported(places: Places) -> None:
    places.install()
    found = registry.bootstrap_builtins()
    assert [(one.name, one.package, one.state) for one in found.listed] == [("acme-payg", "geode-acme 1.2", "not allowed")]
    with pytest.raises(
        errors.AdapterNotFoundError, match=r"acme-payg of the package geode-acme 1\.2 is not allowed: .*adapters\.toml"
    ):
        found.adapter("acme-payg")
    with pytest.raises(Misuse, match=r"the adapter acme-payg of the package geode-acme 1\.2 is not allowed"):
        geode.session(model="acme-payg/m")
    registry.reload_adapters()
    assert not places.imported


@pytest.mark.parametrize("value", ["acme_geode:make", "acme_geode:bare"])
async def test_with_a_line_of_the_policy_it_is_imported_when_it_is_used(value: str, places: Places) -> None:
    places.install(value=value)
    places.allow(ALLOWED)
    entry = registry.bootstrap_builtins().adapter("acme-payg")
    assert (entry.origin, entry.reason) == ("package geode-acme 1.2", "looked at by Ada")
    opening = geode.session(model="acme-payg/m")
    assert not places.imported
    async with opening as loop:
        assert (await loop.run("Hi")).text == "from acme"
    assert places.imported


def test_one_that_is_disabled_or_from_another_package_stays_out(places: Places) -> None:
    places.install()
    places.allow(ALLOWED.replace("true", "false"))
    registry.bootstrap_builtins()
    assert (registry.current().listed[0].state, "acme-payg" in registry.current().entries) == ("disabled", False)
    with pytest.raises(errors.AdapterNotFoundError):
        registry.current().adapter("acme-payg")
    places.allow(ALLOWED + 'package = "geode-else"\n')
    one = registry.reload_adapters().listed[0]
    assert (one.state, one.why.endswith("wants it from the package geode-else")) == ("not allowed", True)
    assert "acme-payg" not in registry.current().entries
    assert not places.imported


def test_two_packages_with_one_name_are_refused_until_the_operator_chooses(places: Places) -> None:
    places.install()
    places.install(package="geode-other")
    places.allow(ALLOWED)
    with pytest.raises(errors.AdapterAlreadyRegisteredError, match=r"geode-acme 1\.2, geode-other 1\.2\. Choose in .*package"):
        registry.bootstrap_builtins()
    places.allow(ALLOWED + 'package = "geode-other"\n')
    assert registry.bootstrap_builtins().adapter("acme-payg").origin == "package geode-other 1.2"


def test_one_with_a_name_of_geodes_needs_an_override(places: Places) -> None:
    places.install(name="openai-payg")
    places.allow(ALLOWED.replace("acme-payg", "openai-payg"))
    with pytest.raises(errors.AdapterAlreadyRegisteredError, match=r"adapters\.openai-payg\.override = true"):
        registry.bootstrap_builtins()
    places.allow(ALLOWED.replace("acme-payg", "openai-payg") + "override = true\n")
    entry = registry.bootstrap_builtins().adapter("openai-payg")
    assert (entry.origin, entry.replaced) == ("package geode-acme 1.2", "geode")
    assert not places.imported


def test_an_override_of_nobody_is_refused(places: Places) -> None:
    places.install()
    places.allow(ALLOWED + "override = true\n")
    with pytest.raises(Misuse, match=r"adapters\.acme-payg overrides nobody: no adapter has that name"):
        registry.bootstrap_builtins()


def test_the_only_account_of_an_identity_needs_no_setting(places: Places) -> None:
    """As docs/models.md has it."""
    places.install()
    places.allow(ALLOWED + 'package = "Geode_Acme"\nidentity = "acme"\nsource = "payg"\n')
    route = registry.bootstrap_builtins().route("acme/x")
    assert (route.target.name, route.model) == ("acme-payg", "x")


def test_a_policy_that_others_may_write_is_none(places: Places) -> None:
    places.allow(ALLOWED)
    (places.home / "adapters.toml").chmod(0o666)
    with pytest.raises(Misuse, match=r"others may write into .*adapters\.toml, which says whose code is run: chmod go-w"):
        registry.bootstrap_builtins()


def test_whose_models_it_serves_is_the_operators_word(places: Places) -> None:
    places.install()
    places.allow(ALLOWED + 'identity = "openai"\nsource = "plan"\n')
    places.route('[sources]\nopenai = "plan"\n[routing.prefixes]\n"acme-" = "acme-payg"\n')
    found = registry.bootstrap_builtins()
    assert found.route("gpt-5.2").target.name == "acme-payg"
    assert found.route("acme-7").target.name == "acme-payg"


def test_an_adapter_that_a_package_makes_under_another_name_is_refused(places: Places) -> None:
    places.install(value="acme_geode:other")
    places.allow(ALLOWED)
    entry = registry.bootstrap_builtins().adapter("acme-payg")
    with pytest.raises(errors.AdapterNameMismatchError, match=r"package geode-acme 1\.2 made an adapter called"):
        made_by(entry, AdapterContext("acme-payg", None))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version = 2\n", ":1:1: version cannot be a whole number like this. Write version = 1"),
        ("", "adapters.toml: version is missing. Write version = 1"),
        ("version = 1\n[adapter.x]\nenabled = true\n", ":2:1: adapter is no key; did you mean adapters?"),
        ("version = 1\n[adapters.x]\nenabled = true\n", "adapters.x.reason is missing. Write reason ="),
        (
            'version = 1\n[adapters.x]\nenabled = "yes"\nreason = "r"\n',
            ":3:1: adapters.x.enabled cannot be text like this. Write enabled = true",
        ),
        (
            'version = 1\n\n[adapters.x]\nenabeld = true\nenabled = true\nreason = "r"\n',
            ":4:1: adapters.x.enabeld is no key; did you",
        ),
        ("version = = 1\n", ":1:11: this is no TOML"),
    ],
    ids=range(7),
)
def test_a_policy_that_says_something_wrong_names_the_place(text: str, said: str, places: Places) -> None:
    (places.home / "adapters.toml").write_text(text)
    with pytest.raises(Misuse) as caught:
        registry.bootstrap_builtins()
    assert said in str(caught.value)
    assert registry.current().generation == 0
