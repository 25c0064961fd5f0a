"""Exploration: which options fit a plan, which one goes first, and when there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planopt_assets.decide.catalogue import CATALOGUE
from planopt_assets.decide.decide import Asked
from planopt_assets.decide.explore.choice import TRUSTED, Experience, prospects
from planopt_assets.decide.explore.explore import LEAST_SHARE, MOST_TRIALS, Known, explore
from planopt_assets.decide.explore.options import ADVISORY, HASH_MAP, OPTIONS, THRESHOLD, options_for, touched_by
from planopt_assets.decide.explore.plan_features import features_of, similarity
from planopt_assets.decide.history import NO_HISTORY
from planopt_assets.decide.knobs import knob, objections
from planopt_assets.model.decision import Decision
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import Policy
from planopt_assets.model.signals import Exchange, Join, JoinInput, Signals
from planopt_assets.model.workload import Knobs
from planopt_tests.decide.cases import evidence_of
from planopt_tests.measured import MIB

pytestmark = pytest.mark.fast

SIDE = {"rows": 1_000_000, "bytes": 80 * MIB, "estimated_bytes": 80 * MIB}
JOINED = {
    "exchanges": [{"partitions": 200, "bytes_written": 9 * MIB}],
    "shuffle_write_tasks": 12,
    "stages": [{"tasks": 40}, {"tasks": 60, "feeds": [0]}],
    "scans": [{"files": 80, "bytes": 90 * MIB, "splits": 80}],
    "joins": [{"left": SIDE, "right": SIDE}],
    "measured_cpu_s": 6.0,
}


def joining(**facts: Any) -> Evidence:
    """A sort-merge join of two large inputs."""
    return evidence_of({"executions": [JOINED], **facts})


PLAN = features_of([Signals(exchanges=(Exchange(0, 200, 9 * MIB),))])
HASHED = Policy.of({HASH_MAP: str(16 * MIB), ADVISORY: str(16 * MIB)})


def told(change: Policy, saved: float, query_id: str = "other") -> Experience:
    return Experience(query_id, change, saved, PLAN)


def explored(
    evidence: Evidence | None = None,
    *experiences: Experience,
    before: tuple[Policy, ...] = (),
    limits: Knobs | None = None,
    **others: Any,
) -> Decision:
    known = {"dropped": (), "trials": 0, "until": 7, "seconds": 180.0, "seed": 1}
    asked = Asked(evidence or joining(), limits or Knobs(), NO_HISTORY, 0)
    return explore(asked, Known(PLAN, experiences, before, **{**known, **others}))


def test_an_option_that_changed_no_plan_of_the_query_is_not_planned_again() -> None:
    found = explored(None, told(HASHED, 0.3), dropped=("hash joins of 16 MiB partitions", "runtime filters"))
    assert (found.proposes, found.policy_after == HASHED) == (True, False)
    assert found.options_dropped == ("hash joins of 16 MiB partitions", "runtime filters")
    assert explored().options_dropped == ()


# The list


def test_every_knob_of_the_list_is_in_the_catalogue_and_every_value_may_be_set() -> None:
    assert len({o.name for o in OPTIONS}) == len({o.settings for o in OPTIONS}) == len(OPTIONS)
    for option in OPTIONS:
        policy = option.policy(joining())
        assert objections(policy, Knobs()) == ()
        assert not any((found := knob(name)) is None or found.opt_in for name, _ in policy.settings)
    assert {name for o in OPTIONS for name, _ in o.settings} <= {k.name for k in CATALOGUE}


def test_a_plan_is_offered_what_can_matter_to_it() -> None:
    assert "hash joins of 16 MiB partitions" in options_for(joining())
    scan = evidence_of({"executions": [{**JOINED, "joins": [], "exchanges": []}]})
    assert set(options_for(scan)) == {"splits of 32 MiB", "splits of 256 MiB"}
    assert options_for(evidence_of({"executions": [{}]})) == {}


def test_what_is_in_force_or_set_by_the_accepted_policy_is_no_option() -> None:
    assert "splits of 32 MiB" in options_for(joining())
    there = joining(settings={"spark.sql.files.maxPartitionBytes": "33554432b"})
    assert "splits of 32 MiB" not in options_for(there)
    held = replace(joining(), policy=Policy.of({ADVISORY: "1048576"}))
    assert "hash joins of 16 MiB partitions" not in options_for(held)


@pytest.mark.parametrize(
    ("size", "driver", "offered"),
    [(20, "1g", True), (20, "512m", True), (20, "256m", False), (100, "1g", False), (None, "1g", False)],
    ids=["fits", "fits a small driver", "a smaller driver", "too large", "unknown size"],
)
def test_a_broadcast_is_an_option_only_where_the_driver_has_room_for_all_of_it(
    size: int | None, driver: str, offered: bool
) -> None:
    small = {"rows": 1000, "bytes": size and size * MIB, "estimated_bytes": 20 * MIB}
    evidence = joining(
        executions=[{**JOINED, "joins": [{"left": SIDE, "right": small}]}], settings={"driver_memory": driver}
    )
    assert ("broadcasts up to 32 MiB" in options_for(evidence)) is offered


def test_what_adaptive_execution_broadcasts_already_leaves_less_room() -> None:
    """A driver of 1 GB holds 64 MiB of broadcasts: 20 MiB fit beside 40 MiB, and not beside 50."""
    small, large = ({"rows": 1000, "bytes": size * MIB, "estimated_bytes": size * MIB} for size in (20, 900))
    switched = {"planned_strategy": "SortMergeJoin", "strategy": "BroadcastHashJoin", "build": "right"}

    def beside(size: int) -> Evidence:
        held = {"rows": 1000, "bytes": size * MIB, "estimated_bytes": 900 * MIB}
        joins = [{"left": large, "right": small}, {**switched, "left": large, "right": held}]
        return joining(executions=[{**JOINED, "joins": joins}])

    offered = [size for size in (40, 50) if "broadcasts up to 128 MiB" in options_for(beside(size))]
    assert offered == [40]


@pytest.mark.parametrize(
    ("threshold", "offered"),
    [("10485760b", {"broadcasts up to 32 MiB", "broadcasts up to 1 MiB"}), ("67108864b", {"broadcasts up to 1 MiB"})],
    ids=["above what is in force", "below it"],
)
def test_a_threshold_is_raised_by_a_higher_one_alone(threshold: str, offered: set[str]) -> None:
    small = {"rows": 1000, "bytes": 20 * MIB, "estimated_bytes": 20 * MIB}
    tiny = {"rows": 10, "bytes": 1000, "estimated_bytes": 1000}
    joins = [
        {"left": {**SIDE, "bytes": 200 * MIB, "estimated_bytes": 200 * MIB}, "right": small, "kind": "LeftOuter"},
        {"strategy": "BroadcastHashJoin", "build": "right", "left": SIDE, "right": tiny},
    ]
    evidence = joining(executions=[{**JOINED, "joins": joins}], settings={THRESHOLD: threshold})
    found = {name for name in options_for(evidence) if name.startswith("broadcasts")}
    assert found - {"broadcasts up to 128 MiB"} == offered


def test_a_number_of_partitions_goes_by_the_cores() -> None:
    policy = options_for(joining(cores=16))["four partitions a core"]
    assert policy == Policy.of({"spark.sql.shuffle.partitions": "64"})


# The choice

OFFERED = {"hashed": HASHED, "splits": Policy.of({"spark.sql.files.maxPartitionBytes": "1048576"})}


ALIKE = {"hashed": 0.1, "splits": 0.1}


def order(*experiences: Experience, touched: dict[str, float] = ALIKE, seed: int = 1, query_id: str = "q") -> list[str]:
    found = prospects(OFFERED, PLAN, experiences, touched=touched, seed=seed, query_id=query_id)
    return [p.name for p in found]


def test_what_gained_most_on_similar_plans_goes_first_and_what_failed_comes_last() -> None:
    assert order(told(HASHED, 0.3)) == ["hashed", "splits"]
    assert order(told(HASHED, 0.0)) == ["splits", "hashed"]


def test_of_what_nothing_is_known_the_option_that_touches_most_goes_first_and_trials_outweigh_that() -> None:
    for seed in range(4):
        assert order(touched={"hashed": 0.2, "splits": 0.1}, seed=seed) == ["hashed", "splits"]
    failed = [told(HASHED, 0.0, f"q{n}") for n in range(3)]
    assert order(*failed, touched={"hashed": 0.2, "splits": 0.1}) == ["splits", "hashed"]


def test_what_an_option_touches_is_the_work_of_the_operators_it_changes() -> None:
    touched = touched_by(joining())
    assert touched["hash joins of 16 MiB partitions"] == pytest.approx(2_000_000 * 100e-9 / 6)  # both inputs are sorted
    assert touched["runtime filters"] == 0.0  # no input has a predicate
    assert touched["splits of 32 MiB"] == pytest.approx(80 * 5e-3 / 6)
    assert touched["four partitions a core"] == pytest.approx(12 * 200 * 0.2e-3 / 6)  # blocks
    assert touched["reads of 16 MiB"] == pytest.approx(60 * 5e-3 / 6)  # tasks that read a shuffle
    assert touched["a small map of a million groups"] == 0.0  # nothing is grouped
    built = {"strategy": "BroadcastHashJoin", "build": "left", "left": SIDE, "right": SIDE}
    grouped = {"rows_in": 4_000_000, "rows_partial": 10, "groups": 10, "keys": 1}
    other = touched_by(evidence_of({"executions": [{**JOINED, "joins": [built], "aggregations": [grouped]}]}))
    assert other["broadcasts up to 1 MiB"] == pytest.approx(1_000_000 * 300e-9 / 6)
    assert other["a small map of a million groups"] == pytest.approx(4_000_000 * 50e-9 / 6)


@pytest.mark.parametrize(("families", "share"), [(["equality"], 900_000 * 300e-9 / 6), ([], 0.0)])
def test_runtime_filters_are_an_option_where_a_predicate_meets_rows_without_a_match(
    families: list[str], share: float
) -> None:
    join = {
        "kind": "Inner",
        "rows": 100_000,
        "left": {"rows": 1_000_000, "bytes": 10**8, "estimated_bytes": 10**8, "tables": ["sales"]},
        "right": {"rows": 500, "bytes": 10**4, "estimated_bytes": 10**6, "tables": ["shops"]},
    }
    scans = [
        {"table": "sales", "files": 4, "bytes": 10**8, "splits": 4, "read_rows": 1_000_000, "matched_rows": 1_000_000},
        {
            "table": "shops",
            "files": 1,
            "bytes": 10**6,
            "splits": 1,
            "read_rows": 9_000,
            "matched_rows": 500,
            "families": families,
        },
    ]
    evidence = evidence_of({"executions": [{"joins": [join], "scans": scans, "measured_cpu_s": 6.0}]})
    assert ("runtime filters" in options_for(evidence)) == bool(families)
    assert touched_by(evidence)["runtime filters"] == pytest.approx(share)


def test_an_option_that_touches_next_to_nothing_is_not_worth_a_trial() -> None:
    grouped = {"rows_in": 1_000, "rows_partial": 10, "groups": 10, "keys": 1}
    evidence = evidence_of({"executions": [{"aggregations": [grouped], "measured_cpu_s": 6.0}]})
    assert set(options_for(evidence)) == {"no small map before the large one", "a small map of a million groups"}
    found = explored(evidence)
    assert (found.kind, "is expected to save 0.0%, below 5%" in found.reason) == ("no_change", True)


def test_a_similar_plan_counts_more_than_another_one() -> None:
    side = JoinInput(None, None, None, True, ())
    joins = tuple(Join(n, "Inner", "SortMergeJoin", "SortMergeJoin", None, side, side, None) for n in range(9))
    far = features_of([Signals(joins=joins)])
    assert similarity(PLAN, far) < similarity(PLAN, PLAN) == 1.0
    near, away = told(OFFERED["splits"], 0.2), replace(told(HASHED, 0.25), features=far)
    assert order(near, away) == ["splits", "hashed"]


def test_of_what_nothing_is_known_the_seed_draws_the_order_for_each_query() -> None:
    drawn = {(seed, query): tuple(order(seed=seed, query_id=query)) for seed in range(4) for query in ("q", "r", "s")}
    assert set(drawn.values()) == {("hashed", "splits"), ("splits", "hashed")}
    assert drawn == {key: tuple(order(seed=key[0], query_id=key[1])) for key in drawn}


def test_what_is_expected_is_worked_out_as_the_docstring_says() -> None:
    asked = prospects(OFFERED, PLAN, [told(HASHED, 0.3)], touched=ALIKE, seed=1, query_id="q")
    found = {p.name: p for p in asked}
    assert (found["hashed"].share, found["splits"].share) == (pytest.approx(0.4 / 3, abs=1e-6), 0.05)
    assert (found["hashed"].tried, found["hashed"].helped) == (1, 1)


# The decision


def test_one_option_is_proposed_with_its_reason_and_what_it_rests_on() -> None:
    found = explored(None, told(HASHED, 0.5))
    assert (found.kind, found.rule, found.policy_after) == ("proposal", "explore", HASHED)
    assert found.reason == (
        "explored: hash joins of 16 MiB partitions; it helped 1 of 1 queries that tried it, "
        "and is expected to save 17.8%"
    )
    facts = dict(found.arithmetic)
    assert (facts["known_until"], facts["option"]) == (7, "hash joins of 16 MiB partitions")
    assert found.expected_gain_cpu_ns == round(0.177778 * 6e9)


def test_every_option_that_promises_enough_has_its_turn_once_and_then_it_ends() -> None:
    evidence, seen = joining(), list[Policy]()
    while (found := explored(evidence, before=tuple(seen))).proposes:
        seen.append(found.policy_after)
    assert seen != []
    promised, fitting = touched_by(evidence), options_for(evidence)
    assert set(seen) == {policy for name, policy in fitting.items() if promised[name] * TRUSTED >= LEAST_SHARE}
    assert set(seen) < set(fitting.values())  # some promise less
    assert len(seen) == len(set(seen))
    assert (found.kind, found.policy_after) == ("no_change", evidence.policy)
    assert found.reason.startswith("nothing left to explore: of ")


def test_it_adds_to_the_accepted_policy() -> None:
    accepted = Policy.of({"spark.sql.shuffle.partitions": "2"})
    found = explored(replace(joining(), policy=accepted), told(HASHED, 0.3))
    assert (found.policy_before, found.policy_after) == (accepted, accepted.merged(HASHED))


def test_what_failed_on_every_similar_plan_is_not_worth_a_trial() -> None:
    evidence = joining()
    failed = [told(p, 0.0, f"q{n}") for p in options_for(evidence).values() for n in range(14)]
    found = explored(evidence, *failed)
    assert found.kind == "no_change"
    assert "not worth a trial: " in found.reason
    assert "it helped 0 of 14 queries that tried it, and is expected to save 0.9%, below 5%" in found.reason


def test_a_query_that_hardly_runs_is_not_explored() -> None:
    assert explored(joining(runs_per_day=24)).proposes
    assert not explored(joining(runs_per_day=1)).proposes


def test_what_the_workload_file_denies_is_never_proposed() -> None:
    names = {name for o in OPTIONS for name, _ in o.settings}
    assert not explored(limits=Knobs(deny=tuple(sorted(names)))).proposes
    splits = (told(p, 0.5, f"q{n}") for n, p in enumerate(options_for(joining()).values()))
    only = explored(None, *splits, limits=Knobs(allow=("spark.sql.files.maxPartitionBytes",)))
    assert [name for name, _ in only.policy_after.settings] == ["spark.sql.files.maxPartitionBytes"]


@pytest.mark.parametrize(
    ("facts", "known", "words"),
    [
        ({"objective": "bytes"}, {}, "no option reads fewer bytes"),
        ({}, {"trials": MOST_TRIALS}, "8 trials have spent nearly all of the query's error budget"),
        ({}, {"seconds": 0.0}, "`budgets.explore` leaves 0 s of a run"),
    ],
    ids=["bytes", "trials", "time"],
)
def test_nothing_is_explored_where_no_trial_could_end_well(
    facts: dict[str, Any], known: dict[str, Any], words: str
) -> None:
    evidence = joining(**facts)
    timed = [replace(e, counters=replace(e.counters, wall_ns=10**9)) for e in evidence.executions]
    found = explored(replace(evidence, executions=tuple(timed)), **known)
    assert found.kind == "no_change"
    assert words in found.reason


def test_no_query_is_explored_whose_result_depends_on_the_plan() -> None:
    evidence = joining()
    depends = [replace(e, plan_dependent=("first",)) for e in evidence.executions]
    found = explored(replace(evidence, executions=tuple(depends)))
    assert found.reason == "nothing to explore: not tunable: its result may depend on the plan (first)"


def test_a_higher_threshold_is_not_proposed_where_broadcasts_are_switched_off() -> None:
    """Also where the author's hint broadcasts something."""
    hinted = {"strategy": "BroadcastHashJoin", "build": "right", "left": SIDE, "right": SIDE}
    for joins in (JOINED["joins"], [hinted]):
        evidence = joining(executions=[{**JOINED, "joins": joins}], settings={THRESHOLD: "-1b"})
        assert not any(name.startswith("broadcasts") for name in options_for(evidence))
