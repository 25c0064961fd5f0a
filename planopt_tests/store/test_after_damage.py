"""What a person decided stays decided, whatever becomes of the files of `active_policies`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from planopt_assets.errors import ChainBroken, PromotionConflict, StoreUnreadable
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.steps import planned_steps
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Workload
from planopt_assets.promote.transitions import Fix, next_generation
from planopt_assets.store.promotions import chains
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.store import Store
from planopt_tests.no_spark import no_spark
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER, OTHER
from planopt_tests.store.damaged import (
    OF_ONE_QUERY,
    OF_THE_TABLE,
    PIN,
    ROLLBACK,
    Damage,
    ask,
    decide,
    delete,
    empty,
    heads,
    travel_back,
    two_queries,
)

pytestmark = pytest.mark.fast


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return two_queries(tmp_path)


@pytest.mark.parametrize("damage", [*OF_ONE_QUERY, *OF_THE_TABLE])
def test_a_policy_that_was_rolled_back_is_not_in_force_again(workload: Workload, damage: Damage) -> None:
    decide(workload, "other", PIN)
    decide(workload, "q", PIN, ROLLBACK)
    assert (ask(workload).policy, ask(workload).failure) == (ORIGINAL, None)
    damage(workload)
    found = ask(workload)
    assert found.policy == ORIGINAL
    assert found.failure is not None
    assert found.failure.code in ("PLN-301", "PLN-403")
    assert "run `planopt repair`" in found.failure.fix


@pytest.mark.parametrize("damage", OF_ONE_QUERY)
def test_only_the_query_that_lost_its_end_stops(workload: Workload, damage: Damage) -> None:
    decide(workload, "other", PIN)
    decide(workload, "q", PIN, ROLLBACK)
    damage(workload)
    assert (ask(workload, "other").policy, ask(workload, "other").failure) == (FEWER, None)
    found = read_standings(workload)
    assert found["other"].active is not None
    assert found["other"].active.policy == FEWER
    broken = found["q"]
    assert (broken.outcome, broken.active, broken.to_promote) == ("broken", None, None)
    assert broken.reason.startswith(
        "PLN-403 table active_policies: generation 2 (reverted by ada) of query 'q' is lost"
    )
    assert {step.need for step in planned_steps(broken)} == {"off"}
    gates = evaluate(["q", "other"], Snapshot(workload.store, workload.name), found, ["not_regressed"])
    assert {q: gate.severe for q, gate in gates["not_regressed"].items()} == {"q": True, "other": False}


@pytest.mark.parametrize("damage", OF_ONE_QUERY)
def test_the_other_queries_can_still_be_changed(workload: Workload, damage: Damage) -> None:
    decide(workload, "other", PIN)
    decide(workload, "q", PIN, ROLLBACK)
    damage(workload)
    decide(workload, "other", Fix(OTHER, "better", "ada"))
    assert ask(workload, "other").policy == OTHER
    with pytest.raises(ChainBroken):  # what was lost is not forgotten because somebody wrote
        decide(workload, "q", PIN)


def test_one_row_that_was_edited_stops_one_query(workload: Workload) -> None:
    decide(workload, "other", PIN)
    promote_by_hand(workload.store, *chain("q", FEWER), policy=OTHER.to_json())
    found = read_standings(workload)
    assert found["other"].active is not None
    assert "PLN-403" in found["q"].reason


@pytest.mark.parametrize("policy", [None, "{", "[]", '{"settings": 1}'])
def test_a_policy_that_cannot_be_read_is_a_broken_chain(workload: Workload, policy: str | None) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER), policy=policy)
    found = ask(workload).failure
    assert found is not None
    assert found.code == "PLN-403"


def test_a_store_of_an_older_planopt_gets_its_heads_with_the_next_write(workload: Workload) -> None:
    decide(workload, "q", PIN)
    shutil.rmtree(heads(workload))
    assert (ask(workload).policy, ask(workload).failure) == (FEWER, None)
    decide(workload, "q", ROLLBACK)
    delete(workload)
    assert "PLN-403" in ask(workload).reason


def test_a_head_that_is_behind_its_table_is_no_damage(workload: Workload, tmp_path: Path) -> None:
    decide(workload, "q", PIN)
    shutil.copytree(heads(workload), tmp_path / "earlier")
    decide(workload, "q", ROLLBACK)
    shutil.rmtree(heads(workload))
    shutil.copytree(tmp_path / "earlier", heads(workload))
    assert (ask(workload).policy, ask(workload).generation, ask(workload).failure) == (ORIGINAL, 2, None)
    decide(workload, "q", PIN)
    assert sorted(f.name.split(".")[1] for f in (heads(workload) / "queries" / "tests").iterdir()) == ["3"]


def test_a_snapshot_does_not_miss_what_was_promoted_after_it(workload: Workload) -> None:
    decide(workload, "q", PIN)
    earlier = Snapshot(workload.store, workload.name)
    assert len(chains(earlier).of("q")) == 1
    decide(workload, "q", ROLLBACK)
    assert len(chains(earlier, ["q"]).of("q")) == 1
    assert len(chains(Snapshot(workload.store, workload.name)).of("q")) == 2


def test_without_heads_a_restored_table_can_be_written_again(workload: Workload) -> None:
    """Delta still remembers the transactions of the rows that were restored away."""
    decide(workload, "q", PIN, ROLLBACK)
    travel_back(workload)
    shutil.rmtree(heads(workload))
    (_, again) = decide(workload, "q", Fix(OTHER, "better", "ada"))
    assert (ask(workload).policy, again.generation) == (OTHER, 2)
    stale = next_generation(workload.name, "q", (), PIN)
    with pytest.raises(PromotionConflict):
        Store(workload.store, workload.name, no_spark).commit(stale, "another-run")
    decide(workload, "q", ROLLBACK)
    assert [p.generation for p in chains(Snapshot(workload.store, workload.name)).of("q")] == [1, 2, 3]


def test_nothing_is_written_to_a_damaged_table(workload: Workload) -> None:
    decide(workload, "q", PIN)
    empty(workload)
    with pytest.raises(StoreUnreadable, match="is empty"):
        Store(workload.store, workload.name, no_spark).commit(next_generation("tests", "other", (), PIN), "run")
