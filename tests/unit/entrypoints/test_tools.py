"""The decorator, what counts as a tool, how it is called, and what is refused with which words."""

import functools
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, Protocol, TypeVar, assert_type, runtime_checkable

import pytest
from pydantic import Field

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.errors import Misuse
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolSpec
from geode.entrypoints.tools import as_tool, build_tools, tool
from geode.ports.schema import Check
from geode.ports.tools import Tool, ToolContext

HERE = "test_tools.py"
UNTYPED: Any = tool
CONTEXT: ToolContext[Any] = ToolContext({"FR": 42}, "call_1", "run/call_1", 120.0)


def misuse(id: str, value: object, deps: object = None) -> str:
    with pytest.raises(Misuse) as caught:
        as_tool(value, deps)
    assert caught.value.id == id
    return str(caught.value)


def line_of(function: Callable[..., Any]) -> int:
    return inspect.getsourcelines(function)[1]


@tool(tier="safe")
def get_weather(city: str, days: int = 3) -> str:
    """Current weather of a city.

    Args:
        city: The city.
        days: How many days.
    """
    return f"{days} days of 18 C in {city}"


@dataclass
class Db:
    users: dict[str, int]


class UserTools:
    def __init__(self, db: Db) -> None:
        self.db = db

    @tool(tier="safe")
    def count(self, country: str) -> int:
        """Number of users of a country."""
        return self.db.users[country]

    @classmethod
    @tool(tier="write")
    def made(cls, country: str) -> str:
        return f"{cls.__name__} {country}"

    @staticmethod
    @tool(tier="expensive")
    def still(country: str) -> str:
        return country

    @tool
    @staticmethod
    def outer(country: str) -> str:
        return country


# ------------------------------------------------------------------------------------------ decorator


def test_the_function_stays_what_it_is() -> None:
    def plain(city: str) -> str:
        return city

    assert tool(plain) is plain
    assert tool(tier="safe")(plain) is plain
    assert plain("Paris") == "Paris"
    assert get_weather("Paris", days=1) == "1 days of 18 C in Paris"


async def test_type_checkers_see_the_function() -> None:
    @tool
    def bare(city: str, *, days: int = 3) -> list[str]:
        return [city] * days

    @tool(tier=SafetyTier.WRITE, name="x")
    async def declared(city: str) -> int:
        return len(city)

    assert_type(bare("a"), list[str])
    assert_type(await declared("a"), int)


def test_everything_declared_arrives() -> None:
    @tool(tier="expensive", name="other", description="Said here.", timeout_seconds=2.5, blocking=False)
    def f(x: int) -> int:
        """Said there."""
        return x

    made = as_tool(f)
    assert (made.spec.name, made.spec.description) == ("other", "Said here.")
    assert (made.tier, made.timeout_seconds, made.blocking) == (SafetyTier.EXPENSIVE, 2.5, False)


def test_what_is_not_declared_has_its_default() -> None:
    @tool
    def f(x: int) -> int:
        return x

    def g(x: int) -> int:
        return x

    for made in (as_tool(f), as_tool(g)):
        assert made.tier is SafetyTier.DANGEROUS
        assert (made.spec.description, made.timeout_seconds, made.blocking) == ("", None, True)
    assert as_tool(g).spec.name == "g"


def test_a_tier_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Misuse, match=r"tier 'sfae' is unknown. Accepted: safe, mcp_trusted") as caught:
        UNTYPED(tier="sfae")
    assert caught.value.id == "unknown-tier"


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "5"])
def test_a_deadline_that_is_none_is_refused(seconds: Any) -> None:
    with pytest.raises(Misuse, match="timeout_seconds must be a number of seconds above 0") as caught:
        tool(timeout_seconds=seconds)
    assert caught.value.id == "tool-timeout"


def test_strict_is_for_one_tool_and_off_unless_asked_for() -> None:
    def look(what: str) -> None: ...

    assert as_tool(look).spec.strict is False
    assert as_tool(tool(strict=True)(look)).spec.strict is True


