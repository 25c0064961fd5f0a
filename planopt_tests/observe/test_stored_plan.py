"""Plans come back from the store as they went in; one that is too large leaves its hash."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.plan import Plan
from planopt_assets.observe.plans.fingerprint import plan_fingerprint, topology_hash
from planopt_assets.observe.plans.stored_plan import CAP, pack, read_plan, tree_of, unpack
from planopt_tests.model.test_ids import reordered
from planopt_tests.observe.captured import captured, plan_of

pytestmark = pytest.mark.fast

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"))
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner)
)


@settings(deadline=None)
@given(TREES)
def test_a_tree_comes_back_as_it_was(tree: Any) -> None:
    packed, kept = pack(tree)
    assert packed is not None
    assert unpack(packed) == tree
    assert kept["stored"] is True


@settings(deadline=None)
@given(TREES, st.integers())
def test_the_order_of_entries_does_not_show_in_what_is_stored(tree: Any, seed: int) -> None:
    assert pack(reordered(tree, seed)) == pack(tree)


def test_beyond_the_cap_only_the_hash_and_the_size_are_kept() -> None:
    tree = [["x" * 50, i] for i in range(100)]
    packed, kept = pack(tree)
    assert packed is not None
    size = len(packed)
    assert pack(tree, cap=size) == (packed, kept)
    assert pack(tree, cap=size - 1) == (None, {**kept, "stored": False})
    assert (kept["bytes"], kept["hash"][:4]) == (len(str(tree).replace(" ", "")), "tre_")


def test_the_hash_of_what_is_not_kept_still_tells_plans_apart() -> None:
    hashes = {pack([n], cap=0)[1]["hash"] for n in range(3)}
    assert len(hashes) == 3


def test_a_large_plan_of_a_real_query_is_kept() -> None:
    many = [[0, "Filter", f"Filter (a#{n} > {n})"] for n in range(5_000)]
    packed, _ = pack({"initial": many, "final": many})
    assert packed is not None
    assert len(packed) < CAP / 10


@pytest.mark.parametrize("phase", ["initial", "final"])
def test_a_physical_plan_has_the_same_hashes_when_it_comes_back(phase: str) -> None:
    plan = plan_of(captured(phase), phase)
    packed, _ = pack({"initial": [], "final": [], phase: tree_of(plan)})
    found = read_plan(packed, phase)
    assert (found.phase, found.extractor, len(found.nodes)) == (phase, "store", len(plan.nodes))
    assert plan_fingerprint(found) == plan_fingerprint(plan)
    assert topology_hash(found) == topology_hash(plan)


def test_a_plan_that_was_not_kept_has_no_operators() -> None:
    assert read_plan(None, "final") == Plan("final", (), "store")
