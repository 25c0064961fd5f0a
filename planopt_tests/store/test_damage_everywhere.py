"""No damage of one file of the store puts a policy in force that was not decided, or undoes what a person decided."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.job.in_force import read_in_force
from planopt_assets.loop.gates import evaluate
from planopt_assets.loop.run import read_standings
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Workload
from planopt_assets.store.opened import DECIDING
from planopt_assets.store.repair import repair
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.store.damage_everywhere import Case, Everywhere
from planopt_tests.store.whole_store import IN_FORCE

SAMPLE = 16
FLIPS = 1
DRAWN = 2  # of each kind of file, in a table that does not decide what is in force


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Everywhere:
    return Everywhere(tmp_path_factory.mktemp("everywhere"))


def wrong(everywhere: Everywhere, cases: list[Case]) -> Iterator[str]:
    for case in cases:
        try:
            everywhere.outcome(case)
        except Exception as error:  # noqa: BLE001  # an exception that nobody catches is what is looked for
            yield f"{case.file} {case.how}: {type(error).__name__}: {error}"


@pytest.mark.fast
def test_a_sample_of_all_damages(everywhere: Everywhere) -> None:
    sample = random.Random(20_240_101).sample(everywhere.cases(FLIPS), SAMPLE)
    assert list(wrong(everywhere, sample)) == []


def drawn(everywhere: Everywhere, table: str) -> list[Case]:
    """Every damage where it decides what is in force; elsewhere some of each kind of file, other ones in each table."""
    cases = [case for case in everywhere.cases(FLIPS) if case.table == table]
    if table in DECIDING:
        return cases
    found: list[Case] = []
    for kind in sorted({case.kind for case in cases}):
        of_kind = [case for case in cases if case.kind == kind]
        found += random.Random(f"{table} {kind}").sample(of_kind, min(DRAWN, len(of_kind)))
    return found


@pytest.mark.fast
def test_every_way_of_damage_is_drawn_for_every_kind_of_file(everywhere: Everywhere) -> None:
    others = [case for table in TABLES if table not in DECIDING for case in drawn(everywhere, table)]
    ways = {(case.kind, case.how) for case in everywhere.cases(FLIPS) if case.kind != "checkpoint"}
    assert ways <= {(case.kind, case.how) for case in others}
    assert {case.table for case in others} | DECIDING == set(TABLES)


@pytest.mark.e2e
@pytest.mark.parametrize("table", TABLES)
def test_files_of_every_table_and_of_its_head(everywhere: Everywhere, table: str) -> None:
    """`python -m planopt_tests.store.damage_everywhere` tries them all."""
    cases = drawn(everywhere, table)
    assert {case.kind for case in cases} >= {"commit", "data", "head"}
    assert list(wrong(everywhere, cases)) == []


# Each field of a promotion


OTHER_VALUES = [None, "another", 7]
PEOPLE = {query_id: IN_FORCE[query_id] for query_id in ("pinned", "rolled_back")}
FIELDS = [name for name in TABLES["active_policies"].names if name != "schema_version"]  # a newer one is refused


def replaced(everywhere: Everywhere, store: Path, column: str, value: Any) -> Workload:
    """A copy of the store in which somebody edited the last generations of both people."""
    edited, schema = everywhere.copied(store), TABLES["active_policies"]
    rows = Snapshot(edited.store, edited.name).table("active_policies").to_pylist()
    for row in rows:
        if row["generation"] == 2:
            row[column] = value
    write_deltalake(store / "active_policies", pa.Table.from_pylist(rows, schema=schema), mode="overwrite")
    return edited


@pytest.mark.fast
@pytest.mark.parametrize("column", FIELDS)
def test_each_field_of_a_promotion(everywhere: Everywhere, tmp_path: Path, column: str) -> None:
    with everywhere.whole_tables_looked_at_once():
        _each_value(everywhere, tmp_path / "edited", column)


def _each_value(everywhere: Everywhere, store: Path, column: str) -> None:
    fitting = [v for v in OTHER_VALUES if _fits(v, TABLES["active_policies"].field(column).type)]
    for value in fitting:
        edited = replaced(everywhere, store, column, value)
        for query_id, policy in PEOPLE.items():
            found = read_in_force(edited, query_id, timeout_s=600.0)
            if found.failure is None:
                assert found.policy == policy
            else:
                assert (found.policy, found.failure.code) == (ORIGINAL, "PLN-403")
                assert "planopt repair" in found.failure.fix
        snapshot = Snapshot(edited.store, edited.name)
        standings = read_standings(edited, snapshot=snapshot)
        evaluate(list(IN_FORCE), snapshot, standings)
        assert {s.to_promote for s in standings.values()} == {None}
        repair(edited.store, stamp="then", run_id="run-repair")
        for query_id, policy in PEOPLE.items():
            found = read_in_force(edited, query_id, timeout_s=600.0)
            assert (found.failure, found.policy) == (None, policy)
    assert fitting


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError):
        return False
    return True