def test_misplaced_decorators_say_what_to_write() -> None:
    with pytest.raises(Misuse, match=r"Write @tool\(tier='safe'\)"):
        UNTYPED("safe")
    with pytest.raises(Misuse, match="cannot mark <built-in function len>"):
        tool(len)


# ---------------------------------------------------------------------------------------- what is one


def test_a_function_becomes_a_tool() -> None:
    made = as_tool(get_weather)
    assert made.spec == ToolSpec(
        "get_weather",
        "Current weather of a city.",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city."},
                "days": {"type": "integer", "description": "How many days.", "default": 3},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    )
    assert made.tier is SafetyTier.SAFE
    assert made.place == f"{HERE}:{line_of(get_weather)}"
    assert made.invoke({"city": "Paris"}, CONTEXT) == "3 days of 18 C in Paris"


def test_methods_are_tools_without_their_self() -> None:
    users = UserTools(Db({"FR": 42}))
    made = as_tool(users.count)
    assert list(made.spec.input_schema["properties"]) == ["country"]
    assert (made.spec.name, made.spec.description, made.tier) == ("count", "Number of users of a country.", SafetyTier.SAFE)
    assert made.invoke({"country": "FR"}, CONTEXT) == 42
    assert users.count("FR") == 42


def test_class_and_static_methods_are_tools() -> None:
    assert as_tool(UserTools.made).invoke({"country": "FR"}, CONTEXT) == "UserTools FR"
    assert as_tool(UserTools.made).tier is SafetyTier.WRITE
    assert as_tool(UserTools.still).tier is SafetyTier.EXPENSIVE
    assert as_tool(UserTools(Db({})).still).invoke({"country": "FR"}, CONTEXT) == "FR"
    assert as_tool(UserTools.outer).tier is SafetyTier.DANGEROUS


def test_a_method_of_the_class_wants_an_object() -> None:
    said = misuse("unbound-method", UserTools.count)
    assert "Give an instance's method: tools=[UserTools(…).count]" in said


def test_an_unknown_setting_of_the_decorator_names_the_closest() -> None:
    untyped: Any = tool
    with pytest.raises(Misuse, match=r'@tool has no "tiers"; did you mean tier\?') as caught:
        untyped(tiers="safe")
    assert caught.value.id == "unknown-name"


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ({"properties": {"a": {"type": "strng"}}}, "/properties/a/type"),
        ({"properties": {"a": {"pattern": "["}}}, "/properties/a/pattern"),
        ({"required": "a"}, "/required"),
    ],
)
def test_a_schema_that_somebody_wrote_is_checked_at_once(broken: dict[str, Any], where: str) -> None:
    written = Tool(ToolSpec("written", "By hand.", {"type": "object", **broken}), SafetyTier.SAFE, lambda _, __: None)
    with pytest.raises(Misuse, match=f"tool written: input_schema is no JSON Schema that can be checked; {where}: ") as caught:
        build_tools([written], validator=JsonschemaValidator())
    assert caught.value.id == "tool-schema"


def test_a_schema_of_plain_types_is_not_compiled_before_it_is_used() -> None:
    compiled: list[str] = []

    class Seen(JsonschemaValidator):
        def compile(self, schema: Mapping[str, Any]) -> Check:
            compiled.append(next(iter(schema["properties"])))
            return super().compile(schema)

    def plain(a: list[int], b: Literal["x"] = "x") -> None: ...
    def described(day: date) -> None: ...

    build_tools([plain, described], validator=Seen())
    assert compiled == ["day"]


def test_a_type_that_nothing_describes_is_told_without_what_led_to_it() -> None:
    class Odd: ...

    def odd(value: Odd) -> None: ...

    odd.__annotations__["value"] = Odd
    with pytest.raises(Misuse) as caught:
        as_tool(odd)
    assert caught.value.__suppress_context__


