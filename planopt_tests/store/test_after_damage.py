"""What a person decided stays decided, whatever becomes of the files of `active_policies`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from planopt_assets.errors import ChainBroken, PromotionConflict, StoreUnreadable
from planopt_assets.job.in_force import InForce, read_in_force
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.steps import planned_steps
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.workload import Query, Workload
from planopt_assets.promote.transitions import Event, Fix, Revert, next_generation
from planopt_assets.store.promotions import chains
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.store import Store
from planopt_tests.no_spark import no_spark
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER, OTHER

pytestmark = pytest.mark.fast

PIN = Fix(FEWER, "I know it", "ada")
ROLLBACK = Revert("original", "too slow", "ada")
Damage = Callable[[Workload], None]


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    queries = (Query("q", sql="SELECT 1"), Query("other", sql="SELECT 2"))
    return Workload("tests", tmp_path / "planopt.yaml", str(tmp_path / "store"), (), queries)


def decide(workload: Workload, query_id: str, *events: Event) -> list[Promotion]:
    """A person's commands, as `planopt pin` and `planopt rollback` commit them."""
    made = list(chains(Snapshot(workload.store, workload.name), [query_id]).of(query_id))
    for event in events:
        made.append(next_generation(workload.name, query_id, tuple(made), event))
        Store(workload.store, workload.name, no_spark).commit(made[-1], f"run-{query_id}-{len(made)}")
    return made


def ask(workload: Workload, query_id: str = "q") -> InForce:
    return read_in_force(workload, query_id, timeout_s=60.0)


def table(workload: Workload) -> Path:
    return Path(workload.store) / "active_policies"


def heads(workload: Workload) -> Path:
    return Path(workload.store) / "_heads"


def last_commit(workload: Workload) -> Path:
    return max((table(workload) / "_delta_log").glob("*.json"))


def last_file(workload: Workload) -> Path:
    """The data file of the last commit."""
    text = last_commit(workload).read_text()
    (found,) = [f for f in table(workload).glob("*.parquet") if f.name in text]
    return found


def empty(workload: Workload) -> None:
    last_commit(workload).write_bytes(b"")


def delete(workload: Workload) -> None:
    last_commit(workload).unlink()


def hide_the_row(workload: Workload) -> None:
    """One flipped bit in the key of an action: a reader skips what it does not know."""
    file = last_commit(workload)
    file.write_bytes(file.read_bytes().replace(b'"add"', b'"adf"'))


def travel_back(workload: Workload) -> None:
    delta = DeltaTable(str(table(workload)))
    delta.restore(delta.version() - 1)


def delete_the_row(workload: Workload) -> None:
    last_file(workload).unlink()


def flip_a_bit_of_the_row(workload: Workload) -> None:
    file = last_file(workload)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def move_away(workload: Workload) -> None:
    table(workload).rename(Path(workload.store).parent / "away")


OF_ONE_QUERY: list[Damage] = [delete, hide_the_row, travel_back, delete_the_row, flip_a_bit_of_the_row]
OF_THE_TABLE: list[Damage] = [empty, move_away]


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


def test_the_other_queries_can_still_be_changed(workload: Workload) -> None:
    decide(workload, "other", PIN)
    decide(workload, "q", PIN, ROLLBACK)
    delete_the_row(workload)
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
