"""What a caller may say to OpenRouter of the route: its own options, checked before anything is sent (spec section 10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias, cast

from returns.result import Failure, Result, Success

from geode.domain.addresses import address_rule
from geode.domain.naming import closest

DataCollection: TypeAlias = Literal["allow", "deny"]
Sort: TypeAlias = Literal["price", "throughput", "latency"]

_NAMES: Final = ("order", "only", "ignore", "quantizations")
_SWITCHES: Final = ("allow_fallbacks", "require_parameters", "zdr", "enforce_distillable_text")
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "data_collection": ("allow", "deny"),
    "sort": ("price", "throughput", "latency"),
}
# Options by which a program says what it is called; they go out as headers, and only these.
_HEADERS: Final[Mapping[str, str]] = {"app_title": "X-Title", "app_url": "HTTP-Referer"}
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class RelayOptions:
    """The options of OpenRouter that a caller gave; None is one that was not given, and is not sent.

    `order`, `only` and `ignore` name endpoints, `quantizations` their precisions. `allow_fallbacks`: others may answer
    where these cannot. `require_parameters`: only endpoints that take every field of the request. `data_collection`:
    "allow" or "deny". `sort`: "price", "throughput" or "latency". `zdr`: only endpoints that keep nothing.
    `enforce_distillable_text`: only models whose text may be used to train others. `app_title` and `app_url`: what the
    program is called in the account's own statistics; geode sends neither by itself.
    """

    order: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    quantizations: tuple[str, ...] | None = None
    allow_fallbacks: bool | None = None
    require_parameters: bool | None = None
    zdr: bool | None = None
    enforce_distillable_text: bool | None = None
    data_collection: DataCollection | None = None
    sort: Sort | None = None
    app_title: str | None = None
    app_url: str | None = None

    @property
    def routing(self) -> dict[str, Any]:
        """What goes out as `provider`, in the words of the relay."""
        given = {name: getattr(self, name) for name in (*_NAMES, *_SWITCHES, *_WORDS)}
        return {name: list(value) if name in _NAMES else value for name, value in given.items() if value is not None}

    @property
    def headers(self) -> dict[str, str]:
        """What goes out as headers."""
        return {header: value for name, header in _HEADERS.items() if (value := getattr(self, name)) is not None}

    def over(self, under: RelayOptions) -> RelayOptions:
        """These, and those of `under` that these do not have."""
        given = {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}
        return replace(under, **given)


NO_OPTIONS: Final = RelayOptions()
_KNOWN: Final = tuple(one.name for one in fields(RelayOptions))


def relay_options(given: object) -> Result[RelayOptions, str]:
    """The options in a mapping that a caller wrote, or what is wrong with it. None is none."""
    if given is None:
        return Success(NO_OPTIONS)
    if not isinstance(given, Mapping):
        return Failure(f"the options of OpenRouter are a mapping, got {type(given).__name__}")
    found = cast("Mapping[object, object]", given)
    problems = [problem for name, value in found.items() if (problem := _problem(name, value))]
    if problems:
        return Failure(problems[0])
    made = {str(name): _made(value) for name, value in found.items()}
    return Success(RelayOptions(**cast("dict[str, Any]", made)))


def _made(value: object) -> object:
    return tuple(cast("list[str]", value)) if isinstance(value, list | tuple) else value


def _problem(name: object, value: object) -> str:
    """What is wrong with one option; "" if nothing is."""
    if not isinstance(name, str) or name not in _KNOWN:
        close = closest(name, _KNOWN) if isinstance(name, str) else ()
        hint = f"; did you mean {close[0]}?" if close else f". Known: {', '.join(_KNOWN)}"
        return f"OpenRouter has no option {name!r:.80}{hint}"
    if name in _NAMES:
        named = (
            isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, str) and one.strip() for one in value)
        )
        return "" if named else f"the option {name} is a list of one name or more, got {_kind(value)}"
    if name in _SWITCHES:
        return "" if isinstance(value, bool) else f"the option {name} is true or false, got {_kind(value)}"
    if name in _WORDS:
        words = _WORDS[name]
        return (
            ""
            if isinstance(value, str) and value in words
            else f"the option {name} is {' or '.join(words)}, got {'another text' if isinstance(value, str) else _kind(value)}"
        )
    return _header_problem(name, value)


def _kind(value: object) -> str:
    """What a value is, without the value: it may be a secret in the wrong place."""
    return "a text" if isinstance(value, str) else type(value).__name__


def _header_problem(name: str, value: object) -> str:
    if (
        not isinstance(value, str)
        or not value.strip()
        or not value.isascii()
        or not value.isprintable()
        or len(value) > _LONGEST
    ):
        return f"the option {name} is a line of 1 to {_LONGEST} ASCII characters"
    return "the option app_url is an http or https address" if name == "app_url" and address_rule(value) else ""