def test_callable_objects_are_tools() -> None:
    @tool(tier="safe")
    class Search:
        """Search the index."""

        def __call__(self, query: str) -> str:
            return query.upper()

    @dataclass
    class Adder:
        by: int

        async def __call__(self, x: int) -> int:
            return x + self.by

    search, adder = as_tool(Search()), as_tool(Adder(1))
    assert (search.spec.name, search.spec.description, search.tier) == ("Search", "Search the index.", SafetyTier.SAFE)
    assert search.invoke({"query": "a"}, CONTEXT) == "A"
    assert search.place == f"{HERE}:{line_of(Search.__call__)}"
    assert (adder.spec.description, adder.tier, adder.blocking) == ("", SafetyTier.DANGEROUS, False)


def test_partials_hide_what_they_fix() -> None:
    @tool(tier="safe")
    def f(a: int, b: int, c: int = 1, d: int = 2) -> list[int]:
        """Numbers."""
        return [a, b, c, d]

    made = as_tool(functools.partial(f, 1, c=3))
    assert (made.spec.name, made.spec.description) == ("f", "Numbers.")
    assert list(made.spec.input_schema["properties"]) == ["b", "d"]
    assert made.invoke({"b": 5}, CONTEXT) == [1, 5, 3, 2]


def test_wrappers_keep_declaration_and_signature() -> None:
    @functools.lru_cache
    @tool(tier="safe")
    def cached(x: int) -> int:
        return x

    made = as_tool(cached)
    assert (made.spec.name, made.tier, made.invoke({"x": 1.0}, CONTEXT)) == ("cached", SafetyTier.SAFE, 1)


def test_a_tool_stays_as_it_is() -> None:
    made = as_tool(get_weather)
    assert as_tool(made) is made


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("get_weather", "tools= has 'get_weather' of type str, which is no tool. Give a function"),
        ({"name": "x"}, "tools= has {'name': 'x'} of type dict, which is no tool."),
        (None, "tools= has None of type NoneType"),
        (UserTools, "tools= has the class UserTools, which is no tool. Give an object: UserTools(…)"),
        (ToolSpec("x", "", {"type": "object"}), "of type ToolSpec, which is no tool"),
    ],
)
def test_anything_else_is_refused_by_name(value: object, words: str) -> None:
    assert words in misuse("not-a-tool", value)


@pytest.mark.parametrize("name", ["", "get weather", "größe", "a" * 65])
def test_a_name_that_no_provider_takes_is_refused(name: str) -> None:
    def f() -> None: ...

    place = f"{HERE}:{line_of(f)}"
    message = misuse("tool-name", tool(name=name)(f))
    assert message == (f"tool {name} ({place}): a name has 1 to 64 of A-Z a-z 0-9 _ -. Give it one: @tool(name=…) [tool-name]")


def test_a_lambda_has_no_name() -> None:
    assert "tool <lambda>" in misuse("tool-name", lambda: 1)


# ---------------------------------------------------------------------------------------- description


def test_the_annotation_says_more_than_the_docstring() -> None:
    def f(a: Annotated[int, "from the text"], b: Annotated[int, Field(gt=0, description="from the field")], c: int) -> None:
        """Do it.

        Args:
            a: from the docstring
            b: from the docstring
            c: from the docstring
        """

    properties = as_tool(f).spec.input_schema["properties"]
    assert list(properties) == ["a", "b", "c"]
    assert properties["a"] == {"type": "integer", "description": "from the text"}
    assert properties["b"] == {"type": "integer", "exclusiveMinimum": 0, "description": "from the field"}
    assert properties["c"] == {"type": "integer", "description": "from the docstring"}


def test_annotations_as_text_are_resolved() -> None:
    def f(a: "int", b: "list[Annotated[str, 'one']]", ctx: "ToolContext[Db]") -> Any:
        return a, b, ctx

    # What only a type checker can see does no harm where it is not needed.
    f.__annotations__["return"] = "Nowhere"
    made = as_tool(f, Db({}))
    assert list(made.spec.input_schema["properties"]) == ["a", "b"]
    assert made.invoke({"a": 1.0, "b": ["x"]}, CONTEXT) == (1, ["x"], CONTEXT)


# -------------------------------------------------------------------------------------------- refused


def test_a_parameter_needs_an_annotation() -> None:
    def get_weather(city, days: int = 3):  # type: ignore[no-untyped-def]
        return city

    place = f"{HERE}:{line_of(get_weather)}"
    assert misuse("no-annotation", get_weather) == (
        f'tool get_weather ({place}): parameter "city" has no annotation. Write city: str [no-annotation]'
    )


