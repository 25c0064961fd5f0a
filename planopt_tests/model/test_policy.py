"""A policy is its parts, and its id is the hash of them."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.hint import STRATEGIES, Hint
from planopt_assets.model.policy import KINDS, ORIGINAL, Policy
from planopt_assets.model.rewrite import Rewrite
from planopt_assets.model.setting import Setting
from planopt_tests.unknown_part import policy_with_a_property

pytestmark = pytest.mark.fast

SHUFFLE, OPEN_COST = "spark.sql.shuffle.partitions", "spark.sql.files.openCostInBytes"
BROADCAST, MERGE = "broadcast(join0.right g)", "merge(join1.left)"
SETTINGS = st.dictionaries(st.text(), st.text(), max_size=4)
HINTS = st.builds(
    Hint, st.sampled_from(STRATEGIES), st.from_regex(r"join[0-9]\.(left|right)( [^\s]{1,4})?", fullmatch=True)
)
POLICIES = st.builds(
    lambda values, hints, names: Policy((*hints, *map(Rewrite, names), *Setting.read(values))),
    SETTINGS,
    st.lists(HINTS, max_size=3),
    st.lists(st.text(), max_size=3),
)

# Stored forms


@settings(deadline=None)
@given(POLICIES)
def test_a_policy_survives_json(policy: Policy) -> None:
    assert Policy.from_json(policy.to_json()) == policy


@settings(deadline=None)
@given(POLICIES)
def test_a_policy_read_back_has_the_id_it_was_stored_under(policy: Policy) -> None:
    assert Policy.from_json(policy.to_json()).id == policy.id


@pytest.mark.parametrize(
    ("policy", "policy_id", "stored", "words"),
    [
        (ORIGINAL, "pol_4bb5a901333f9e84", {}, "original"),
        (
            Policy.of({SHUFFLE: "8", OPEN_COST: "65536"}),
            "pol_f9cada2b3256a58f",
            {"settings": {SHUFFLE: "8", OPEN_COST: "65536"}},
            "files.openCostInBytes=65536, shuffle.partitions=8",
        ),
        (
            Policy.of(hints=[MERGE, BROADCAST]),
            "pol_346ea7cfea7ec1f3",
            {"hints": [MERGE, BROADCAST]},
            f"{MERGE}, {BROADCAST}",
        ),
        (Policy.of(rewrites=["cnf"]), "pol_fca651b085e1b236", {"rewrites": ["cnf"]}, "cnf"),
        (
            Policy.of({SHUFFLE: "8"}, hints=[BROADCAST, "shuffle_hash(join1.left é)"], rewrites=["cnf"]),
            "pol_4ec42ae18701489b",
            {
                "settings": {SHUFFLE: "8"},
                "hints": [BROADCAST, "shuffle_hash(join1.left é)"],
                "rewrites": ["cnf"],
            },
            f"shuffle.partitions=8, {BROADCAST}, shuffle_hash(join1.left é), cnf",
        ),
    ],
)
def test_ids_stored_json_and_words_are_what_stores_hold(
    policy: Policy, policy_id: str, stored: dict[str, object], words: str
) -> None:
    whole = {"settings": {}, "hints": [], "layouts": [], **stored}
    assert (policy.id, json.loads(policy.to_json()), policy.describe()) == (policy_id, whole, words)
    assert Policy.from_json(json.dumps(whole)) == policy


@pytest.mark.parametrize(
    "stored",
    [
        {"settings": {}, "hints": [], "layouts": ["cluster(sales)"]},
        {"settings": {}, "hints": [], "layouts": [], "properties": {"delta.x": "1"}},
        {"settings": {}, "hints": ["set(spark.sql.ansi.enabled=false)"], "layouts": []},
        {"hints": [], "layouts": []},
        {},
    ],
)
def test_a_stored_policy_is_read_whole_or_not_at_all(stored: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not a (policy of this version|join hint)"):
        Policy.from_json(json.dumps(stored))


# Parts and their order


def test_the_order_in_which_settings_are_given_does_not_matter() -> None:
    assert Policy.of({SHUFFLE: "8", OPEN_COST: "65536"}) == Policy.of({OPEN_COST: "65536", SHUFFLE: "8"})


def test_the_order_of_hints_and_of_rewrites_matters() -> None:
    assert Policy.of(hints=[BROADCAST, MERGE]).id != Policy.of(hints=[MERGE, BROADCAST]).id
    assert Policy.of(rewrites=["a", "b"]).id != Policy.of(rewrites=["b", "a"]).id


def test_the_order_of_kinds_does_not_matter() -> None:
    parts = (Rewrite("cnf"), Hint.parse(BROADCAST), Setting(SHUFFLE, "8"))
    assert Policy(parts) == Policy(parts[::-1])
    assert [type(part) for part in Policy(parts).parts] == list(KINDS)


def test_views_hold_what_those_who_apply_a_policy_take() -> None:
    policy = Policy.of({SHUFFLE: "8"}, hints=[BROADCAST], rewrites=["cnf"])
    assert policy.settings == ((SHUFFLE, "8"),)
    assert policy.hints == (Hint("broadcast", "join0.right g"),)
    assert policy.rewrites == ("cnf",)


@pytest.mark.parametrize(
    ("policy", "needs"),
    [
        (ORIGINAL, False),
        (Policy.of({SHUFFLE: "8"}), False),
        (Policy.of({SHUFFLE: "8"}, hints=[MERGE]), True),
        (Policy.of(rewrites=["cnf"]), True),
    ],
)
def test_hints_and_rewrites_need_the_querys_text(policy: Policy, needs: bool) -> None:
    assert policy.needs_text is needs


def test_facts_show_every_kind_of_part() -> None:
    assert Policy.of(hints=[MERGE]).facts() == {"settings": {}, "hints": [MERGE], "rewrites": []}
    assert ORIGINAL.facts() == {"settings": {}, "hints": [], "rewrites": []}


def test_a_policy_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ORIGINAL.parts = (Rewrite("cnf"),)  # type: ignore[misc]


# Several policies


@settings(deadline=None)
@given(SETTINGS, SETTINGS)
def test_merged_settings_are_those_of_both(first: dict[str, str], second: dict[str, str]) -> None:
    assert Policy.of(first).merged(Policy.of(second)) == Policy.of({**first, **second})


def test_merged_hints_and_rewrites_are_sorted_and_each_is_there_once() -> None:
    one = Policy.of(hints=[BROADCAST], rewrites=["b"])
    hints = [BROADCAST, "broadcast(join2.left)", "broadcast(join2.right)"]
    other = Policy.of({SHUFFLE: "2"}, hints=hints[::-1], rewrites=["a"])
    assert one.merged(other) == Policy.of({SHUFFLE: "2"}, hints=hints, rewrites=["a", "b"])


def test_of_two_strategies_for_one_input_the_others_is_kept() -> None:
    other = Policy.of(hints=["merge(join0.right g)"])
    assert Policy.of(hints=[BROADCAST]).merged(other) == other


@pytest.mark.parametrize(
    ("other", "conflict"),
    [
        (Policy.of({SHUFFLE: "4"}), True),
        (Policy.of({SHUFFLE: "8"}), False),
        (Policy.of({OPEN_COST: "4"}), False),
        (Policy.of(hints=["merge(join0.right g)"]), True),
        (Policy.of(hints=["merge(join0.left)"]), False),
        (Policy.of(hints=[BROADCAST], rewrites=["any"]), False),
        (ORIGINAL, False),
    ],
    ids=lambda value: value.describe() if isinstance(value, Policy) else "",
)
def test_one_knob_has_one_value_and_one_input_one_strategy(other: Policy, conflict: bool) -> None:
    policy = Policy.of({SHUFFLE: "8"}, hints=[BROADCAST], rewrites=["cnf"])
    assert policy.conflicts_with(other) is conflict
    assert other.conflicts_with(policy) is conflict


@settings(deadline=None)
@given(POLICIES)
def test_a_policy_without_one_of_its_parts_is_within_it(policy: Policy) -> None:
    for part in policy.parts:
        assert part not in policy.without(part).parts
        assert policy.without(part).within(policy)
        assert not policy.within(policy.without(part))


# Parts by themselves


def test_only_settings_can_act_at_run_time_alone() -> None:
    setting, hint, rewrite = Setting(SHUFFLE, "8"), Hint.parse(BROADCAST), Rewrite("cnf")
    assert setting.must_show({OPEN_COST})
    assert not setting.must_show({SHUFFLE})
    assert hint.must_show({hint.label})
    assert rewrite.must_show({rewrite.label})


def test_parts_of_two_kinds_never_conflict() -> None:
    assert not Setting("cnf", "8").conflicts_with(Rewrite("cnf"))
    assert Setting("cnf", "8").conflicts_with(Setting("cnf", "9"))


def test_a_new_kind_of_part_needs_no_other_place_in_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_with_a_property(monkeypatch)
    alone = policy.without(policy.parts[0])
    assert policy.describe() == "shuffle.partitions=2, delta.x"
    assert Policy.from_json(policy.to_json()) == policy == alone.merged(Policy.of({SHUFFLE: "2"}))
    assert alone.facts() == {"settings": {}, "hints": [], "rewrites": [], "properties": ["delta.x"]}
    assert ORIGINAL.id == "pol_4bb5a901333f9e84"
