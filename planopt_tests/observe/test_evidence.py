"""Evidence is rebuilt from stored rows exactly as it was observed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.observation import PlanDetails
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import (
    Aggregation,
    Exchange,
    Join,
    JoinInput,
    PythonFunction,
    Scan,
    Signals,
    Spill,
    Stage,
)
from planopt_assets.model.trial import Digest, FloatSummary
from planopt_assets.observe.evidence import evidence_of
from planopt_assets.store.codecs.forms import digest_from_json, digest_json, signals_from_json
from planopt_assets.store.codecs.observing import ARTIFACTS, DETAILS, EXECUTIONS
from planopt_tests.measured import counters
from planopt_tests.rows import Row

pytestmark = pytest.mark.fast

SALES = JoinInput(400, 6_400, 9_000, shuffled=True, tables=("sales",), target="join0.left s")
TOTALS = JoinInput(17, 408, None, shuffled=False, tables=("shops", "visits"), aggregated=True)
SIGNALS = Signals(
    exchanges=(Exchange(2, 200, 9_000, 400, 1, 5, 9, 3, feeds_join=True),),
    scans=(Scan(5, "orders", 60, 6_000, 33, families=("equal", "range"), causes=("cast",), runtime_filters=1),),
    joins=(Join(1, "Inner", "SortMergeJoin", "BroadcastHashJoin", "right", SALES, TOTALS, 400),),
    aggregations=(Aggregation(6, 400, 34, 17, 1),),
    spills=(Spill(4, "Sort", 1_000),),
    stages=(Stage(0, (), 6, 400, 6, 200, (2, 3, 5)), Stage(1, (0,), 3, 400, 0, 0, (0, 1))),
    functions=(PythonFunction("tax", "row_wise", 2, 400),),
    plan_dependent=("collect_list",),
)
OBSERVED = tuple(
    ObservedExecution(
        f"obs-run-q-b{binding}",
        counters(cpu_s=binding + 1),
        **{f.name: getattr(SIGNALS, f.name) for f in fields(SIGNALS)},
    )
    for binding in range(2)
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SUMMARIES = st.lists(st.builds(FloatSummary, st.text(), FLOATS, FLOATS, st.booleans()), max_size=3).map(tuple)


def signals_json(signals: Signals) -> str:
    """As the store has them."""
    return str(DETAILS.to_row(PlanDetails("obs-run-q-b0", signals=signals))["signals"])


def artifact(binding: int) -> Row:
    execution = OBSERVED[binding]
    return {
        "query_id": "q",
        "observation_id": execution.observation_id,
        "binding": binding,
        "query_fingerprint": "qry_1",
        "input_fingerprint": "inp_1",
        "plan_fingerprint": f"pln_{binding}",
        "settings": json.dumps({"spark.sql.shuffle.partitions": "200", "cores": "2"}),
        "signals": signals_json(SIGNALS),
    }


def counter_row(execution: ObservedExecution) -> Row:
    return {"execution_id": execution.observation_id, "run_id": "run", **asdict(execution.counters)}


ROWS = [artifact(1), artifact(0)]
COUNTERS = [counter_row(e) for e in OBSERVED]


def evidence(artifacts: Sequence[Row] = ROWS, counted: Sequence[Row] = COUNTERS) -> Evidence:
    """Of rows of `plan_artifacts` and `runtime_counters`; the query runs 24 times a day."""
    details = {row["observation_id"]: DETAILS.from_row(row) for row in artifacts}
    executions = {row["execution_id"]: EXECUTIONS.from_row(row) for row in counted}
    return evidence_of([ARTIFACTS.from_row(row) for row in artifacts], details, executions, 24.0)


def test_executions_come_back_as_they_were_in_the_order_of_their_bindings() -> None:
    assert evidence().executions == OBSERVED


def test_every_signal_comes_back_as_it_was_down_to_its_tuples() -> None:
    assert all(getattr(SIGNALS, f.name) for f in fields(SIGNALS)), "a signal that is not there proves nothing"
    assert signals_from_json(signals_json(SIGNALS)) == SIGNALS


def test_a_row_of_the_old_format_has_nothing_of_what_was_not_looked_at_then() -> None:
    old = """{"exchanges": [{"bytes_written": 9000, "node": 2, "partitions": 200}],
              "scans": [{"bytes": 6000, "files": 60, "node": 5, "splits": 33, "table": "orders"}]}"""
    rows = [{**artifact, "signals": old} for artifact in ROWS]
    execution = evidence(rows).executions[0]
    assert execution.exchanges == (Exchange(2, 200, 9_000),)
    assert execution.scans == (Scan(5, "orders", 60, 6_000, 33),)
    assert (execution.joins, execution.aggregations, execution.spills, execution.stages, execution.functions) == (
        ((),) * 5
    )
    assert execution.plan_dependent == ()


def test_the_same_signals_are_the_same_text() -> None:
    assert signals_json(SIGNALS) == signals_json(signals_from_json(signals_json(SIGNALS)))


def test_counters_of_other_executions_are_left_out() -> None:
    trial = {**COUNTERS[0], "execution_id": "tri-run-q", "cpu_ns": 1}
    assert evidence(counted=[*COUNTERS, trial]) == evidence()


def test_evidence_knows_what_the_query_ran_under() -> None:
    found = evidence()
    assert (found.cores, found.setting("spark.sql.shuffle.partitions")) == (2, "200")
    assert (found.policy, found.runs_per_day) == (ORIGINAL, 24.0)


def test_evidence_speaks_for_the_plan_of_the_first_binding() -> None:
    assert evidence().plan_fingerprint == "pln_0"


@settings(deadline=None)
@given(st.builds(Digest, st.integers(0), st.text(), st.text(), SUMMARIES, columns=st.text(), form=st.integers(1, 2)))
def test_a_digest_survives_json_to_the_last_bit(digest: Digest) -> None:
    assert digest_from_json(digest_json(digest)) == digest


def test_a_digest_of_the_old_format_is_of_the_first_form() -> None:
    old = """{"bits": "b", "exact": "e", "rows": 3,
              "floats": [{"column": "price", "magnitude": 2.0, "specials": 1, "total": 1.0}]}"""
    assert digest_from_json(old) == Digest(3, "e", "b", (FloatSummary("price", 1.0, 2.0),), form=1)
