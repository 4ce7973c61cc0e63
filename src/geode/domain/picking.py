"""Picking the models of the three roles by keys (spec section 9): a pure state, and what a key makes of it.

The cursor stands on a model for one role. Space stages what is under it, Enter applies all that is staged and what
is under the cursor, or nothing; Escape changes nothing. The effort is one, that of the primary model: it moves by the
arrows alone, and the other roles inherit it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from geode.domain.effort import Efforts, Step, choice_problem, next_effort, pair_problem

Role: TypeAlias = Literal["primary", "reflection", "summary"]
Key: TypeAlias = Literal["up", "down", "left", "right", "tab", "space", "enter", "escape", "backspace"]
# The settings by their names in config.toml.
ChosenName: TypeAlias = Literal["model", "effort", "reflection_model", "summary_model"]

ROLES: Final[tuple[Role, ...]] = ("primary", "reflection", "summary")
_NAME_OF: Final[Mapping[Role, ChosenName]] = {
    "primary": "model",
    "reflection": "reflection_model",
    "summary": "summary_model",
}
CHOSEN_NAMES: Final[tuple[ChosenName, ...]] = ("model", "effort", "reflection_model", "summary_model")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model that can be picked, and what is known of it.

    `efforts`: see `geode.domain.effort`; `default_effort` is what the model does without a word. `window` is in
    tokens, None where it is not known. `unusable` says why it cannot be used now: no route, no credential, a
    retired source; "" where it can.
    """

    id: str
    adapter: str = ""
    efforts: Efforts = None
    default_effort: str | None = None
    window: int | None = None
    note: str = ""
    unusable: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The models of the roles. A role without one uses the primary model; no effort is the provider's own default."""

    model: str | None = None
    effort: str | None = None
    reflection_model: str | None = None
    summary_model: str | None = None

    def of(self, role: Role) -> str | None:
        """The model of the role."""
        return self.named(_NAME_OF[role])

    def named(self, name: ChosenName) -> str | None:
        """The setting of that name."""
        found: str | None = getattr(self, name)
        return found

    def with_model(self, role: Role, model: str | None) -> Chosen:
        match role:
            case "primary":
                return replace(self, model=model)
            case "reflection":
                return replace(self, reflection_model=model)
            case "summary":
                return replace(self, summary_model=model)

    def changes_from(self, before: Chosen) -> dict[ChosenName, str | None]:
        """What is other than it was, by name; None for what is to be unset."""
        return {name: self.named(name) for name in CHOSEN_NAMES if self.named(name) != before.named(name)}


@dataclass(frozen=True, slots=True)
class Applied:
    """Everything was confirmed, and every rule holds."""

    chosen: Chosen
    changes: Mapping[ChosenName, str | None]


@dataclass(frozen=True, slots=True)
class Discarded:
    """Nothing changes."""


@dataclass(frozen=True, slots=True)
class Picker:
    """Where somebody is in picking. `stored` is what is in force; `tokens` are those of a conversation that goes on."""

    choices: tuple[ModelChoice, ...]
    stored: Chosen
    staged: Chosen
    effort: str | None
    role: Role = "primary"
    cursor: int = 0
    staged_roles: frozenset[Role] = frozenset()
    tokens: int | None = None
    known: Mapping[str, ModelChoice] = field(default_factory=dict[str, ModelChoice], repr=False)

    @property
    def rows(self) -> tuple[ModelChoice | None, ...]:
        """What the cursor moves over; None is "the primary model"."""
        return self.choices if self.role == "primary" else (None, *self.choices)

    @property
    def here(self) -> ModelChoice | None:
        """The model under the cursor; None for "the primary model", and where there is none at all."""
        return self.rows[self.cursor] if self.rows else None

    @property
    def efforts_shown(self) -> tuple[str, ...]:
        """The words of the effort control: none where the model under the cursor has none, or the role only inherits."""
        here = self.here
        return here.efforts or () if here is not None and self.role == "primary" else ()

    @property
    def blocked(self) -> str:
        """Why Space and Enter would not take what is under the cursor; "" where they would."""
        here = self.here
        if here is None:
            return "" if self.rows else "there is no model to pick"
        if here.unusable:
            return f"{here.id} cannot be used: {here.unusable}"
        if self.role != "primary":
            return pair_problem(self.staged.model or "the primary model", self.effort, here.id, here.efforts)
        return window_problem(here, self.tokens) or choice_problem(here.id, here.efforts, self.effort, self.stored.effort)

    @property
    def chosen(self) -> Chosen:
        """What Enter would apply: what is staged, and what is under the cursor."""
        here = self.here
        taken = self.staged.with_model(self.role, None if here is None else here.id)
        return replace(taken, effort=self.effort)

    @property
    def unfit(self) -> str:
        """Why Enter applies nothing; "" where it applies all."""
        return self.blocked or next(problems(self.chosen, self.stored, self.known), "")


