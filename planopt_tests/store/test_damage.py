"""A row that planopt did not write so is one error with a code, which names table, column, query and run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.errors import RowDamaged, StoreUnreadable
from planopt_assets.model.records import Edge
from planopt_assets.store.codecs.codec import Codec
from planopt_assets.store.codecs.deciding import CANDIDATES, DECISIONS, EDGES, VERDICTS
from planopt_assets.store.lineage import tree
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.rows import FEWER, Row, candidate, decision, verdict

pytestmark = pytest.mark.fast

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def row(codec: Codec[Any], noun: Any, **changes: Any) -> Row:
    common = {"schema_version": SCHEMA_VERSION, "workload": "demo", "run_id": "r1", "recorded_at": MOMENT}
    return {**common, **codec.to_row(noun), **changes}


GOOD = row(VERDICTS, verdict(FEWER))


def read(folder: Path, codec: Codec[Any], *rows: Row) -> list[Any]:
    table = pa.Table.from_pylist(list(rows), schema=TABLES[codec.table])
    write_deltalake(folder / codec.table, table, mode="append")
    return Snapshot(str(folder), "demo").read(codec)


def raised(folder: Path, codec: Codec[Any], *rows: Row) -> dict[str, str]:
    with pytest.raises(RowDamaged) as error:
        read(folder, codec, *rows)
    return error.value.facts()


def test_the_row_is_named_among_many(tmp_path: Path) -> None:
    bad = {**GOOD, "query_id": "broken", "run_id": "r2", "policy": "{no json"}
    facts = raised(tmp_path, VERDICTS, GOOD, GOOD, bad, GOOD)
    assert facts["code"] == "PLN-307"
    assert facts["where"] == "query broken"
    assert facts["what"].startswith("column policy of table verdicts, stored by run r2: it cannot be read: ")
    assert {name: facts[name] for name in ("table", "column", "query", "run")} == {
        "table": "verdicts",
        "column": "policy",
        "query": "broken",
        "run": "r2",
    }


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"schema_version": None}, "column schema_version of table verdicts, stored by run r1: it is null"),
        (
            {"schema_version": 0},
            "column schema_version of table verdicts, stored by run r1: there is no schema version 0",
        ),
        ({"recorded_at": None}, "column recorded_at of table verdicts, stored by run r1: it is null"),
        ({"outcome": None}, "column outcome of table verdicts, stored by run r1: it is null"),
        (
            {"outcome": "acc\x00pt"},
            "column outcome of table verdicts, stored by run r1: 'acc\\x00pt' is none of accept, inconclusive, reject",
        ),
    ],
    ids=["no schema version", "schema version 0", "no time", "no outcome", "no such outcome"],
)
def test_what_is_missing_or_no_word_of_planopt_is_named(tmp_path: Path, changes: Row, says: str) -> None:
    assert raised(tmp_path, VERDICTS, GOOD | changes)["what"] == says


def test_a_row_whose_query_is_unknown_says_its_table(tmp_path: Path) -> None:
    facts = raised(tmp_path, VERDICTS, GOOD | {"query_id": None})
    assert (facts["where"], facts["query"]) == ("a row of table verdicts", "")


@pytest.mark.parametrize(
    ("codec", "noun", "column"),
    [
        (VERDICTS, verdict(FEWER), "criteria"),
        (DECISIONS, decision(), "arithmetic"),
    ],
    ids=["criteria", "arithmetic"],
)
@pytest.mark.parametrize("text", ["{no json", "7", '["x"]', '[{"name": 7}]'])
def test_what_is_decoded_later_names_its_row_then(
    tmp_path: Path, codec: Codec[Any], noun: Any, column: str, text: str
) -> None:
    (found,) = read(tmp_path, codec, row(codec, noun, **{column: text}))
    with pytest.raises(RowDamaged, match=f"query q: column {column} of table {codec.table}, stored by run r1"):
        list(found.judgement.criteria if codec is VERDICTS else found.arithmetic)


CRITERION = '{"name": "wall_ns", "passed": true, "baseline": 1.0, "candidate": 1, "threshold": "", "note": ""}'


@pytest.mark.parametrize(
    ("field", "value"),
    [("passed", '"yes"'), ("passed", "1"), ("name", "null"), ("baseline", '"1"'), ("threshold", "1"), ("note", "[]")],
)
def test_a_criterion_has_values_of_its_kinds(tmp_path: Path, field: str, value: str) -> None:
    good = f"[{CRITERION}]"
    assert [c.name for c in VERDICTS.from_row(GOOD | {"criteria": good}).judgement.criteria] == ["wall_ns"]
    before = {"passed": "true", "name": '"wall_ns"', "baseline": "1.0", "threshold": '""', "note": '""'}[field]
    edited = good.replace(f'"{field}": {before}', f'"{field}": {value}')
    assert edited != good
    with pytest.raises(RowDamaged, match="column criteria"):
        list(VERDICTS.from_row(GOOD | {"criteria": edited}).judgement.criteria)


def test_a_text_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    good = row(CANDIDATES, candidate())
    table = pa.Table.from_pylist([good, good], schema=TABLES["candidate_plans"])
    offsets = pa.py_buffer(memoryview(pa.array([0, 2, 4], pa.int32()).buffers()[1]).tobytes())
    damaged = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"ok\xff\xfe"))
    place = table.column_names.index("reason")
    with pytest.raises(RowDamaged, match="query q: column reason of table candidate_plans, stored by run r1"):
        CANDIDATES.decode(table.set_column(place, "reason", damaged))


def test_a_time_that_no_calendar_has_is_named() -> None:
    table = pa.Table.from_pylist([row(CANDIDATES, candidate())], schema=TABLES["candidate_plans"])
    never = pa.array([2**62], pa.int64()).view(pa.timestamp("us", tz="UTC"))
    with pytest.raises(RowDamaged, match="column recorded_at"):
        CANDIDATES.decode(table.set_column(table.column_names.index("recorded_at"), "recorded_at", never))


def test_a_column_of_another_type_is_an_error_of_its_table(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([GOOD], schema=TABLES["verdicts"])
    place = table.column_names.index("pairs")
    write_deltalake(tmp_path / "verdicts", table.set_column(place, "pairs", pa.array(["nine"])))
    with pytest.raises(StoreUnreadable, match="table verdicts cannot be read"):
        Snapshot(str(tmp_path), "demo").read(VERDICTS)


@pytest.mark.parametrize("column", ["child_id", "parent_id"])
def test_an_edge_that_leads_nowhere_is_named(tmp_path: Path, column: str) -> None:
    edge = row(EDGES, Edge("q", "validate", "ver-1", "tri-1"), **{column: None})
    write_deltalake(tmp_path / "lineage", pa.Table.from_pylist([edge], schema=TABLES["lineage"]))
    with pytest.raises(RowDamaged, match=f"column {column} of table lineage"):
        tree(Snapshot(str(tmp_path), "demo"), "ver-1")