def test_variadic_parameters_are_refused() -> None:
    def stars(*cities: str) -> None: ...

    def pairs(**limits: int) -> None: ...

    assert "Write cities: list[str]" in misuse("var-args", stars)
    assert "Write limits: dict[str, int]" in misuse("var-args", pairs)


def test_a_name_that_is_unknown_is_named() -> None:
    def f(city: Any) -> None: ...

    f.__annotations__["city"] = "Nowhere"
    message = misuse("unknown-annotation", f)
    assert f'tool f ({HERE}:{line_of(f)}): parameter "city": its annotation names Nowhere, which is unknown there' in message


def test_an_annotation_that_is_no_type_is_refused() -> None:
    def f(city: Any) -> None: ...

    f.__annotations__["city"] = "the name of a city"
    assert 'parameter "city": its annotation cannot be read (SyntaxError' in misuse("unknown-annotation", f)


@pytest.mark.parametrize("annotation", [Callable[[int], int], any, 5, [str], type("Socket", (), {})])
def test_a_type_that_no_schema_describes_is_refused(annotation: Any) -> None:
    def f(x):  # type: ignore[no-untyped-def]
        return x

    f.__annotations__ = {"x": annotation}
    message = misuse("tool-type", f)
    assert f'tool f ({HERE}:{line_of(f)}): parameter "x" has a type that no schema describes: ' in message
    assert "Use JSON types, a dataclass, a TypedDict or a pydantic model" in message


def test_a_field_as_a_default_is_refused() -> None:
    def f(days: int = Field(3, gt=0)) -> int:
        return days

    assert "Write days: Annotated[…, Field(…)] = …" in misuse("field-default", f)


# -------------------------------------------------------------------------------------------- context


def test_the_context_is_given_and_never_in_the_schema() -> None:
    def f(country: str, whatever: ToolContext[Any], days: int = 1) -> Any:
        return whatever.deps[country], whatever.call_id, days

    made = as_tool(f)
    assert list(made.spec.input_schema["properties"]) == ["country", "days"]
    assert made.spec.input_schema["required"] == ["country"]
    assert made.invoke({"country": "FR"}, CONTEXT) == (42, "call_1", 1)


def test_a_context_may_be_bare_optional_or_positional() -> None:
    def bare(ctx: ToolContext) -> Any:  # type: ignore[type-arg]
        return ctx

    def optional(ctx: ToolContext[Any] | None = None) -> Any:
        return ctx

    def positional(ctx: ToolContext[Any], city: str, /, *, days: int) -> Any:
        return ctx

    assert as_tool(bare).invoke({}, CONTEXT) is CONTEXT
    assert as_tool(optional).invoke({}, CONTEXT) is CONTEXT
    assert as_tool(optional).spec.input_schema["properties"] == {}
    assert as_tool(positional).invoke({"city": "a", "days": 1}, CONTEXT) is CONTEXT


def test_two_contexts_are_refused() -> None:
    def f(a: ToolContext[Any], b: ToolContext[Any]) -> None: ...

    assert '"a" and "b" are both a ToolContext. Keep one' in misuse("context-twice", f)


class Silent(Protocol):
    def never_there(self) -> None: ...


@runtime_checkable
class Counting(Protocol):
    def count(self, country: str) -> int: ...


D = TypeVar("D")


@pytest.mark.parametrize(
    ("wanted", "deps", "fine"),
    [
        (Db, Db({}), True),
        (Db, {}, False),
        (Db, None, False),
        (Db | None, None, True),
        (Db | None, 5, False),
        (dict[str, int], {}, True),
        (dict[str, int], [], False),
        (Annotated[Db, "x"], {}, False),
        (None, None, True),
        (None, 5, False),
        (Any, 5, True),
        (object, None, True),
        (D, 5, True),
        (Silent, 5, True),
        (Counting, UserTools(Db({})), True),
        (Counting, Db({}), False),
    ],
)
def test_the_dependencies_must_fit(wanted: Any, deps: object, fine: bool) -> None:
    def f(ctx):  # type: ignore[no-untyped-def]
        return ctx

    f.__annotations__ = {"ctx": ToolContext[wanted]}
    if fine:
        assert build_tools([f], deps)
    else:
        assert "wants deps of type" in misuse("deps-type", f, deps)


