"""Types that the standard library and much-used packages return, in plainer types.

They are known by what their class offers or is called, so that nothing has to be imported for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, NamedTuple

from geode.domain.errors import GeodeError

_Name = tuple[str, str]
# Types whose text is what a reader wants of them.
_TEXTS: Final[frozenset[_Name]] = frozenset(
    {
        *(("ipaddress", f"IPv{version}{kind}") for version in "46" for kind in ("Address", "Network", "Interface")),
        *(("numpy", "datetime64"), ("numpy", "timedelta64"), ("pandas", "Period"), ("pandas", "Interval")),
        *(("uuid", "UUID"), ("fractions", "Fraction")),
    }
)


class Plain(NamedTuple):
    """A value in a plainer type."""

    value: Any


def plain_form(value: Any) -> Plain | None:
    """`value` in a plainer type; None for a type that is not known here. May raise what the value's own methods raise."""
    kind = type(value)
    names = {(base.__module__.partition(".")[0], base.__name__) for base in kind.__mro__}
    if names & _TEXTS or callable(getattr(kind, "__fspath__", None)):
        return Plain(value.__fspath__() if hasattr(kind, "__fspath__") else str(value))
    if isinstance(value, complex):
        return Plain(str(value).strip("()"))
    if isinstance(value, BaseException):
        # The text of an exception may hold what no model is to see, unless it was written for it.
        return Plain({"error": str(value) if isinstance(value, GeodeError) else kind.__name__})
    if ("pandas", "NAType") in names:
        return Plain(None)
    found = _fields(value, kind, names)
    return Plain(found) if found is not None else _table(value, kind, names)


def _fields(value: Any, kind: type, names: set[_Name]) -> Mapping[str, Any] | None:
    """What an object is made of, where its class declares it."""
    if is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in fields(kind)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if hasattr(kind, "__struct_fields__"):
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    return dict(vars(value)) if ("types", "SimpleNamespace") in names else None


def _table(value: Any, kind: Any, names: set[_Name]) -> Plain | None:
    """Arrays, columns, tables and rows."""
    if ("pandas", "DataFrame") in names:
        return Plain(_rows(value if _counts(value) else value.reset_index()))
    if ("pandas", "Series") in names and not _counts(value):
        pairs = list(value.items())
        return Plain(dict(pairs) if value.index.is_unique else pairs)
    if ("numpy", "ndarray") in names and value.dtype.kind in ("m", "M"):
        return Plain(value.astype(str).tolist())
    for method in ("to_dicts", "tolist", "to_list", "to_pylist"):
        if callable(getattr(kind, method, None)):
            return Plain(getattr(value, method)())
    if callable(getattr(kind, "keys", None)) and callable(getattr(kind, "__getitem__", None)):
        keys = value.keys()
        return Plain({key: value[key] for key in keys})
    return None


def _rows(frame: Any) -> Any:
    if not frame.columns.is_unique:
        raise ValueError("two columns have the same name, and an object has each key once")
    return frame.to_dict("records")


def _counts(value: Any) -> bool:
    """Whether the index says nothing but the number of the row."""
    return type(value.index).__name__ == "RangeIndex" and value.index.name is None
