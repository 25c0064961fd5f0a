"""Purging by last use: details that nobody needs go, and nothing that evidence rests on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from planopt_assets.errors import StoreWriteFailed
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store import purge
from planopt_assets.store.compaction import write_anew
from planopt_assets.store.purge import DETAILS, Purged, Seen, purge_store, unused
from planopt_assets.store.repair import repair
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.table_heads import new_head, write_table_head

pytestmark = pytest.mark.fast

NOW = datetime(2026, 7, 1, tzinfo=UTC)


def days_ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def seen(name: str, days: float, query: str = "q", *, original: bool = True) -> Seen:
    return Seen(name, ("w", query, 0), original, days_ago(days))


LIMIT = days_ago(180)


def test_what_was_not_used_for_long_goes_and_the_newest_of_each_query_stays() -> None:
    found = unused([seen("a", 400), seen("b", 300), seen("c", 10), seen("other", 900, "p")], {}, {}, [], LIMIT)
    assert found == {"a", "b"}


def test_a_row_that_was_made_from_it_lately_is_a_use() -> None:
    assert unused([seen("a", 400), seen("c", 10)], {}, {"a": days_ago(20)}, [], LIMIT) == set()
    assert unused([seen("a", 400), seen("c", 10)], {}, {"a": days_ago(200)}, [], LIMIT) == {"a"}


def test_what_the_policy_in_force_came_from_is_never_purged() -> None:
    made_from = {"pro-1": ["ver-1"], "ver-1": ["can-1"], "can-1": ["dec-1", "ver-1"], "dec-1": ["a"], "pro-0": ["b"]}
    assert unused([seen("a", 900), seen("b", 900), seen("c", 10)], made_from, {}, ["pro-1"], LIMIT) == {"b"}


def test_the_newest_observation_under_original_is_never_purged() -> None:
    under_policy = [seen("c", 500, original=False), seen("d", 10, original=False)]
    assert unused([seen("a", 900), seen("b", 800), *under_policy], {}, {}, [], LIMIT) == {"a", "c"}


# In a store


def write(root: Path, table: str, *rows: dict[str, Any]) -> None:
    common = {"schema_version": SCHEMA_VERSION, "workload": "w", "query_id": "q", "run_id": "r", "sequence": 1}
    full = pa.Table.from_pylist([{**common, **row} for row in rows], TABLES[table])
    write_deltalake(root / table, full, mode="append")
    made = DeltaTable(str(root / table))
    write_table_head(str(root), table, new_head(f"{root}/{table}", made))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three observations: `old` is unused, `based` is what a promotion came from, `new` is the newest."""
    for name, days in (("old", 400), ("based", 390), ("new", 1)):
        row = {"observation_id": name, "binding": 0, "policy_id": ORIGINAL.id, "recorded_at": days_ago(days)}
        write(tmp_path, "plan_artifacts", row)
        for table in DETAILS[:2]:  # nobody ever stored tasks
            write(tmp_path, table, *({"observation_id": name, "recorded_at": days_ago(days)} for _ in range(3)))
    edges = [("pro-q-g1", "ver-1"), ("ver-1", "based"), ("pro-q-g0", "old")]
    for child, parent in edges:
        write(tmp_path, "lineage", {"child_id": child, "parent_id": parent, "recorded_at": days_ago(380)})
    for generation in (0, 1):
        row = {"promotion_id": f"pro-q-g{generation}", "generation": generation, "recorded_at": days_ago(380)}
        write(tmp_path, "active_policies", row)
    return tmp_path


def details(root: Path, table: str = "plan_nodes") -> list[str]:
    return DeltaTable(str(root / table)).to_pyarrow_table()["observation_id"].to_pylist()


def test_rows_of_unused_observations_are_gone_and_all_others_are_as_they_were(store: Path) -> None:
    before = {name: DeltaTable(str(store / name)).version() for name in ("plan_artifacts", "lineage")}
    expected = [Purged("plan_nodes", 9, 3), Purged("explains", 9, 3)]
    assert purge_store(str(store), NOW, dry_run=True) == expected
    assert len(details(store)) == 9
    assert purge_store(str(store), NOW) == expected
    assert sorted(details(store)) == sorted(details(store, "explains")) == ["based"] * 3 + ["new"] * 3
    assert {name: DeltaTable(str(store / name)).version() for name in before} == before
    assert purge_store(str(store), NOW) == []
    assert not repair(str(store), stamp="now", run_id="r", dry_run=True).tables  # the heads know of it


def test_how_long_is_a_choice(store: Path) -> None:
    assert purge_store(str(store), NOW, days=500) == []


def test_a_run_that_writes_meanwhile_loses_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(table: DeltaTable, keep: Any) -> None:
        write(store, "plan_nodes", {"observation_id": "newest", "recorded_at": NOW})
        write_anew(table, keep)

    monkeypatch.setattr(purge, "write_anew", overtaken)
    with pytest.raises(StoreWriteFailed, match="purge again"):
        purge_store(str(store), NOW)
    assert len(details(store)) == 10


def test_a_store_that_was_never_written_has_nothing_to_purge(tmp_path: Path) -> None:
    assert purge_store(str(tmp_path / "nowhere"), NOW) == []
    assert purge_store("hdfs://name/store", NOW) == []  # only Spark writes there
