"""What an observation is made of: other scans, sampling, what a query is, and where two plan readers disagree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.bundle import Planned, differing
from planopt_assets.model.plan import Plan, PlanNode
from planopt_assets.model.provenance import Planning, PlanningEnvironment, Rulepack
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.observe.bundle import extractors_disagree, other_scans, plain, sampled, understand
from planopt_tests.fresh_python import output_of
from planopt_tests.rows import scan_facts

pytestmark = pytest.mark.fast


def plan(*operators: tuple[str, str], phase: str = "initial") -> Plan:
    return Plan(phase, tuple(PlanNode(i, i - 1, kind, detail) for i, (kind, detail) in enumerate(operators)), "x")


def planned(**changes: Any) -> Planned:
    known: dict[str, Any] = {
        "analyzed": [{"class": "org.apache.spark.sql.catalyst.plans.logical.OneRowRelation", "num-children": 0}],
        "analyzed_text": "Project [a#7]\n+- Relation [a#7]",
        "optimized": [],
        "output": (("a", "int", True),),
        "planning": Planning((), ()),
        "environment": PlanningEnvironment((), ()),
        "rulepack": Rulepack(()),
    }
    return Planned(**{**known, **changes})


# Scans that are not the native one

NATIVE = ("Scan parquet", "FileScan parquet [a#0] Batched: true, Table: orders")


def test_native_scans_of_known_tables_are_no_other_scans() -> None:
    assert other_scans(plan(("Project", ""), NATIVE, NATIVE), [scan_facts("orders")]) == []


@pytest.mark.parametrize(
    "operator",
    [
        ("Scan parquet", "FileScan parquet Table: nation"),  # a table nobody looked into
        ("Scan parquet", "FileScan parquet Table: unregistered"),
        ("Scan parquet", "FileScan parquet, no location"),
        ("Scan csv", "FileScan csv Table: orders"),
        ("BatchScan parquet", "BatchScan parquet Table: orders"),
        ("InMemoryTableScan", "InMemoryTableScan [a#0]"),
        ("FileScan", "FileScan Table: orders"),
        ("HiveTableScan", "HiveTableScan [a#0]"),
        ("Scan JDBCRelation(shop) [numPartitions=1]", ""),
    ],
)
def test_any_other_scan_is_named(operator: tuple[str, str]) -> None:
    assert other_scans(plan(NATIVE, operator), [scan_facts("orders")]) == [operator[0]]


@pytest.mark.parametrize(
    "kind",
    ["LocalTableScan", "Scan OneRowRelation", "Range", "EmptyRelation", "Scan ExistingRDD", "Filter", "Exchange"],
)
def test_what_reads_no_table_is_no_scan_to_look_at(kind: str) -> None:
    assert other_scans(plan((kind, "")), []) == []


def test_each_kind_is_named_once_in_order() -> None:
    found = plan(("InMemoryTableScan", "1"), ("BatchScan csv", ""), ("InMemoryTableScan", "2"))
    assert other_scans(found, []) == ["BatchScan csv", "InMemoryTableScan"]


# Sampling

KEYS = [("query", f"orders@v{n}") for n in range(4_000)]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_the_share_is_respected(share: float) -> None:
    found = sum(sampled(share, *key) for key in KEYS) / len(KEYS)
    assert abs(found - share) < 4 * (share * (1 - share) / len(KEYS)) ** 0.5


@given(st.lists(st.text()))
def test_nothing_and_everything(key: list[str]) -> None:
    assert not sampled(0.0, *key)
    assert sampled(1.0, *key)


@given(st.lists(st.text()), st.floats(0, 1), st.floats(0, 1))
def test_what_a_small_share_has_a_larger_one_has_too(key: list[str], one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert sampled(high, *key) or not sampled(low, *key)


def test_every_part_of_the_key_counts() -> None:
    def drawn(*others: str) -> list[bool]:
        return [sampled(0.5, *others, str(n)) for n in range(64)]

    assert drawn("a") == drawn("a")
    assert len({tuple(drawn(*others)) for others in ((), ("a",), ("b",), ("a", "b"), ("ab",))}) == 5


def test_sampling_is_the_same_in_every_process() -> None:
    code = "from planopt_assets.observe.bundle import sampled\nprint([sampled(0.5, 'q', str(n)) for n in range(40)])"
    expected = str([sampled(0.5, "q", str(n)) for n in range(40)])
    assert {output_of(code, hash_seed=seed).strip() for seed in (1, 2)} == {expected}


# What a query is

ORDERS = TableFacts(
    "orders", "/data/orders", "id-1", 12, Protocol.of(1, 2), (Column("id", "long"), Column("a", "long"))
)


def test_a_query_that_sqlglot_can_read_has_a_canonical_text() -> None:
    found = understand("select O.a from orders O -- all", planned(), [ORDERS], 0)
    assert (found.canonical.form, found.canonical.reason) == ("sqlglot", "")
    assert (
        found.canonical.fingerprint == understand("SELECT a FROM orders", planned(), [ORDERS], 0).canonical.fingerprint
    )


def test_where_sqlglot_cannot_the_analysed_plan_stands_in_and_says_why() -> None:
    found = understand("SELECT FROM WHERE", planned(), [ORDERS], 0).canonical
    assert (found.form, found.sql) == ("analyzed_plan", "Project [a#0]\n+- Relation [a#0]")
    assert found.reason.startswith("sqlglot cannot parse it")


def test_a_dataframe_is_known_by_its_analysed_plan() -> None:
    found = understand(None, planned(), [ORDERS], 0).canonical
    assert (found.form, found.reason) == ("analyzed_plan", "a DataFrame query has no SQL text")
    other = understand(None, planned(analyzed_text="Project [b#9]\n+- Relation [b#9]"), [ORDERS], 0).canonical
    assert found.fingerprint != other.fingerprint


# The second reader of plans

FORMATTED = """== Physical Plan ==
* Project (2)
+- * Range (1)


