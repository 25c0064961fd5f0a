"""A policy is its content: settings, hints and layout references."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.policy import ORIGINAL, Policy

pytestmark = pytest.mark.fast

SHUFFLE, OPEN_COST = "spark.sql.shuffle.partitions", "spark.sql.files.openCostInBytes"
TEXTS = st.lists(st.text(), max_size=3).map(tuple)
SETTINGS = st.dictionaries(st.text(), st.text(), max_size=4)
POLICIES = st.builds(
    lambda values, hints, layouts: dataclasses.replace(Policy.of(values), hints=hints, layouts=layouts),
    SETTINGS,
    TEXTS,
    TEXTS,
)


@settings(deadline=None)
@given(POLICIES)
def test_a_policy_survives_json(policy: Policy) -> None:
    assert Policy.from_json(policy.to_json()) == policy


@settings(deadline=None)
@given(POLICIES)
def test_a_policy_read_back_has_the_id_it_was_stored_under(policy: Policy) -> None:
    assert Policy.from_json(policy.to_json()).id == policy.id


def test_the_order_in_which_settings_are_given_does_not_matter() -> None:
    assert Policy.of({SHUFFLE: "8", OPEN_COST: "65536"}) == Policy.of({OPEN_COST: "65536", SHUFFLE: "8"})


def test_the_order_of_hints_matters() -> None:
    assert Policy(hints=("BROADCAST(a)", "MERGE(b)")).id != Policy(hints=("MERGE(b)", "BROADCAST(a)")).id


@pytest.mark.parametrize(
    "other",
    [
        Policy.of({SHUFFLE: "9"}),
        Policy.of({OPEN_COST: "8"}),
        Policy(settings=((SHUFFLE, "8"),), hints=("BROADCAST(a)",)),
        Policy(settings=((SHUFFLE, "8"),), layouts=("orders@clustered",)),
        ORIGINAL,
    ],
    ids=Policy.describe,
)
def test_policies_with_different_content_have_different_ids(other: Policy) -> None:
    assert Policy.of({SHUFFLE: "8"}).id != other.id


def test_with_settings_adds_a_setting_and_keeps_the_rest() -> None:
    before = Policy(settings=((SHUFFLE, "8"),), hints=("BROADCAST(a)",), layouts=("orders@clustered",))
    after = before.with_settings({OPEN_COST: "65536"})
    assert dict(after.settings) == {SHUFFLE: "8", OPEN_COST: "65536"}
    assert (after.hints, after.layouts) == (before.hints, before.layouts)


def test_with_settings_replaces_a_value_and_leaves_the_policy_itself_alone() -> None:
    before = Policy.of({SHUFFLE: "8"})
    assert before.with_settings({SHUFFLE: "2"}) == Policy.of({SHUFFLE: "2"})
    assert before == Policy.of({SHUFFLE: "8"})


@settings(deadline=None)
@given(SETTINGS, SETTINGS)
def test_with_settings_gives_the_policy_that_has_both(first: dict[str, str], second: dict[str, str]) -> None:
    assert Policy.of(first).with_settings(second) == Policy.of({**first, **second})


def test_a_policy_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ORIGINAL.hints = ("BROADCAST(a)",)  # type: ignore[misc]


def test_original_sets_nothing() -> None:
    assert json.loads(ORIGINAL.to_json()) == {"settings": {}, "hints": [], "layouts": []}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (ORIGINAL, "original"),
        (Policy.of({SHUFFLE: "8", OPEN_COST: "65536"}), "files.openCostInBytes=65536, shuffle.partitions=8"),
        (Policy.of({"spark.io.compression": "zstd"}), "spark.io.compression=zstd"),
        (Policy(hints=("BROADCAST(a)",), layouts=("orders@clustered",)), "BROADCAST(a), orders@clustered"),
    ],
)
def test_a_policy_is_described_in_a_few_words(policy: Policy, words: str) -> None:
    assert policy.describe() == words
