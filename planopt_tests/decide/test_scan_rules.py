"""The rules about scans, predicates and Python functions, over any counters there can be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide.answer import Answer
from planopt_assets.decide.catalogue import EXCLUDABLE_RULES
from planopt_assets.decide.knobs import objections
from planopt_assets.decide.rules import RULES, enable_runtime_filters, exclude_rules
from planopt_assets.decide.rules.exclude_rules import KNOB as EXCLUDED
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Join, JoinInput, PythonFunction, Scan
from planopt_assets.model.workload import Knobs
from planopt_tests.decide.cases import DEFAULTS, FIXTURES, evidence_of, load
from planopt_tests.measured import counters

pytestmark = pytest.mark.fast

MINE = {
    *("right_size_splits", "delta_scan_settings", "normalise_predicates", "climb_pruning_ladder"),
    *("enable_runtime_filters", "arrow_python_udf", "exclude_rules"),
}
COUNT = st.integers(0, 10**9)
MAYBE = st.one_of(st.none(), COUNT)
TABLES = st.sampled_from(["a", "b", "c"])
FAMILIES = st.lists(st.sampled_from(["equality", "range", "in_list", "udf", "null_test", "disjunction"]), max_size=3)
SCANS = st.builds(
    Scan,
    node=st.integers(0, 9),
    table=TABLES,
    files=st.integers(0, 10_000),
    bytes=COUNT,
    splits=st.integers(0, 10_000),
    read_rows=MAYBE,
    matched_rows=MAYBE,
    row_bytes=st.one_of(st.none(), st.integers(0, 10**6)),
    native=st.booleans(),
    families=FAMILIES.map(tuple),
    causes=st.lists(st.sampled_from(["skipping_off", "or_leg"]), max_size=2).map(tuple),
    runtime_filters=st.integers(0, 2),
    file_rows=MAYBE,
    normal_form=st.one_of(st.none(), st.tuples(st.integers(0, 300), st.integers(0, 3))),
)
SIDES = st.builds(
    JoinInput,
    rows=MAYBE,
    bytes=MAYBE,
    estimated_bytes=MAYBE,
    shuffled=st.booleans(),
    tables=st.lists(TABLES, max_size=2).map(tuple),
    aggregated=st.booleans(),
)
STRATEGIES = st.sampled_from(["SortMergeJoin", "ShuffledHashJoin", "BroadcastHashJoin"])
JOINS = st.builds(
    Join,
    node=st.integers(0, 9),
    kind=st.sampled_from(["Inner", "LeftSemi", "LeftAnti", "LeftOuter", "RightOuter", "FullOuter"]),
    planned_strategy=STRATEGIES,
    strategy=STRATEGIES,
    build=st.none(),
    left=SIDES,
    right=SIDES,
    rows=MAYBE,
)
FUNCTIONS = st.builds(
    PythonFunction,
    name=st.just("f"),
    rung=st.sampled_from(["row_wise", "vectorised"]),
    uses=st.integers(1, 3),
    rows=MAYBE,
    returns=st.lists(st.sampled_from(["date", "double", "binary"]), max_size=2).map(tuple),
)
EXECUTIONS = st.builds(
    ObservedExecution,
    observation_id=st.just("obs"),
    counters=st.just(counters()),
    exchanges=st.just(()),
    scans=st.lists(SCANS, max_size=4).map(tuple),
    joins=st.lists(JOINS, max_size=3).map(tuple),
    functions=st.lists(FUNCTIONS, max_size=2).map(tuple),
    effective_rules=st.one_of(st.none(), st.lists(st.sampled_from(EXCLUDABLE_RULES), max_size=3).map(tuple)),
)
SWITCHES = sorted(name for name, value in DEFAULTS.items() if value in ("true", "false"))
SETTINGS = st.dictionaries(st.sampled_from(SWITCHES), st.sampled_from(["true", "false"]), max_size=6)
EVIDENCE = st.builds(
    lambda executions, settings, cores: replace(
        evidence_of({"executions": [], "settings": settings, "cores": cores}), executions=tuple(executions)
    ),
    st.lists(EXECUTIONS, min_size=1, max_size=2),
    SETTINGS,
    st.sampled_from([1, 2, 16]),
)


@settings(deadline=None, max_examples=150)
@given(evidence=EVIDENCE)
def test_a_rule_answers_whatever_was_counted_and_proposes_only_what_is_permitted(evidence: Evidence) -> None:
    """All rules on the same evidence: to draw it takes ten times as long as to answer."""
    for name, rule in RULES:
        if name in MINE:
            answers_as_permitted(name, rule(evidence), evidence)


def answers_as_permitted(name: str, answer: Answer, evidence: Evidence) -> None:
    assert answer.reason, name
    if answer.kind == "proposal":
        assert answer.saved_cpu_ns > 0, name
        permitted = Knobs(allow=(EXCLUDED,)) if name == "exclude_rules" else Knobs()
        assert objections(answer.change, permitted) == (), name
        assert [n for n, value in answer.change.settings if dict(evidence.settings).get(n) == value] == [], name
        several = ("enable_runtime_filters", "arrow_python_udf")
        assert len(answer.change.settings) + len(answer.change.rewrites) == 1 or name in several, name
    else:
        assert answer.change.describe() == "original", name


def test_all_rules_of_this_file_are_asked() -> None:
    assert {name for name, _ in RULES} >= MINE


def test_every_rule_that_may_be_left_out_is_one_the_rule_looks_for() -> None:
    assert set(exclude_rules._COSTS) == set(EXCLUDABLE_RULES)


def test_a_second_join_that_loses_is_counted_against_one_that_gains() -> None:
    file = FIXTURES / "enable_runtime_filters" / "does_nothing_where_other_joins_would_lose_more.yaml"
    evidence = evidence_of(load(file)["evidence"])
    (execution,) = evidence.executions
    alone = replace(evidence, executions=(replace(execution, joins=execution.joins[:1]),))
    assert enable_runtime_filters.enable_runtime_filters(evidence).kind == "no_change"
    assert enable_runtime_filters.enable_runtime_filters(alone).kind == "proposal"
