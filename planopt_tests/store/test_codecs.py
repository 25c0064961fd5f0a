"""Every noun survives the store: written as a row, read back, it is the same noun; and rows of every version decode."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planopt_assets.model.candidate import Candidate
from planopt_assets.model.decision import Decision
from planopt_assets.model.execution import Execution
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutTrial, LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.observation import (
    AcceptedTopology,
    ObservedBinding,
    PlanArtifact,
    PlanDependence,
    PlanDetails,
    PlanTrees,
)
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.records import Edge, ExplainLine, NodeRecord, SharedContent, TaskRecord
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.signals import Signals
from planopt_assets.model.stamp import NOT_STORED, Stamp
from planopt_assets.model.table_readiness import TableReadiness
from planopt_assets.model.table_record import ReadLayout, TableRecord
from planopt_assets.model.trial import Trial, TrialRow, TrialSignals
from planopt_assets.model.verdict import Verdict
from planopt_assets.store.codecs import deciding, maintaining, observing
from planopt_assets.store.codecs.codec import STAMP, Codec, Joined
from planopt_assets.store.codecs.forms import Lazy
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_tests.store import nouns
from planopt_tests.store.schema_history import FIRST, LATER, unknown_at

pytestmark = pytest.mark.fast

CODECS: dict[str, Any] = {
    name: value
    for module in (observing, deciding, maintaining)
    for name, value in vars(module).items()
    if isinstance(value, Codec | Joined)
}
TRIALS = nouns.of(Trial, counters=st.none(), signals=st.none())  # an execution's; in the same row, read apart
DRAWN: dict[str, st.SearchStrategy[Any]] = {
    "ARTIFACTS": nouns.of(PlanArtifact),
    "DETAILS": nouns.of(PlanDetails, signals=st.none() | nouns.of(Signals)),
    "PLAN_DEPENDENCE": nouns.of(PlanDependence),
    "TREES": nouns.of(PlanTrees),
    "OBSERVED": nouns.of(ObservedBinding),
    "NODES": nouns.of(NodeRecord),
    "EXPLAINS": nouns.of(ExplainLine),
    "TASKS": nouns.of(TaskRecord),
    "SHARED": nouns.of(SharedContent),
    "ACCEPTED": nouns.of(AcceptedTopology),
    "SCANS": nouns.of(ScanRecord),
    "INPUT_TABLES": nouns.of(TableRecord, layout=nouns.LAYOUT),  # only an older row has none
    "LAYOUTS": nouns.of(ReadLayout, layout=nouns.LAYOUT),
    "EXECUTIONS": nouns.of(Execution),
    "DECISIONS": nouns.of(Decision),
    "CANDIDATES": nouns.of(Candidate),
    "TRIALS": TRIALS,
    "TRIAL_SIGNALS": nouns.of(TrialSignals),
    "TRIAL_ROWS": st.builds(TrialRow, TRIALS, nouns.of(TrialSignals)),
    "VERDICTS": nouns.of(Verdict, judgement=nouns.JUDGEMENTS),
    "PROMOTIONS": nouns.of(Promotion),
    "EDGES": nouns.of(Edge),
    "READINESS": nouns.of(TableReadiness),
    "PROPOSALS": nouns.of(LayoutProposal, properties=nouns.PAIRS),
    "LAYOUT_TRIALS": nouns.of(LayoutTrial, counters=st.none()),  # they are an execution's
    "LAYOUT_VERDICTS": nouns.of(LayoutVerdict),
    "ACTIONS": nouns.of(MaintenanceAction),
}


def test_every_codec_is_tried() -> None:
    assert DRAWN.keys() == CODECS.keys()


def test_every_table_of_the_store_has_a_codec() -> None:
    assert {codec.table for codec in CODECS.values()} == set(TABLES)


@pytest.mark.parametrize("name", CODECS)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_noun_that_was_stored_comes_back_as_it_was(name: str, data: st.DataObject) -> None:
    codec, noun = CODECS[name], data.draw(DRAWN[name])
    if name == "OBSERVED":  # one row: its parts have one id
        key = noun.artifact.observation_id
        noun = replace(
            noun, details=replace(noun.details, observation_id=key), trees=replace(noun.trees, observation_id=key)
        )
    if name == "TRIAL_ROWS":
        noun = replace(noun, shown=replace(noun.shown, trial_id=noun.trial.id))
    row = codec.to_row(noun)
    assert not row.keys() - set(TABLES[codec.table].names)
    whole = {"schema_version": SCHEMA_VERSION, "recorded_at": NOT_STORED.recorded_at, **row}
    (stored,) = pa.Table.from_pylist([whole], schema=TABLES[codec.table]).to_pylist()  # as Arrow holds it
    assert codec.from_row(stored) == noun


@pytest.mark.parametrize("name", [name for name, codec in CODECS.items() if isinstance(codec, Codec)])
def test_a_noun_is_made_only_of_columns_that_its_table_declares(name: str) -> None:
    assert set(CODECS[name].columns) <= set(TABLES[CODECS[name].table].names)


def test_many_rows_are_decoded_as_each_of_them_would_be() -> None:
    edges = [Edge("q", "validate", f"ver-{n}", f"tri-{n}") for n in range(3)]
    table = pa.Table.from_pylist([deciding.EDGES.to_row(e) for e in edges], schema=TABLES["lineage"])
    table = table.drop_columns(["schema_version", "recorded_at"])
    assert deciding.EDGES.decode(table) == edges
    assert deciding.EDGES.decode(table.slice(0, 0)) == []


def test_the_stamp_is_that_of_the_row_and_no_part_of_what_is_equal() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    row = {"query_id": "q", "policy": '{"settings": {}, "hints": [], "layouts": []}', "kept": True}
    row |= {"reason": "the plan changes", "diff": ""}
    one, other = (deciding.CANDIDATES.from_row({**row, "run_id": r, "recorded_at": moment}) for r in ("r1", "r2"))
    assert (one.stamp, other.stamp) == (Stamp("r1", moment), Stamp("r2", moment))
    assert one == other


def test_what_is_derived_is_written_and_not_read_back() -> None:
    edge = Edge("q", "validate", "ver-1", "tri-1")
    row = deciding.EDGES.to_row(edge)
    assert (row["child_kind"], row["parent_kind"]) == ("verdict", "trial")
    assert deciding.EDGES.from_row({**row, "child_kind": "something else"}) == edge


# Rows of earlier versions: what they did not know is null, and decodes to what the noun has for unknown


def test_the_record_of_versions_has_every_column() -> None:
    for name, schema in TABLES.items():
        first, count = FIRST[name]
        later = [column for columns in LATER.get(name, {}).values() for column in columns]
        assert count + len(later) == len(schema.names), (
            f"{name}: the new columns go into planopt_tests/store/schema_history.py"
        )
        assert set(later) <= set(schema.names)
        assert all(first < version <= SCHEMA_VERSION for version in LATER.get(name, {}))
    assert FIRST.keys() == TABLES.keys()


@pytest.mark.parametrize("name", CODECS)
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_row_of_every_earlier_version_decodes_and_keeps_what_it_knew(name: str, data: st.DataObject) -> None:
    codec, noun = CODECS[name], data.draw(DRAWN[name])
    whole = {"recorded_at": NOT_STORED.recorded_at, **codec.to_row(noun)}
    for version in range(FIRST[codec.table][0], SCHEMA_VERSION):
        lacks = unknown_at(codec.table, version)
        row = {column: value for column, value in whole.items() if column not in lacks}
        (stored,) = pa.Table.from_pylist([{**row, "schema_version": version}], schema=TABLES[codec.table]).to_pylist()
        old = codec.from_row(stored)
        for field, form in codec._fields if isinstance(codec, Codec) else ():
            if lacks.isdisjoint(form.reads(field)):
                assert getattr(old, field) == getattr(noun, field), (version, field)


SINCE_THE_FIRST = {
    "ARTIFACTS": {
        "query_id": "q",
        "observation_id": "obs-1",
        "binding": 0,
        "status": "captured",
        "query_fingerprint": "qry_1",
        "input_fingerprint": "inp_1",
        "tables": "[]",
    },
    "EXECUTIONS": {"query_id": "q", "execution_id": "obs-1", "purpose": "observe", "policy_id": "pol_1", "wall_ns": 1},
    "VERDICTS": {
        "query_id": "q",
        "verdict_id": "ver-1",
        "candidate_id": "can_1",
        "policy": '{"settings": {}, "hints": [], "layouts": []}',
        "outcome": "accept",
        "reason": "why",
        "results_equal": True,
        "criteria": "[]",
        "pairs": 9,
        "trial_ids": ["tri-1"],
        "input_fingerprint": "inp_1",
    },
    "INPUT_TABLES": {"query_id": "q", "observation_id": "obs-1", "table": "t", "contract": "{}"},
    "PROMOTIONS": {
        "workload": "w",
        "query_id": "q",
        "generation": 1,
        "policy": '{"settings": {}, "hints": [], "layouts": []}',
        "state": "accepted",
        "reason": "why",
        "verdict_id": "ver-1",
        "candidate_id": "can_1",
        "input_fingerprint": "inp_1",
        "previous_hash": "chn_genesis",
    },
}


@pytest.mark.parametrize("name", SINCE_THE_FIRST)
def test_a_row_of_the_first_version_decodes_and_the_rest_is_unknown(name: str) -> None:
    codec = CODECS[name]
    noun = codec.from_row(SINCE_THE_FIRST[name])
    known = {column for column, value in codec.to_row(noun).items() if value not in (None, "[]", "{}", [], 0)}
    told = {column for column, value in SINCE_THE_FIRST[name].items() if value not in (None, "[]", "{}", [], 0)}
    assert known - set(codec._derived) - set(STAMP) == told


def test_the_layout_of_an_older_row_is_read_from_its_create_statement() -> None:
    ddl = "CREATE TABLE `t` (\n  `d` DATE\n)\nUSING delta\nPARTITIONED BY (`d`);"
    old = {**SINCE_THE_FIRST["INPUT_TABLES"], "metadata": ddl}
    assert observing.INPUT_TABLES.from_row(old).layout == {"partitioned by": "`d`"}
    assert observing.LAYOUTS.from_row({**old, "layout": "{}"}).layout == {}


# Lazy


def test_a_lazy_sequence_is_decoded_once_and_only_when_looked_at() -> None:
    asked: list[int] = []

    def decode() -> tuple[str, ...]:
        asked.append(1)
        return ("a", "b")

    lazy: Lazy[str] = Lazy(decode)
    assert asked == []
    assert (lazy[0], lazy[-1], len(lazy), list(lazy), tuple(lazy[:1])) == ("a", "b", 2, ["a", "b"], ("a",))
    assert asked == [1]
    assert [lazy == other for other in (("a", "b"), ["a", "b"], Lazy(decode), ["a"], "ab")] == [
        *[True] * 3,
        False,
        False,
    ]
    assert hash(lazy) == hash(("a", "b"))


def test_every_field_of_a_noun_is_written_or_named_as_held_elsewhere() -> None:
    unwritten = {
        f"{name}.{field}"
        for name, codec in CODECS.items()
        if isinstance(codec, Codec)
        for field, form in codec._fields
        if not form.writes(field)
    }
    assert unwritten == {"TRIALS.counters", "TRIALS.signals", "LAYOUT_TRIALS.counters"}
    assert all(fields(noun) for noun in (Trial, Verdict, Execution))