def test_wrong_dependencies_are_refused_by_name() -> None:
    def count_users(country: str, ctx: ToolContext[Db]) -> int:
        return ctx.deps.users[country]

    place = f"{HERE}:{line_of(count_users)}"
    start = f"tool count_users ({place}): ctx wants deps of type Db"
    assert misuse("deps-type", count_users, {"FR": 42}) == f"{start}, got dict. Give deps= a Db [deps-type]"
    assert misuse("deps-type", count_users) == f"{start}, there are none. Give deps= a Db [deps-type]"
    assert as_tool(count_users, Db({})).tier is SafetyTier.DANGEROUS


# --------------------------------------------------------------------------------------------- invoke


async def test_an_async_function_gives_its_coroutine() -> None:
    @tool(tier="safe")
    async def f(x: int) -> int:
        return x + 1

    made = as_tool(f)
    assert not made.blocking
    result = made.invoke({"x": 1}, CONTEXT)
    assert inspect.iscoroutine(result)
    assert await result == 2


def test_a_wrapped_async_function_is_async() -> None:
    async def f(x: int) -> int:
        return x

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    assert not as_tool(wrapper).blocking
    assert not as_tool(functools.partial(f)).blocking
    assert as_tool(tool(blocking=True)(wrapper)).blocking


def test_positional_only_parameters_are_filled() -> None:
    def f(a: int, b: int = 2, c: int = 3, /, d: int = 4) -> tuple[int, ...]:
        return a, b, c, d

    made = as_tool(f)
    assert made.invoke({"a": 1}, CONTEXT) == (1, 2, 3, 4)
    assert made.invoke({"a": 1.0, "c": 9, "d": 8}, CONTEXT) == (1, 2, 9, 8)


def test_arguments_are_not_changed() -> None:
    def f(xs: list[float], ctx: ToolContext[Any]) -> list[float]:
        xs.append(3.0)
        return xs

    arguments = {"xs": [1, 2]}
    assert as_tool(f).invoke(arguments, CONTEXT) == [1.0, 2.0, 3.0]
    assert arguments == {"xs": [1, 2]}


def test_what_the_function_raises_passes() -> None:
    def f() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        as_tool(f).invoke({}, CONTEXT)


# ----------------------------------------------------------------------------------------------- many


def test_tools_are_built_in_order() -> None:
    users = UserTools(Db({}))
    assert [made.spec.name for made in build_tools([get_weather, users.count])] == ["get_weather", "count"]
    assert build_tools(iter([])) == ()


def test_two_tools_of_one_name_are_refused() -> None:
    def other(city: str) -> str:
        return city

    renamed = tool(name="get_weather")(other)
    first, second = f"{HERE}:{line_of(get_weather)}", f"{HERE}:{line_of(other)}"
    with pytest.raises(Misuse) as caught:
        build_tools([get_weather, renamed])
    assert str(caught.value) == (
        f'two tools are called "get_weather": {first} and {second}. Rename one: @tool(name=…) [tool-twice]'
    )
    same = as_tool(get_weather)
    for twice in ([get_weather, get_weather], [same, same]):
        with pytest.raises(Misuse, match="two tools are called"):
            build_tools(twice)


def test_a_tool_made_by_hand_may_have_no_place() -> None:
    made = Tool(ToolSpec("x", "", {"type": "object"}), SafetyTier.SAFE, lambda arguments, context: None)
    with pytest.raises(Misuse, match="a Tool made without a place and a Tool made without a place"):
        build_tools([made, made])


@pytest.mark.parametrize("value", [get_weather, as_tool(get_weather), "get_weather", 5])
def test_tools_come_in_a_list(value: Any) -> None:
    with pytest.raises(Misuse, match=r"tools= must be a list, got \w+\. Write tools=\[…\]") as caught:
        build_tools(value)
    assert caught.value.id == "not-a-list"