(1) Range [codegen id : 1]
Output [1]: [id#0L]
Arguments: Range (0, 10, step=1, splits=2)

(2) Project [codegen id : 1]
Output [1]: [(id#0L + 1) AS a#2L]
Input [1]: [id#0L]


"""


SAME = (("Project", "Project [(id#0 + 1) AS a#1]"), ("Range", "Range (0, 10, step=1, splits=2)"))


def disagreements(initial: Plan, final: Plan, **texts: str) -> list[str] | None:
    return extractors_disagree(initial, final, planned(explains=tuple(texts.items())), {}, 0)


@pytest.mark.parametrize("texts", [{}, {"cost": "x"}, {"formatted": FORMATTED}, {"formatted_final": FORMATTED}])
def test_readers_are_not_compared_where_there_is_no_text_of_both_plans(texts: dict[str, str]) -> None:
    assert disagreements(plan(*SAME), plan(*SAME, phase="final"), **texts) is None


def test_readers_that_agree_have_nothing_to_say() -> None:
    both = {"formatted": FORMATTED, "formatted_final": FORMATTED}
    assert disagreements(plan(*SAME), plan(*SAME, phase="final"), **both) == []


@pytest.mark.parametrize("wrong", ["initial", "final"])
def test_readers_that_disagree_say_on_which_plan(wrong: str) -> None:
    plans = [plan(*(SAME[1:] if phase == wrong else SAME), phase=phase) for phase in ("initial", "final")]
    found = disagreements(*plans, formatted=FORMATTED, formatted_final=FORMATTED)
    assert found
    assert all(words.startswith(f"{wrong}: ") for words in found)


def test_a_text_that_cannot_be_read_is_a_disagreement() -> None:
    found = disagreements(plan(*SAME), plan(*SAME, phase="final"), formatted=FORMATTED, formatted_final="nonsense")
    assert found is not None
    assert [words.split(":")[0] for words in found] == ["final"]


# Small things


def test_plain_text_has_its_keys_in_order() -> None:
    assert plain({"b": [1, None], "a": "ö"}) == '{"a": "\\u00f6", "b": [1, null]}'


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_parts_that_differ_are_those_changed_added_and_removed(before: dict[str, str], after: dict[str, str]) -> None:
    expected = {n for n in {*before, *after} if n not in before or n not in after or before[n] != after[n]}
    assert differing(tuple(before.items()), tuple(after.items())) == tuple(sorted(expected))
    assert differing(tuple(before.items()), tuple(reversed(before.items()))) == ()
