"""What most queries gained from: the first candidate of a new query, and a policy for all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import no_change
from planopt_assets.decide.driver_memory import THRESHOLD
from planopt_assets.loop.decisions import _harmless, _no_room_beside_hints, decisions_for
from planopt_assets.loop.standing import Standing
from planopt_assets.loop.workload_policies import context_of, workload_policy
from planopt_assets.model.decision import AS_MOST, NO_ROOM
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_assets.model.workload_policy import WHOLE_WORKLOAD
from planopt_assets.replan.candidates import Proposed
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_tests.decide.test_explore import JOINED, SIDE, joining
from planopt_tests.loop.test_exploring import judged, quiet, seen, store
from planopt_tests.measured import MIB
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.promote.events import accept, chain_of
from planopt_tests.rows import FEWER, OTHER, artifact, decision, standing, stored, verdict

pytestmark = pytest.mark.fast

NAMES = ("a", "b", "c", "d")
WORKLOAD = Workload(
    "demo",
    Path("planopt.yaml"),
    "memory",
    (),
    tuple(Query(name, sql="SELECT 1", runs_per_day=24) for name in ("q", *NAMES)),
)


# A new query


@pytest.fixture(autouse=True)
def no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide_module, "RULES", (("none", lambda evidence: no_change("nothing", {})),))


def first_decisions(*verdicts: dict[str, Any], **others: Any) -> list[Any]:
    found = standing(artifacts=[replace(artifact(), stamp=replace(artifact().stamp, sequence=5))], **others)
    plans = [seen("q"), *(seen(name) for name in NAMES)]
    return [d for d in decisions_for(WORKLOAD, store(*verdicts, plan_artifacts=plans), found) if d.rule == AS_MOST]


THREE = [judged(name, FEWER) for name in NAMES[:3]]


def test_what_most_queries_gained_from_is_proposed_to_a_new_one() -> None:
    (found,) = first_decisions(*THREE, judged("d", OTHER, "reject"))
    assert (found.kind, found.policy_after) == ("proposal", FEWER)
    assert found.reason == "3 of 4 other queries gained from it, 30% of a run on average"
    assert found.expected_gain_cpu_ns > 0


@pytest.mark.parametrize(
    "verdicts",
    [
        THREE[:2],
        [*THREE, *(judged(name, OTHER, "reject") for name in ("d", "e", "f"))],
        [judged(name, FEWER, sequence=6) for name in NAMES],
    ],
    ids=["too few", "not most", "stored after it was observed"],
)
def test_nothing_is_proposed_without_a_majority_that_was_known(verdicts: list[dict[str, Any]]) -> None:
    assert first_decisions(*verdicts) == []


def test_a_query_that_was_tried_goes_its_own_way() -> None:
    own = replace(verdict(OTHER, "reject"), stamp=replace(artifact().stamp, sequence=4))
    assert first_decisions(*THREE, past_verdicts=[own]) == []


def test_a_query_that_gained_twice_counts_once() -> None:
    (found,) = first_decisions(*THREE, judged("a", FEWER.merged(OTHER), verdict_id="ver-2"))
    assert dict(found.arithmetic)["queries_that_gained"] == dict(found.arithmetic)["queries_tried"] == 3


def test_a_broadcast_threshold_of_others_is_proposed_only_where_the_driver_has_room() -> None:
    """A threshold of 128 MiB would let in both inputs of 80 MiB. A driver of 1 GB holds 64 MiB."""
    raised = FEWER.merged(Policy.of({THRESHOLD: str(128 * MIB)}))
    assert _harmless(raised, joining()) == FEWER
    assert _harmless(raised, joining(settings={"driver_memory": "8g"})) == FEWER  # never more than 64 MiB
    large, small = {**SIDE, "bytes": 900 * MIB, "estimated_bytes": 900 * MIB}, {**SIDE, "bytes": 20 * MIB}
    joins = [{"left": large, "right": small}]
    assert _harmless(raised, joining(executions=[{**JOINED, "joins": joins}])) == raised


@pytest.mark.parametrize(("size", "no_room"), [(20, False), (25, True)], ids=["both fit", "both are too large"])
def test_a_threshold_of_others_says_so_where_a_hint_leaves_no_room_for_it(size: int, no_room: bool) -> None:
    """A rule wants to broadcast an input of 40 MiB. The threshold of the others lets in another one."""
    large = {**SIDE, "bytes": 900 * MIB, "estimated_bytes": 900 * MIB}
    sides = [{**SIDE, "bytes": n * MIB, "estimated_bytes": n * MIB, "target": f"join{n}.right"} for n in (40, size)]
    evidence = joining(executions=[{**JOINED, "joins": [{"left": large, "right": side} for side in sides]}])
    hinted = decision(policy=Policy.of(hints=["broadcast(join40.right)"]))
    raised = Policy.of({THRESHOLD: str(32 * MIB)})
    assert _no_room_beside_hints(raised, evidence, [hinted]) == ({NO_ROOM: 1} if no_room else {})
    assert _no_room_beside_hints(raised, evidence, [decision()]) == {}  # no hint
    assert _no_room_beside_hints(FEWER, evidence, [hinted]) == {}  # no threshold
    told = decision(policy=raised, arithmetic=json.dumps(_no_room_beside_hints(raised, evidence, [hinted])))
    assert Proposed.of(told).no_room_beside_hints == no_room


# One for all


def of_query(query_id: str, policy: Policy | None) -> Standing:
    others: dict[str, Any] = {"chain": chain_of(accept(policy))} if policy else {"verdicts": [verdict(OTHER, "reject")]}
    return replace(standing(**others), query_id=query_id, context_hash="ctx_1", input_bytes=100)


def all_of(*policies: Policy | None) -> dict[str, Standing]:
    return {name: of_query(name, policy) for name, policy in zip(NAMES, policies, strict=True)}


BOTH = FEWER.merged(OTHER)


def test_the_settings_of_more_than_half_of_the_queries_are_proposed_for_all() -> None:
    found = workload_policy(WORKLOAD, MemorySnapshot(), all_of(FEWER, BOTH, FEWER, None))
    assert found is not None
    assert (found.policy, found.gained, found.queries, found.state) == (FEWER, ("a", "b", "c"), 4, "proposed")
    assert found.differs(BOTH) == OTHER
    assert "of use to 3 of 4 queries; not tried on the whole workload" in found.describe()


@pytest.mark.parametrize("policies", [(FEWER, FEWER, None, None), (FEWER, FEWER, OTHER, OTHER), (None,) * 4])
def test_without_a_majority_nothing_is_proposed(policies: tuple[Policy | None, ...]) -> None:
    assert workload_policy(WORKLOAD, MemorySnapshot(), all_of(*policies)) is None


def test_what_the_workload_file_denies_is_not_proposed_for_all() -> None:
    denied = replace(WORKLOAD, knobs=Knobs(deny=("spark.sql.shuffle.partitions",)))
    assert workload_policy(denied, MemorySnapshot(), all_of(FEWER, FEWER, FEWER, None)) is None


def told(standings: dict[str, Standing], **others: Any) -> MemorySnapshot:
    context, size = context_of(WORKLOAD, standings)
    known = {"query_id": WHOLE_WORKLOAD, "context_hash": context, "input_bytes": size}
    return MemorySnapshot(verdicts=[stored("verdicts", **VERDICTS.to_row(verdict(FEWER, **{**known, **others})))])


def test_a_verdict_on_the_whole_counts_for_the_same_queries_of_similar_size() -> None:
    standings = all_of(FEWER, FEWER, FEWER, None)
    found = workload_policy(WORKLOAD, told(standings), standings)
    assert found is not None
    assert (found.accepted, found.state) == (True, "accept")


@pytest.mark.parametrize("others", [{"context_hash": "ctx_other"}, {"input_bytes": 10**12}, {"input_bytes": None}])
def test_a_verdict_in_another_context_does_not_count(others: dict[str, Any]) -> None:
    standings = all_of(FEWER, FEWER, FEWER, None)
    found = workload_policy(WORKLOAD, told(standings, **others), standings)
    assert found is not None
    assert found.state == "proposed"


def test_its_verdict_is_no_experience_of_a_query() -> None:
    from planopt_assets.loop.experiences import told_changes

    standings = all_of(FEWER, FEWER, FEWER, None)
    assert told_changes(told(standings), 10) == []
    assert quiet().rounds.to_explore
