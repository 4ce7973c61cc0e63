"""Whether a regular expression can be one, in any dialect."""

from __future__ import annotations

from typing import Final

_QUANTIFIERS: Final = frozenset("*+?")


def well_formed(pattern: str) -> bool:
    """False where brackets do not pair, a backslash ends it, or a quantifier follows nothing.

    Dialects differ in everything else, so that no engine decides.
    """
    depth, in_class, repeatable, at = 0, False, False, 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == "\\":
            if at == len(pattern):
                return False
            at += 1
            repeatable = True
        elif in_class:
            in_class = sign != "]"
            repeatable = True
        elif sign == "[":
            in_class = True
        elif sign == "(":
            depth, repeatable = depth + 1, False
            # `(?` begins a group of a special kind.
            at += pattern.startswith("?", at)
        elif sign == ")":
            depth, repeatable = depth - 1, True
            if depth < 0:
                return False
        elif sign in _QUANTIFIERS:
            if not repeatable:
                return False
        else:
            repeatable = sign != "|"
    return depth == 0 and not in_class
