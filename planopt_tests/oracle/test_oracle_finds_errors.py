"""The oracle can fail: a wrong predicate, a wrong log and a wrong record are each found, and nobody else disagrees."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from planopt_assets.engine.execution.execute import Measured
from planopt_assets.model.plan import Plan
from planopt_assets.observe.plans.metrics import FILE_BYTES, FILES
from planopt_tests.oracle.cases import id_
from planopt_tests.oracle.comparison import expected_scan, mismatches
from planopt_tests.oracle.lab import Lab
from planopt_tests.oracle.log_reader import Column, Snapshot, read_log
from planopt_tests.oracle.skipping import ANYTHING, Predicate

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def recorded(lab: Lab) -> Measured:
    """One file of `events`, and no reason to doubt it."""
    done = lab.run("SELECT id FROM events WHERE id = 17")
    assert mismatches(done, [lab.expect("events", id_ == 17)]) == []
    return done


@pytest.mark.parametrize("wrong", [id_ == 67, id_ <= 50, id_ < 0, ANYTHING])
def test_a_wrong_predicate_is_found(lab: Lab, recorded: Measured, wrong: Predicate) -> None:
    """Also one that leaves as many files: they are others, and have other sizes."""
    assert mismatches(recorded, [lab.expect("events", wrong)]) != []


def test_a_wrong_range_in_the_log_is_found(lab: Lab, recorded: Measured, tmp_path: Path) -> None:
    log = Path(shutil.copytree(lab.data / "events" / "_delta_log", tmp_path / "_delta_log")) / f"{0:020d}.json"
    log.write_text(log.read_text().replace(r"minValues\":{\"id\":50", r"minValues\":{\"id\":17"))
    (found,) = [
        m for m in mismatches(recorded, [expected_scan("events", read_log(tmp_path), id_ == 17)]) if "plan" in m
    ]
    assert "files=1" in found
    assert "files=2" in found


def test_a_missing_or_additional_scan_is_found(lab: Lab, recorded: Measured) -> None:
    expected = lab.expect("events", id_ == 17)
    assert mismatches(recorded, []) != []
    assert mismatches(recorded, [expected, expected]) != []
    assert mismatches(recorded, [replace(expected, table="growing")]) != []


def with_metric(plan: Plan, name: str, more: int) -> Plan:
    """The plan with more in one metric of every operator that has it."""
    return replace(
        plan,
        nodes=tuple(replace(n, metrics=tuple((m, v + more * (m == name)) for m, v in n.metrics)) for n in plan.nodes),
    )


@pytest.mark.parametrize("metric", [FILES, FILE_BYTES])
def test_a_wrong_metric_in_the_plan_is_found(lab: Lab, recorded: Measured, metric: str) -> None:
    wrong = replace(recorded, final=with_metric(recorded.final, metric, 1))
    (found,) = mismatches(wrong, [lab.expect("events", id_ == 17)])
    assert found.startswith("plan: recorded")


@pytest.mark.parametrize("counter", ["scan_files", "scan_bytes"])
def test_a_wrong_counter_is_found(lab: Lab, recorded: Measured, counter: str) -> None:
    more = getattr(recorded.counters, counter) + 1
    wrong = replace(recorded, counters=replace(recorded.counters, **{counter: more}))
    assert len(mismatches(wrong, [lab.expect("events", id_ == 17)])) == 1


@pytest.mark.parametrize("step", ["total", "partition", "scanned", "read"])
@pytest.mark.parametrize("unit", ["files", "bytes"])
def test_a_wrong_step_of_the_funnel_is_found(lab: Lab, recorded: Measured, step: str, unit: str) -> None:
    (scan,) = recorded.scans
    size = getattr(scan.funnel, step)
    funnel = replace(scan.funnel, **{step: replace(size, **{unit: getattr(size, unit) + 1})})
    (found,) = mismatches(replace(recorded, scans=(replace(scan, funnel=funnel),)), [lab.expect("events", id_ == 17)])
    assert found.startswith("funnel: recorded")


def test_bytes_tell_which_files_were_read(lab: Lab) -> None:
    """No two sets of files of one table have the same size together."""
    for table, files in lab.pinned.items():
        sizes = files.sizes.to_pylist()
        sums = [sum(some) for some in chain.from_iterable(combinations(sizes, n) for n in range(len(sizes) + 1))]
        assert len(set(sums)) == len(sums), table


def test_delta_rs_reads_the_same_log(lab: Lab) -> None:
    """A third reader: files, sizes, rows, partition values and ranges of every table."""
    from deltalake import DeltaTable

    for table, files in lab.pinned.items():
        other = pa.table(DeltaTable(lab.data / table, version=files.version).get_add_actions(flatten=True))
        other = other.take(pc.sort_indices(other["path"]))
        assert columns_of(files) == {name: texts(other[name]) for name in columns_of(files)}, table
        known = {name for name in other.column_names if name.startswith(("min.", "max.", "null_count."))}
        assert {n for n in known if other[n].null_count < len(other)} <= columns_of(files).keys(), table


def columns_of(files: Snapshot) -> dict[str, list[str | None]]:
    """The snapshot under the names delta-rs gives its columns, without those the log says nothing of."""
    order = pc.sort_indices(files.paths)
    found = {"path": files.paths, "size_bytes": files.sizes, "num_records": files.rows}
    for name, column in files.columns.items():
        found |= {f"partition.{name}": column.low} if column.is_partition else statistics(column)
    return {name: texts(values.take(order)) for name, values in found.items() if values.null_count < len(values)}


def statistics(column: Column) -> dict[str, pa.Array]:
    parts = {"min": column.low, "max": column.high, "null_count": column.nulls}
    return {f"{part}.{column.physical}": values for part, values in parts.items()}


def texts(values: pa.Array) -> list[str | None]:
    """Values as text: a NaN equals no NaN, and time zones are called UTC or Z."""
    return [None if v is None else str(v).removesuffix("+00:00") for v in values.to_pylist()]
