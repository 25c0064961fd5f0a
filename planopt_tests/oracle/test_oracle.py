"""The oracle itself, on logs small enough to check by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from planopt_tests.oracle.log_reader import Snapshot, read_log
from planopt_tests.oracle.skipping import ANYTHING, Col, Predicate

pytestmark = pytest.mark.fast

v, p, t = Col("v"), Col("p"), Col("t")
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in [("v", "long"), ("t", "string"), ("p", "integer")]
    ],
}
METADATA = {"metaData": {"id": "m", "schemaString": json.dumps(SCHEMA), "partitionColumns": ["p"], "configuration": {}}}


def add(path: str, p: str | None, stats: dict[str, object] | None, **more: object) -> dict[str, object]:
    text = None if stats is None else json.dumps(stats)
    return {"add": {"path": path, "size": 100, "partitionValues": {"p": p}, "stats": text, **more}}


def stats(low: int | None, high: int | None, nulls: int, text: tuple[str, str] = ("a", "c")) -> dict[str, object]:
    low_text, high_text = text
    ends = {"minValues": {"v": low, "t": low_text}, "maxValues": {"v": high, "t": high_text}}
    return {"numRecords": 10, **ends, "nullCount": {"v": nulls, "t": 0}}


def commit(table: Path, version: int, *actions: dict[str, object]) -> None:
    (table / "_delta_log").mkdir(exist_ok=True)
    (table / "_delta_log" / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))


@pytest.fixture
def files(tmp_path: Path) -> Snapshot:
    commit(
        tmp_path,
        0,
        METADATA,
        add("a", "1", stats(0, 9, 0)),
        add("b", "10", stats(10, 10, 5, ("ab", "b"))),
        add("c", None, stats(None, None, 10, ("b", "ba"))),
        add("d", "2", None),
    )
    return read_log(tmp_path)


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        (v == 9, "ad"),  # d has no statistics and is never ruled out
        (v == 10, "bd"),
        (v != 10, "ad"),  # b holds nothing but 10 and NULL, c nothing but NULL
        (v < 0, "d"),
        (v <= 0, "ad"),
        (v > 9, "bd"),
        (v >= 9, "abd"),
        (~(v > 9), "ad"),
        (~(v == 10), "ad"),
        (v.between(5, 10), "abd"),
        (v.one_of(3, 11), "ad"),
        (~v.one_of(10, 11), "ad"),
        (v.is_null(), "bcd"),
        (~v.is_null(), "abd"),
        ((v == 3) | v.is_null(), "abcd"),
        ((v == 3) & v.is_null(), "d"),
        (~((v == 3) | v.is_null()), "abd"),
        (~((v < 5) & (p == 1)), "abd"),
        (p == 1, "a"),
        (p > 2, "b"),  # as numbers: the text 10 is before 2
        (p != 1, "bd"),
        (p.is_null(), "c"),
        (~p.is_null(), "abd"),
        ((p == 2) | (v == 3), "ad"),
        (p.exactly(lambda values: pc.less(values, 3)), "ad"),
        (t.starts_with("a"), "abd"),
        (t.starts_with("bb"), "ad"),
        (~t.starts_with("b"), "abd"),
        (t.starts_with("ba"), "acd"),
        (ANYTHING, "abcd"),
        (~ANYTHING, "abcd"),
        ((v == 3) | ANYTHING, "abcd"),
        ((v == 3) & ANYTHING, "ad"),
    ],
)
def test_files_in_which_a_predicate_may_hold(files: Snapshot, predicate: Predicate, kept: str) -> None:
    assert "".join(files.paths.filter(predicate.may_hold(files)).to_pylist()) == kept


@pytest.mark.parametrize(
    ("predicate", "kept"),
    [
        ((p == 1) & (v > 100), "a"),
        ((p >= 1) & (v > 100) & (p < 5), "ad"),
        ((p == 1) | (v > 100), "abcd"),  # not decided by partitions alone
        (v > 100, "abcd"),
        (~(p == 1), "bd"),
    ],
)
def test_what_partition_values_alone_leave(files: Snapshot, predicate: Predicate, kept: str) -> None:
    on_partitions = predicate.on_partitions(files)
    assert "".join(files.paths.filter(on_partitions.may_hold(files)).to_pylist()) == kept


def test_nan_is_above_every_number_and_widening_moves_the_upper_end(files: Snapshot) -> None:
    nan = float("nan")
    ratio = replace(
        files.columns["v"],
        low=pa.array([0.0, 1.0, nan, None]),
        high=pa.array([1.0, nan, nan, None]),
        nulls=pa.array([0, 0, 0, None], pa.int64()),
    )
    of = replace(files, columns={"r": ratio})

    def kept(predicate: Predicate) -> str:
        return "".join(of.paths.filter(predicate.may_hold(of)).to_pylist())

    assert kept(Col("r") > 5.0) == "bcd"
    assert kept(Col("r") <= 5.0) == "abd"
    assert kept(Col("r", widen_by=2.0) > 2.5) == "abcd"
    assert kept(Col("r", widen_by=1.0) > 2.5) == "bcd"


def test_a_removed_file_is_gone_and_an_older_version_still_has_it(tmp_path: Path) -> None:
    commit(tmp_path, 0, METADATA, add("a", "1", None), add("b", "1", None))
    commit(tmp_path, 1, {"remove": {"path": "a"}}, add("c", "1", None))
    assert read_log(tmp_path).paths.to_pylist() == ["b", "c"]
    assert read_log(tmp_path, 0).paths.to_pylist() == ["a", "b"]


def test_a_file_with_a_new_deletion_vector_takes_the_place_of_the_one_without(tmp_path: Path) -> None:
    vector = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "cardinality": 3}
    commit(tmp_path, 0, METADATA, add("a", "1", None))
    # In any order: an action is about a file with exactly that vector.
    commit(tmp_path, 1, add("a", "1", None, deletionVector=vector), {"remove": {"path": "a"}})
    assert read_log(tmp_path).paths.to_pylist() == ["a"]
    assert read_log(tmp_path).deleted.to_pylist() == [3]


def test_a_checkpoint_stands_for_the_commits_before_it(tmp_path: Path) -> None:
    commit(tmp_path, 0, METADATA, add("lost", "1", None))
    actions = [{**dict.fromkeys(["metaData", "add", "remove"]), **a} for a in (METADATA, add("a", "1", None))]
    actions[0]["metaData"] = {k: v for k, v in METADATA["metaData"].items() if k != "configuration"}
    pq.write_table(pa.Table.from_pylist(actions), tmp_path / "_delta_log" / f"{1:020d}.checkpoint.parquet")
    commit(tmp_path, 2, add("b", "1", None))
    assert read_log(tmp_path).paths.to_pylist() == ["a", "b"]
    assert read_log(tmp_path, 0).paths.to_pylist() == ["lost"]
