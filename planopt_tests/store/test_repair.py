"""`planopt repair`: every row that can be read is kept once, and what a person decided stays decided."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from planopt_assets.errors import RowDamaged
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.records import Edge
from planopt_assets.model.workload import Workload
from planopt_assets.promote.transitions import Fix, Unfix
from planopt_assets.store import opened, write_profile
from planopt_assets.store.codecs.deciding import DECISIONS, EDGES
from planopt_assets.store.compaction import compact_store
from planopt_assets.store.lineage import promotion_edges
from planopt_assets.store.promotions import chains
from planopt_assets.store.repair import Repair, repair
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.store import Store
from planopt_tests.no_spark import no_spark
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER, OTHER, decision
from planopt_tests.store.damaged import (
    OF_ONE_QUERY,
    OF_THE_TABLE,
    PIN,
    ROLLBACK,
    Damage,
    ask,
    decide,
    delete_the_row,
    empty,
    heads,
    last_commit,
    last_file,
    table,
    two_queries,
)

pytestmark = pytest.mark.fast


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return two_queries(tmp_path)


def mend(workload: Workload, stamp: str = "then", *, dry_run: bool = False) -> Repair:
    return repair(workload.store, stamp=stamp, run_id="run-repair", dry_run=dry_run)


def link(workload: Workload, run_id: str, *names: str) -> None:
    edges = [Edge("q", "promote", name, f"{name}'s parent") for name in names]
    Store(workload.store, workload.name, no_spark).append(run_id, "promote", {EDGES: edges})


def children(workload: Workload) -> list[str]:
    return [e.child_id for e in Snapshot(workload.store, workload.name).read(EDGES)]


def lineage_files(workload: Workload) -> list[Path]:
    return sorted(Path(workload.store, "lineage").glob("*.parquet"))


# Chains


@pytest.mark.parametrize("damage", [*OF_ONE_QUERY, *OF_THE_TABLE])
def test_what_a_person_decided_is_in_force_again_and_can_be_changed(workload: Workload, damage: Damage) -> None:
    decide(workload, "other", PIN)
    before = decide(workload, "q", PIN, ROLLBACK)
    damage(workload)
    found = mend(workload)
    assert found.needed
    assert (ask(workload).policy, ask(workload).generation, ask(workload).failure) == (ORIGINAL, 2, None)
    assert (ask(workload, "other").policy, ask(workload, "other").failure) == (FEWER, None)
    assert list(chains(Snapshot(workload.store, workload.name)).of("q")) == before
    assert not mend(workload, "later").needed
    decide(workload, "q", Fix(OTHER, "better", "ada"), ROLLBACK)
    decide(workload, "other", ROLLBACK)
    assert (ask(workload).generation, ask(workload).failure) == (4, None)
    assert ask(workload, "other").policy == ORIGINAL


@pytest.mark.parametrize("damage", [*OF_ONE_QUERY, *OF_THE_TABLE])
def test_a_dry_run_changes_nothing(workload: Workload, damage: Damage) -> None:
    decide(workload, "q", PIN, ROLLBACK)
    damage(workload)
    before = {f: f.read_bytes() for f in Path(workload.store).rglob("*") if f.is_file()}
    found = mend(workload, dry_run=True)
    assert found.needed
    assert {f: f.read_bytes() for f in Path(workload.store).rglob("*") if f.is_file()} == before
    assert found.words(dry_run=True).endswith("Nothing was changed: run `planopt repair`.")


def test_a_row_that_was_edited_is_written_again_from_the_head(workload: Workload) -> None:
    before = decide(workload, "q", PIN, ROLLBACK)
    promote_by_hand(workload.store, *before[:1], policy=OTHER.to_json())
    found = mend(workload)
    assert [c.facts() for c in found.chains] == [
        {
            "workload": "tests",
            "query": "q",
            "what": "1 rows taken out that do not chain",
            "restored": 0,
            "dropped": 1,
            "pinned_to_original": False,
            "in_force": "generation 2 (reverted by ada): original, because too slow",
        }
    ]
    assert list(chains(Snapshot(workload.store, workload.name)).of("q")) == before


def test_without_a_head_nobody_knows_what_was_last_and_the_query_is_pinned_to_original(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("other", FEWER))
    decide(workload, "q", PIN, ROLLBACK)
    delete_the_row(workload)
    shutil.rmtree(heads(workload))
    found = mend(workload)
    assert {c.query_id: c.is_closed for c in found.chains} == {"q": True, "other": True}
    assert "pinned to original until a person decides" in found.words(dry_run=False)
    active = chains(Snapshot(workload.store, workload.name)).of("q")[-1]
    assert (active.policy, active.fixed, active.who) == (ORIGINAL, True, "planopt repair")
    (*_, unpinned) = decide(workload, "q", Unfix("looked at it", "ada"))
    assert unpinned.policy == ORIGINAL  # and not what may have been rolled back


def test_lineage_knows_of_generations_that_no_head_knows(workload: Workload) -> None:
    before = decide(workload, "q", PIN, ROLLBACK)
    edges = [edge for promotion in before for edge in promotion_edges(promotion)]
    Store(workload.store, workload.name, no_spark).append("run", "promote", {EDGES: edges})
    last_commit(workload).unlink()
    shutil.rmtree(heads(workload))
    (found,) = mend(workload).chains
    assert found.is_closed
    assert ask(workload).policy == ORIGINAL


def test_a_damaged_head_of_a_query_is_written_again(workload: Workload) -> None:
    decide(workload, "q", PIN)
    (head,) = (heads(workload) / "queries" / "tests").iterdir()
    whole = head.read_bytes()
    head.write_bytes(b"")
    assert (ask(workload).policy, ask(workload).failure) == (FEWER, None)
    (found,) = mend(workload).chains
    assert found.what == "its head written again from the table"
    assert head.read_bytes() == whole


def test_a_damaged_head_and_a_lost_row_pin_the_query_to_original(workload: Workload) -> None:
    decide(workload, "q", PIN, ROLLBACK)
    (head,) = (heads(workload) / "queries" / "tests").iterdir()
    head.write_bytes(b"")
    delete_the_row(workload)
    (found,) = mend(workload).chains
    assert found.is_closed
    assert (ask(workload).policy, ask(workload).failure) == (ORIGINAL, None)
    assert not mend(workload, "later").needed


# Tables


def test_the_rows_of_an_empty_commit_are_kept(workload: Workload) -> None:
    link(workload, "run-1", "a", "b")
    link(workload, "run-2", "c")
    max(Path(workload.store, "lineage", "_delta_log").glob("*.json")).write_bytes(b"")
    (found,) = mend(workload).tables
    assert (found.table, found.rows_kept, found.rows_lost) == ("lineage", 3, 0)
    assert children(workload) == ["a", "b", "c"]
    link(workload, "run-3", "d")
    assert children(workload) == ["a", "b", "c", "d"]


def test_a_stage_that_is_repeated_after_a_repair_adds_nothing(workload: Workload) -> None:
    for name in ("a", "b", "c"):
        link(workload, f"run-{name}", name)
    max(Path(workload.store, "lineage", "_delta_log").glob("*.json")).write_bytes(b"")
    mend(workload)
    for name in ("a", "b"):
        link(workload, f"run-{name}", name)
    assert children(workload) == ["a", "b", "c"]


def test_so_they_are_in_a_store_without_heads(workload: Workload) -> None:
    link(workload, "run-1", "a", "b")
    link(workload, "run-2", "c")
    shutil.rmtree(heads(workload))
    max(Path(workload.store, "lineage", "_delta_log").glob("*.json")).write_bytes(b"")
    (found,) = mend(workload).tables
    assert (found.rows_kept, found.rows_lost) == (3, 0)
    assert children(workload) == ["a", "b", "c"]


def test_what_cannot_be_recovered_is_counted_and_kept_aside(workload: Workload) -> None:
    link(workload, "run-1", "a")
    (kept,) = lineage_files(workload)
    link(workload, "run-2", "b", "c")
    (lost,) = [f for f in lineage_files(workload) if f != kept]
    lost.write_bytes(b"nothing")
    found = mend(workload)
    why = f"table lineage cannot be read: {lost} is not what was written: 2 rows are lost"
    assert found.tables[0].words() == f"lineage: 1 rows kept, 2 lost\n  {why}"
    assert children(workload) == ["a"]
    assert Path(found.moved_to, "lineage", lost.name).read_bytes() == b"nothing"


def test_rows_of_a_compacted_file_come_back_from_the_files_before_it(workload: Workload) -> None:
    names = [f"row-{n:02d}" for n in range(12)]
    for name in names:
        link(workload, f"run-{name}", name)
    before = set(lineage_files(workload))
    assert compact_store(workload.store, most=10)
    link(workload, "run-later", "later")
    whole = next(Path(f) for f in DeltaTable(f"{workload.store}/lineage").file_uris() if _rows_of(f) == 12)
    assert whole not in before
    whole.unlink()
    (found,) = mend(workload).tables
    assert (found.rows_kept, found.rows_lost) == (13, 0)
    assert children(workload) == [*names, "later"]


def _rows_of(file: str) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(file.removeprefix("file://")).num_rows)


def test_where_only_its_head_is_damaged_a_table_stays_as_it_is(workload: Workload) -> None:
    link(workload, "run-1", "a")
    files = lineage_files(workload)
    (heads(workload) / "tables" / "lineage.json").write_text("?")
    (found,) = mend(workload).tables
    assert (found.rows_kept, found.rows_lost, lineage_files(workload)) == (1, 0, files)
    assert not mend(workload, "later").needed


def test_a_repair_that_was_killed_is_finished_by_the_next(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(workload, "q", PIN, ROLLBACK)
    empty(workload)
    for place in ("_set_aside_head", "_note_anew"):
        with monkeypatch.context() as patched:
            patched.setattr(f"planopt_assets.store.repair.{place}", _killed)
            with pytest.raises(KeyboardInterrupt):
                mend(workload, place)
        assert ask(workload).policy == ORIGINAL
    mend(workload, "last")
    assert (ask(workload).policy, ask(workload).generation, ask(workload).failure) == (ORIGINAL, 2, None)
    assert not mend(workload, "later").needed


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_store_without_damage_is_left_alone(workload: Workload) -> None:
    assert not mend(workload).needed
    decide(workload, "q", PIN)
    link(workload, "run-1", "a")
    before = {f: f.read_bytes() for f in Path(workload.store).rglob("*") if f.is_file()}
    found = mend(workload)
    assert (found.needed, found.words(dry_run=False)) == (False, f"Nothing is damaged in {workload.store}.")
    assert {f: f.read_bytes() for f in Path(workload.store).rglob("*") if f.is_file()} == before


def test_the_data_file_of_a_lost_commit_is_still_there(workload: Workload) -> None:
    """What the tests above rest on."""
    decide(workload, "q", PIN)
    assert last_file(workload).parent == table(workload)


NAMED = b"shuffle.partitions"  # only in the policy of one of two decisions


def test_a_row_that_cannot_be_read_because_its_file_was_changed_is_left_out(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_profile, "COMPRESSION", "UNCOMPRESSED")  # so that its bytes can be told apart
    monkeypatch.setattr(write_profile, "LEVEL", None)
    for number, policy in enumerate((FEWER, OTHER)):
        decided = {DECISIONS: [decision(policy=policy)]}
        Store(workload.store, workload.name, no_spark).append(f"run-{number}", "decide", decided)
    monkeypatch.setattr(opened, "COMPARED_BYTES", 0)  # a table too large to be compared whole whenever it is read
    (changed,) = [f for f in Path(workload.store, "policy_decisions").glob("*.parquet") if NAMED in f.read_bytes()]
    changed.write_bytes(changed.read_bytes().replace(NAMED, b'"' * len(NAMED)))
    with pytest.raises(RowDamaged, match=r"PLN-307 .* Fix: run `planopt repair`"):
        Snapshot(workload.store, workload.name).read(DECISIONS)
    (found,) = mend(workload).tables
    assert (found.table, found.rows_kept, found.rows_lost) == ("policy_decisions", 1, 1)
    assert [d.policy_after for d in Snapshot(workload.store, workload.name).read(DECISIONS)] == [OTHER]