def test_plain_types_load_no_pydantic() -> None:
    program = """
import json, sys
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict
from geode.entrypoints.tools import as_tool, tool

class Color(Enum):
    RED = "red"

class Place(TypedDict):
    city: str

@tool(tier="safe")
def f(a: str, b: int | None, c: list[Place], d: Literal["x"], e: Annotated[float, "text"], g: set[Color], h: Any = 1) -> str:
    return a

as_tool(f)
print(json.dumps([name for name in sys.modules if name.startswith(("pydantic", "annotated_types"))]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []


# ---- what stands in for a tool -----------------------------------------------------------------


def look(query: str, limit: int = 3) -> str:
    """Look it up."""
    return query


def other(query: str, limit: int = 99) -> str:
    """Look elsewhere: other words, the same parameters."""
    return query


def short(query: str) -> str:
    return query


def change(query: str, limit: int = 3) -> str:
    return query


STAND_INS = (tool(tier="safe")(other), tool(tier="safe")(short), tool(tier="write")(change))


def refused_stand_in(**settings: Any) -> str:
    made: Any = UNTYPED(**{"tier": "safe", "name": "look", **settings})(lambda query, limit=3: query)
    made.__annotations__ = {"query": str, "limit": int}
    with pytest.raises(Misuse) as caught:
        build_tools([made, *STAND_INS])
    assert caught.value.id == "tool-recovery"
    return str(caught.value).partition("): ")[2]


def test_a_tool_names_what_stands_in_for_it() -> None:
    made = tool(tier="safe", alternative="other", fallback="short", max_calls=3, poller=True, idempotent=True)(look)
    built = build_tools([made, *STAND_INS])[0]
    assert (built.alternative, built.fallback, built.max_calls) == ("other", "short", 3)
    assert (built.poller, built.idempotent) == (True, True)


def test_what_could_never_stand_in_is_refused_when_the_session_is_made() -> None:
    assert refused_stand_in(alternative="othr") == (
        'alternative names "othr", which is no tool of this session; did you mean other? [tool-recovery]'
    )
    assert refused_stand_in(fallback="zzz") == (
        'fallback names "zzz", which is no tool of this session; The session has: look, other, short, change [tool-recovery]'
    )
    assert refused_stand_in(alternative="look") == (
        "alternative is the tool itself; name another one, or leave it out [tool-recovery]"
    )
    assert refused_stand_in(fallback="change") == (
        'fallback "change" is WRITE: what may change something stands in for nothing [tool-recovery]'
    )
    assert refused_stand_in(alternative="other", fallback="other") == (
        'alternative and fallback are both "other"; it is tried once. Leave one of them out [tool-recovery]'
    )
    assert refused_stand_in(alternative="short") == (
        'alternative "short" takes other parameters, and would be called with the same arguments. '
        "Give both the same parameters, or make it the fallback [tool-recovery]"
    )
    for tier in ("write", "dangerous", None):
        assert refused_stand_in(fallback="other", tier=tier) == (
            f"it is {(tier or 'dangerous').upper()}, and what may change something is never tried again by another. "
            'Leave out fallback=, or declare a tier that changes nothing, such as tier="safe" [tool-recovery]'
        )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alternative": look}, 'alternative takes the name of a tool, got look. Write alternative="look"'),
        ({"fallback": 3}, 'fallback takes the name of a tool, got int. Write fallback="int"'),
        ({"max_calls": 0}, "max_calls must be a whole number of 1 or more, got 0"),
        ({"max_calls": True}, "max_calls must be a whole number of 1 or more, got True"),
        ({"max_calls": 1.0}, "max_calls must be a whole number of 1 or more, got 1.0"),
        ({"poller": "yes"}, "poller is True or False, got 'yes'"),
        ({"idempotent": 1}, "idempotent is True or False, got 1"),
    ],
)
def test_a_setting_out_of_its_range_is_misuse(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Misuse) as caught:
        UNTYPED(**settings)
    assert str(caught.value) == f"{message} [tool-setting]"