def opened(choices: tuple[ModelChoice, ...], stored: Chosen, tokens: int | None = None) -> Picker:
    """The picker, on the primary model that is in force. A model that is in force and not listed is listed too."""
    listed = {choice.id for choice in choices}
    in_force = dict.fromkeys(model for role in ROLES if (model := stored.of(role)) is not None)
    unlisted = tuple(ModelChoice(model, note="in force, nothing is known of it") for model in in_force if model not in listed)
    everything = (*choices, *unlisted)
    picker = Picker(
        everything, stored, stored, stored.effort, tokens=tokens, known={choice.id: choice for choice in everything}
    )
    return _anchored(picker, "primary")


def problems(chosen: Chosen, stored: Chosen, known: Mapping[str, ModelChoice]) -> Iterator[str]:
    """Everything that keeps `chosen` from being saved as a whole. Nothing is guessed of a model that is not known.

    The roles that inherit the effort are checked against it whichever of the two was changed.
    """
    model, effort = chosen.model, chosen.effort
    if model is None:
        yield "no primary model is chosen"
        return
    if problem := choice_problem(model, _efforts_of(model, known), effort, stored.effort):
        yield problem
    for role in ("reflection", "summary"):
        other = chosen.of(role)
        if other is not None and (problem := pair_problem(model, effort, other, _efforts_of(other, known))):
            yield f"{role} model: {problem}"


def pressed(picker: Picker, key: Key) -> Picker | Applied | Discarded:
    """What a key does. One that is blocked does nothing; `blocked` and `unfit` say why."""
    match key:
        case "up" | "down":
            return _moved(picker, -1 if key == "up" else 1)
        case "left" | "right":
            return _with_effort(picker, -1 if key == "left" else 1)
        case "backspace":
            return replace(picker, effort=None) if picker.role == "primary" else picker
        case "tab":
            return _in_next_role(picker)
        case "space":
            return picker if picker.blocked else _staged(picker)
        case "enter":
            if picker.unfit:
                return picker
            return Applied(picker.chosen, picker.chosen.changes_from(picker.stored))
        case "escape":
            return Discarded()


def _moved(picker: Picker, step: Step) -> Picker:
    rows = len(picker.rows)
    return replace(picker, cursor=(picker.cursor + step) % rows) if rows else picker


def _with_effort(picker: Picker, step: Step) -> Picker:
    here = picker.here
    if here is None or not picker.efforts_shown:
        return picker
    return replace(picker, effort=next_effort(picker.efforts_shown, picker.effort, step, here.default_effort))


def _in_next_role(picker: Picker) -> Picker:
    """The effort stays as chosen; but one that was tried on another model than the staged one is left with that one."""
    here, staged = picker.here, picker.staged
    elsewhere = picker.role == "primary" and "primary" in picker.staged_roles and (here is None or here.id != staged.model)
    effort = staged.effort if elsewhere else picker.effort
    role = ROLES[(ROLES.index(picker.role) + 1) % len(ROLES)]
    return _anchored(replace(picker, effort=effort), role)


def _staged(picker: Picker) -> Picker:
    return replace(picker, staged=picker.chosen, staged_roles=picker.staged_roles | {picker.role})


def _anchored(picker: Picker, role: Role) -> Picker:
    """In the role, on what is staged for it."""
    there = replace(picker, role=role)
    ids = [None if row is None else row.id for row in there.rows]
    model = picker.staged.of(role)
    return replace(there, cursor=ids.index(model) if model in ids else 0)


def _efforts_of(model: str, known: Mapping[str, ModelChoice]) -> Efforts:
    return known[model].efforts if model in known else None


def window_problem(choice: ModelChoice, tokens: int | None) -> str:
    """A conversation that goes on has to fit the model; where either is not known nobody is kept from it."""
    if tokens is None or choice.window is None or tokens <= choice.window:
        return ""
    return f"{choice.id} reads {choice.window:,} tokens at most, and this conversation has {tokens:,}: /clear begins another"
