"""The picker by keys: each rule of spec section 9."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.domain.picking import Applied, Chosen, Discarded, Key, ModelChoice, Picker, opened, pressed, problems

UP_TO_MAX = ("low", "medium", "high", "xhigh", "max")
OPUS = ModelChoice("opus", "anthropic-payg", UP_TO_MAX, "high", 1_000_000)
SONNET = ModelChoice("sonnet", "anthropic-payg", (), None, 200_000)
GPT = ModelChoice("gpt", "openai-payg", ("none", "low", "medium", "high"), "medium", 400_000)
GLM = ModelChoice("glm", "glm-payg", ("low", "high", "max"), "max", 200_000)
OWN = ModelChoice("lab/llama", "lab")
NO_KEY = ModelChoice("gone", "openai-payg", UP_TO_MAX, unusable="openai-payg has no key: set OPENAI_API_KEY")
ALL = (OPUS, SONNET, GPT, GLM, OWN, NO_KEY)


def picker(model: str | None = "opus", effort: str | None = "high", tokens: int | None = None, **roles: str) -> Picker:
    return opened(ALL, Chosen(model, effort, **roles), tokens)


def after(picker: Picker, *keys: Key) -> Picker:
    for key in keys:
        found = pressed(picker, key)
        assert isinstance(found, Picker), f"{key} ended the picking"
        picker = found
    return picker


def downs(steps: int) -> tuple[Key, ...]:
    down: Key = "down"
    return (down,) * steps


def applied(picker: Picker, *keys: Key) -> dict[str, str | None]:
    """What `keys` and then Enter would save."""
    found = pressed(after(picker, *keys), "enter")
    assert isinstance(found, Applied), after(picker, *keys).unfit
    return dict(found.changes.items())


def here(picker: Picker) -> str | None:
    return None if picker.here is None else picker.here.id


# ---- the cursor --------------------------------------------------------------------------------


def test_it_opens_on_the_primary_model_that_is_in_force() -> None:
    assert (picker("glm").role, here(picker("glm"))) == ("primary", "glm")


def test_up_and_down_go_around_the_ends() -> None:
    assert [here(after(picker(), *downs(steps))) for steps in range(7)] == [*(one.id for one in ALL), "opus"]
    assert here(after(picker(), "up")) == "gone"


def test_a_model_in_force_that_is_not_listed_is_listed_and_nothing_is_guessed_of_it() -> None:
    unlisted = picker("mystery", "turbo")
    assert here(unlisted) == "mystery"
    assert (unlisted.efforts_shown, unlisted.unfit) == ((), "")
    assert unlisted.here == ModelChoice("mystery", note="in force, nothing is known of it")
    assert applied(unlisted) == {}


def test_tab_goes_through_the_roles_and_stands_on_the_model_of_each() -> None:
    now = picker("opus", reflection_model="gpt")
    found = []
    for _ in range(4):
        found.append((now.role, here(now)))
        now = after(now, "tab")
    assert found == [("primary", "opus"), ("reflection", "gpt"), ("summary", None), ("primary", "opus")]


def test_tab_leaves_behind_where_the_cursor_was_not_staged() -> None:
    assert here(after(picker("opus"), "down", "down", "tab", "tab", "tab")) == "opus"
    assert here(after(picker("opus"), "down", "down", "space", "tab", "tab", "tab")) == "gpt"


# ---- effort ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "shown"), [("opus", UP_TO_MAX), ("glm", ("low", "high", "max"))])
def test_only_the_words_of_the_model_are_shown(model: str, shown: tuple[str, ...]) -> None:
    assert picker(model).efforts_shown == shown


@pytest.mark.parametrize("model", ["sonnet", "lab/llama"])
def test_a_model_without_effort_control_and_one_of_which_nothing_is_known_show_none(model: str) -> None:
    there = picker(model)
    assert there.efforts_shown == ()
    assert after(there, "left", "right", "right").effort == "high"


def test_arrows_change_the_effort_and_go_around_the_ends() -> None:
    assert after(picker(), "right").effort == "xhigh"
    assert after(picker(), "right", "right", "right").effort == "low"
    assert after(picker(), "left", "left", "left").effort == "max"


def test_arrows_go_from_a_word_that_the_model_does_not_take_to_the_next_in_their_direction() -> None:
    at_gpt = after(picker("opus", "xhigh"), "down", "down")
    at_glm = after(picker("opus", "medium"), "down", "down", "down")
    assert after(at_gpt, "left").effort == "high"
    assert after(at_gpt, "right").effort == "none", "around the end"
    assert (after(at_glm, "left").effort, after(at_glm, "right").effort) == ("low", "high")


def test_from_no_effort_an_arrow_goes_to_what_the_model_does_by_itself() -> None:
    assert after(picker("gpt", None), "right").effort == "medium"
    assert after(picker("opus", None), "left").effort == "high"


def test_an_effort_is_never_changed_by_moving_to_another_model() -> None:
    now = picker("opus", "xhigh")
    for _ in range(7):
        now = after(now, "down")
        assert now.effort == "xhigh"


def test_only_the_primary_role_changes_the_effort() -> None:
    in_reflection = after(picker(), "tab", "down")
    assert in_reflection.efforts_shown == ()
    assert after(in_reflection, "left", "right", "right", "backspace").effort == "high"


def test_backspace_leaves_the_effort_to_the_provider() -> None:
    assert applied(picker(), "backspace") == {"effort": None}


# ---- what is blocked ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (2, 'gpt takes no effort "xhigh"; it takes none, low, medium, high'),
        (3, 'glm takes no effort "xhigh"; it takes low, high, max'),
        (5, "gone cannot be used: openai-payg has no key: set OPENAI_API_KEY"),
    ],
)
def test_space_and_enter_are_blocked_where_the_stored_effort_is_not_taken_or_the_model_cannot_be_used(
    steps: int, why: str
) -> None:
    there = after(picker("opus", "xhigh"), *downs(steps))
    assert (there.blocked, there.unfit) == (why, why)
    assert pressed(there, "space") == there
    assert pressed(there, "enter") == there


def test_a_supported_effort_opens_the_way() -> None:
    there = after(picker("opus", "xhigh"), "down", "down", "left")
    assert there.unfit == ""
    assert applied(there) == {"model": "gpt", "effort": "high"}


def test_a_stored_effort_is_kept_beside_a_model_without_effort_control_and_a_new_one_is_refused() -> None:
    assert applied(picker("opus", "high"), "down") == {"model": "sonnet"}
    there = after(picker("opus", "high"), "right", "down")
    assert there.blocked == "sonnet takes no effort; leave it out"
    assert pressed(there, "space") == there
    assert pressed(there, "enter") == there
    assert applied(there, "backspace") == {"model": "sonnet", "effort": None}


def test_what_nothing_is_known_of_takes_any_word() -> None:
    assert applied(picker("opus", "xhigh"), "up", "up") == {"model": "lab/llama"}


@pytest.mark.parametrize(("tokens", "blocked"), [(None, False), (200_000, False), (200_001, True)])
def test_a_conversation_that_goes_on_must_fit_the_new_primary_model(tokens: int | None, blocked: bool) -> None:
    there = after(picker("opus", "high", tokens), "down", "down", "down")
    assert (there.blocked != "") is blocked
    if blocked:
        assert there.blocked == ("glm reads 200,000 tokens at most, and this conversation has 200,001: /clear begins another")
        assert pressed(there, "enter") == there


def test_a_conversation_of_any_length_keeps_nobody_from_a_model_of_another_role_or_of_unknown_window() -> None:
    assert applied(picker("opus", "high", 10**9), "up", "up") == {"model": "lab/llama"}
    assert applied(picker("opus", "high", 300_000), "tab", "down", "down", "down", "down") == {"reflection_model": "glm"}


def test_an_effort_that_the_primary_model_does_not_take_is_in_the_way_of_every_role() -> None:
    there = after(picker("gpt", "xhigh"), "tab", "tab")
    assert (there.blocked, there.unfit) == ("", 'gpt takes no effort "xhigh"; it takes none, low, medium, high')
    assert pressed(there, "enter") == there


def test_everything_that_is_in_the_way_is_told_and_nothing_is_guessed_of_models_that_are_not_known() -> None:
    known = {choice.id: choice for choice in ALL}
    assert list(problems(Chosen("gpt", "max", "glm", "gpt"), Chosen(), known)) == [
        'gpt takes no effort "max"; it takes none, low, medium, high',
        'summary model: gpt would inherit the effort "max" of gpt; it takes none, low, medium, high',
    ]
    assert list(problems(Chosen("x", "max", "y", "z"), Chosen(), known)) == []
    assert list(problems(Chosen("sonnet", "max"), Chosen(None, "max"), known)) == []


# ---- pairs -------------------------------------------------------------------------------------


def test_a_reflection_model_must_take_the_primary_effort() -> None:
    there = after(picker("opus", "xhigh"), "tab", "down", "down", "down")
    assert here(there) == "gpt"
    assert there.blocked == 'gpt would inherit the effort "xhigh" of opus; it takes none, low, medium, high'
    assert pressed(there, "space") == there
    assert pressed(there, "enter") == there


def test_a_primary_change_must_fit_the_reflection_model() -> None:
    there = after(picker("opus", "high", reflection_model="glm"), "left")
    assert there.blocked == ""
    assert there.unfit == 'reflection model: glm would inherit the effort "medium" of opus; it takes low, high, max'
    assert pressed(there, "enter") == there
    assert applied(there, "left") == {"effort": "low"}


def test_both_may_be_changed_together() -> None:
    there = after(picker("opus", "high", reflection_model="gpt"), "right", "right", "space")
    assert pressed(there, "enter") == there, "gpt takes no max"
    assert applied(there, "tab", "down") == {"effort": "max", "reflection_model": "glm"}


def test_an_inherited_effort_is_left_out_for_a_reflection_model_without_effort_control() -> None:
    assert applied(picker("opus", "max"), "tab", "down", "down") == {"reflection_model": "sonnet"}


def test_the_summary_model_inherits_as_the_reflection_model_does() -> None:
    there = after(picker("opus", "xhigh", summary_model="gpt"))
    assert there.unfit == 'summary model: gpt would inherit the effort "xhigh" of opus; it takes none, low, medium, high'


def test_a_role_goes_back_to_the_primary_model() -> None:
    assert applied(picker("opus", reflection_model="opus"), "tab", "up") == {"reflection_model": None}


# ---- staging, applying, leaving ----------------------------------------------------------------


def test_space_stages_and_goes_on() -> None:
    there = after(picker("opus"), "down", "down", "space")
    assert (there.staged.model, there.stored.model) == ("gpt", "opus")
    assert there.staged_roles == frozenset(("primary",))


def test_enter_applies_what_is_staged_in_every_role_and_what_is_under_the_cursor() -> None:
    staged = after(picker("opus"), "down", "down", "space", "tab", "down", "space", "tab")
    assert applied(staged, "down", "down", "down", "down") == {
        "model": "gpt",
        "reflection_model": "opus",
        "summary_model": "glm",
    }


def test_what_is_applied_is_told_whole_too() -> None:
    found = pressed(after(picker("opus", "high", reflection_model="opus"), "down", "down"), "enter")
    assert found == Applied(Chosen("gpt", "high", "opus"), {"model": "gpt"})


def test_enter_alone_changes_nothing() -> None:
    assert applied(picker("opus", reflection_model="gpt", summary_model="glm")) == {}


@pytest.mark.parametrize("keys", [(), ("tab",), ("tab", "tab"), ("tab", "tab", "tab"), ("space",), ("space", "tab")])
def test_changing_roles_and_staging_keep_the_primary_effort(keys: tuple[Key, ...]) -> None:
    assert after(picker("opus", "max"), *keys).effort == "max"
    assert applied(picker("opus", "max"), *keys) == {}


@pytest.mark.parametrize(
    "keys", [("tab",), ("space", "tab"), ("tab", "tab", "tab"), ("space",), ("space", "tab", "tab", "tab")]
)
def test_an_effort_that_was_chosen_is_applied_from_any_role(keys: tuple[Key, ...]) -> None:
    assert applied(picker("opus", "high"), "right", *keys) == {"effort": "xhigh"}


def test_an_effort_that_was_staged_with_its_model_stays_with_it() -> None:
    looked_on = after(picker("opus", "high"), "right", "space", "down", "down", "left", "left")
    assert (here(looked_on), looked_on.effort) == ("gpt", "medium")
    assert applied(looked_on, "tab") == {"effort": "xhigh"}
    assert applied(looked_on) == {"model": "gpt", "effort": "medium"}


def test_an_effort_that_was_changed_on_the_staged_model_stays_chosen() -> None:
    """Spec section 9: changing roles keeps the primary effort as chosen."""
    assert applied(picker("opus", "high"), "space", "right", "tab") == {"effort": "xhigh"}
    assert applied(picker("opus", "high"), "space", "right", "tab", "tab", "tab") == {"effort": "xhigh"}


def test_all_or_nothing() -> None:
    """What is staged waits as long as something else is in the way."""
    there = after(picker("opus", "high", summary_model="gpt"), "tab", "down", "space", "tab", "tab", "right")
    assert there.staged.reflection_model == "opus"
    assert pressed(there, "enter") == there
    assert applied(there, "left") == {"reflection_model": "opus"}


@pytest.mark.parametrize("keys", [(), ("down", "space", "tab", "down", "space"), ("right", "space")])
def test_escape_changes_nothing(keys: tuple[Key, ...]) -> None:
    assert pressed(after(picker(), *keys), "escape") == Discarded()


def test_without_any_model_there_is_nothing_to_apply() -> None:
    nothing = opened((), Chosen())
    assert nothing.blocked == "there is no model to pick"
    for key in ("up", "down", "left", "right", "space", "enter"):
        assert pressed(nothing, key) == nothing
    assert next(problems(Chosen(), Chosen(), {})) == "no primary model is chosen"


def test_a_role_is_not_applied_without_a_primary_model() -> None:
    there = after(picker(None, None), "tab", "down")
    assert here(there) == "opus"
    assert there.unfit == "no primary model is chosen"
    assert applied(picker(None, None), "space", "tab", "down") == {"model": "opus", "reflection_model": "opus"}


def test_what_differs_is_saved_by_the_names_of_the_settings() -> None:
    before = Chosen("a", "low", "b", "c")
    assert Chosen("x", None, "y", None).changes_from(before) == {
        "model": "x",
        "effort": None,
        "reflection_model": "y",
        "summary_model": None,
    }
    assert replace(before).changes_from(before) == {}
