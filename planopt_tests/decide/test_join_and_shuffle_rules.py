"""The rules about joins, shuffles and memory, on whatever evidence there is: they answer, and stay within bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide.driver_memory import LARGEST
from planopt_assets.decide.join_sides import may_broadcast, may_hash, may_split
from planopt_assets.decide.knobs import objections
from planopt_assets.decide.rules import (
    RULES,
    broadcast_small_side,
    coalesce_reads,
    partial_aggregation,
    prefer_hash_join,
    relieve_spill,
    split_skew,
    swap_build_side,
)
from planopt_assets.decide.shuffle_settings import predicted_reads
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import SIDES, Aggregation, Exchange, Join, JoinInput, Spill, Stage
from planopt_assets.model.workload import Knobs
from planopt_tests.decide.cases import WORKED

pytestmark = pytest.mark.fast

NAMES = {
    rule.NAME
    for rule in (
        broadcast_small_side,
        coalesce_reads,
        partial_aggregation,
        prefer_hash_join,
        relieve_spill,
        split_skew,
        swap_build_side,
    )
}
MINE = [(name, rule) for name, rule in RULES if name in NAMES]
KINDS = ("Inner", "Cross", "LeftOuter", "RightOuter", "FullOuter", "LeftSemi", "LeftAnti", "ExistenceJoin(exists#1)")

SIZES = st.sampled_from([None, 0, 1_000, 500_000, 9_000_000, 40_000_000, 220_000_000, 10**10])
INPUTS = st.builds(
    JoinInput,
    rows=SIZES,
    bytes=SIZES,
    estimated_bytes=SIZES,
    shuffled=st.booleans(),
    tables=st.sampled_from([(), ("a",), ("a", "b")]),
)
STRATEGIES = st.sampled_from(["SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin", "BroadcastNestedLoopJoin"])
JOINS = st.builds(
    Join,
    node=st.integers(0, 9),
    kind=st.sampled_from(KINDS),
    planned_strategy=STRATEGIES,
    strategy=STRATEGIES,
    build=st.sampled_from([None, "left", "right"]),
    left=INPUTS,
    right=INPUTS,
    rows=SIZES,
)
EXCHANGES = st.builds(
    Exchange,
    node=st.integers(0, 9),
    partitions=st.integers(1, 300),
    bytes_written=st.sampled_from([0, 1_000, 9_000_000, 400_000_000, 10**10]),
    rows=SIZES,
    smallest_bytes=SIZES,
    median_bytes=SIZES,
    largest_bytes=SIZES,
    read_partitions=st.one_of(st.none(), st.integers(1, 300)),
    feeds_join=st.booleans(),
)
AGGREGATIONS = st.builds(Aggregation, st.integers(0, 9), SIZES, SIZES, SIZES, keys=st.integers(0, 3))
SPILLS = st.builds(Spill, st.integers(0, 9), st.sampled_from(["Sort", "HashAggregate"]), st.integers(1, 10**11))
NODES = st.lists(st.integers(0, 9), max_size=4, unique=True).map(tuple)


@st.composite
def observed(draw: st.DrawFn) -> Evidence:
    """One execution with any signals; every join can be named, or none of its inputs."""
    (execution,) = WORKED.executions
    joins = draw(st.lists(JOINS, max_size=3))
    if draw(st.booleans()):
        joins = [
            replace(
                j, left=replace(j.left, target=f"join{n}.left"), right=replace(j.right, target=f"join{n}.right r{n}")
            )
            for n, j in enumerate(joins)
        ]
    stages = [
        Stage(n, (n - 1,) if n else (), draw(st.integers(0, 300)), 10**7, 0, 8, draw(NODES))
        for n in range(draw(st.integers(0, 3)))
    ]
    execution = replace(
        execution,
        joins=tuple(joins),
        exchanges=tuple(draw(st.lists(EXCHANGES, max_size=3))),
        aggregations=tuple(draw(st.lists(AGGREGATIONS, max_size=2))),
        spills=tuple(draw(st.lists(SPILLS, max_size=2))),
        stages=tuple(stages),
    )
    bindings = (execution,) * draw(st.integers(1, 2))
    unset = draw(st.sets(st.sampled_from([name for name, _ in WORKED.settings if name != "cores"]), max_size=2))
    kept = tuple((name, value) for name, value in WORKED.settings if name not in unset)
    objective = draw(st.sampled_from(["cpu", "latency", "bytes"]))
    return replace(WORKED, executions=bindings, settings=kept, objective=objective)


def test_all_rules_of_this_file_are_asked() -> None:
    assert {name for name, _ in MINE} == NAMES


@pytest.mark.parametrize(("name", "rule"), MINE, ids=[name for name, _ in MINE])
@settings(deadline=None, max_examples=120)
@given(evidence=observed())
def test_a_rule_answers_whatever_was_counted_and_proposes_only_what_is_permitted(
    name: str, rule: object, evidence: Evidence
) -> None:
    answer = rule(evidence)  # type: ignore[operator]
    assert answer == rule(evidence)  # type: ignore[operator]
    assert answer.reason
    if answer.kind == "proposal":
        assert (answer.saved_cpu_ns > 0) != (answer.saved_wall_ns > 0)
        assert answer.saved_wall_ns == 0 or evidence.objective == "latency"
        assert answer.change.settings or answer.change.hints
        assert objections(answer.change, Knobs()) == ()
    else:
        assert (answer.change, answer.saved_cpu_ns, answer.saved_wall_ns) == (ORIGINAL, 0, 0)


@settings(deadline=None, max_examples=120)
@given(evidence=observed())
def test_no_hint_asks_for_a_broadcast_the_join_does_not_allow_or_that_is_too_large(evidence: Evidence) -> None:
    answer = broadcast_small_side.broadcast_small_side(evidence)
    total = 0
    for hint in answer.change.hints:
        join = evidence.executions[0].joins[hint.join]
        assert may_broadcast(join.kind, hint.side)  # type: ignore[arg-type]  # a hint's side is left or right
        total += join.side(hint.side).bytes or 0  # type: ignore[arg-type]
    assert total <= LARGEST


# Which sides a join allows, as Spark has it

ALLOWED = {
    # kind: broadcast, hashed, split
    "Inner": ("left right", "left right", "left right"),
    "Cross": ("left right", "left right", "left right"),
    "LeftOuter": ("right", "left right", "left"),
    "RightOuter": ("left", "left right", "right"),
    "FullOuter": ("", "left right", ""),
    "LeftSemi": ("right", "right", "left"),
    "LeftAnti": ("right", "right", "left"),
    "ExistenceJoin(exists#1)": ("right", "right", ""),
    "SomethingNew": ("", "", ""),
}


@pytest.mark.parametrize("kind", ALLOWED)
def test_a_side_is_built_copied_or_cut_only_where_the_kind_of_join_allows_it(kind: str) -> None:
    found = tuple(" ".join(s for s in SIDES if may(kind, s)) for may in (may_broadcast, may_hash, may_split))
    assert found == ALLOWED[kind]


@pytest.mark.parametrize(
    ("written", "cores", "min_size", "first", "reads"),
    [
        (64, 64, 1, True, 64),
        (64, 64, 4, True, 16),
        (64, 2, 1, True, 2),
        (640, 2, 1, True, 10),  # the advisory size is smaller than a core's share
        (64, 64, 1, False, 1),
        (0, 2, 1, True, 1),
    ],
)
def test_reads_are_predicted_by_the_cores_the_minimum_and_the_advisory_size(
    written: int, cores: int, min_size: int, first: bool, reads: int
) -> None:
    mib = 2**20
    sizes = {"advisory": 64 * mib, "min_size": min_size * mib}
    assert predicted_reads(written * mib, cores, **sizes, parallelism_first=first) == reads
