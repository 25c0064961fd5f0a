"""Drift: nothing where nothing changed, everything where something did, and the right alarm for each."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.table_facts import Column, Constraint, Protocol, TableFacts
from planopt_assets.observe.tables.contract import Contract, Drift, contract_drift, contract_hash, contract_of
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

SALES = TableFacts(
    "sales",
    "/data/sales",
    "11-22",
    4,
    Protocol.of(1, 7),
    (
        Column("id", "long", nullable=False),
        Column("at", "timestamp"),
        Column("day", "date", generated="CAST(at AS DATE)"),
        Column("amount", "decimal(10,2)", default="0"),
    ),
    partition_columns=("day",),
    constraints=(
        Constraint("check", "positive", "amount > 0"),
        Constraint("generated", "day", "CAST(at AS DATE)"),
        Constraint("not_null", "id", "IS NOT NULL"),
    ),
)
SHOPS = TableFacts("shops", "/data/shops", "33-44", 0, Protocol.of(1, 2), (Column("id", "long"),))
CONTRACT = contract_of([SHOPS, SALES])


def struct(*fields: tuple[str, Any, bool]) -> str:
    written = [{"name": name, "nullable": nullable, "type": kind} for name, kind, nullable in fields]
    return json.dumps({"fields": written, "type": "struct"})


def array(element: Any, *, null: bool = True) -> str:
    return json.dumps({"containsNull": null, "elementType": element, "type": "array"})


def of_map(key: str, value: str, *, null: bool = True) -> str:
    return json.dumps({"keyType": key, "type": "map", "valueContainsNull": null, "valueType": value})


# A contract


def test_a_contract_is_what_a_reader_relies_on() -> None:
    assert list(CONTRACT) == ["sales", "shops"]
    assert CONTRACT["sales"] == {
        "columns": [
            {"name": "id", "type": "long", "nullable": False},
            {"name": "at", "type": "timestamp", "nullable": True},
            {"name": "day", "type": "date", "nullable": True},
            {"name": "amount", "type": "decimal(10,2)", "nullable": True},
        ],
        "defaults": {"amount": "0"},
        "constraints": [["check", "positive", "amount > 0"], ["generated", "day", "CAST(at AS DATE)"]],
        "partitioned_by": ["day"],
    }


def test_a_contract_survives_being_stored() -> None:
    assert json.loads(json.dumps(CONTRACT)) == CONTRACT


def test_the_hash_depends_on_content_alone() -> None:
    shuffled = replace(SALES, constraints=SALES.constraints[::-1])
    assert contract_hash(contract_of([shuffled, SHOPS])) == contract_hash(CONTRACT)
    code = "from planopt_tests.observe.test_contract import *\nprint(contract_hash(contract_of([SALES, SHOPS])))"
    assert output_of(code, hash_seed=7) == f"{contract_hash(CONTRACT)}\n"


# Drift, by example


def changed(**sales: Any) -> Contract:
    return {**CONTRACT, "sales": {**copy.deepcopy(CONTRACT["sales"]), **sales}}


def with_column(at: int, **changes: Any) -> Contract:
    columns = copy.deepcopy(CONTRACT["sales"]["columns"])
    columns[at] |= changes
    return changed(columns=columns)


COLUMNS = CONTRACT["sales"]["columns"]
NEW = {"name": "tax", "type": "double", "nullable": True}
CHECK, GENERATED = CONTRACT["sales"]["constraints"]

CASES: dict[str, tuple[Contract, str, str, str]] = {
    "column added at the end": (changed(columns=[*COLUMNS, NEW]), "column_added", "tax", "compatible"),
    "column added at the front": (changed(columns=[NEW, *COLUMNS]), "column_added", "tax", "compatible"),
    "column removed": (changed(columns=COLUMNS[1:]), "column_removed", "id", "breaking"),
    "columns reordered": (changed(columns=COLUMNS[::-1]), "columns_reordered", "sales", "compatible"),
    "column in capitals": (with_column(1, name="AT"), "column_recased", "AT", "compatible"),
    "type widened": (with_column(3, type="decimal(12,2)"), "type_changed", "amount", "compatible"),
    "type narrowed": (with_column(0, type="integer"), "type_changed", "id", "breaking"),
    "type of another kind": (with_column(0, type="string"), "type_changed", "id", "breaking"),
    "NOT NULL dropped": (with_column(0, nullable=True), "nullability_changed", "id", "breaking"),
    "NOT NULL added": (with_column(1, nullable=False), "nullability_changed", "at", "compatible"),
    "constraint removed": (changed(constraints=[GENERATED]), "constraint_removed", "check positive", "breaking"),
    "constraint added": (
        changed(constraints=[CHECK, ["check", "small", "amount < 9"], GENERATED]),
        "constraint_added",
        "check small",
        "compatible",
    ),
    "constraint changed": (
        changed(constraints=[["check", "positive", "amount > 1"], GENERATED]),
        "constraint_changed",
        "check positive",
        "breaking",
    ),
    "generated otherwise": (
        changed(constraints=[CHECK, ["generated", "day", "DATE(at)"]]),
        "generation_changed",
        "generated day",
        "breaking",
    ),
    "default gone": (changed(defaults={}), "default_changed", "amount", "compatible"),
    "not partitioned": (changed(partitioned_by=[]), "partitioning_changed", "sales", "compatible"),
    "partitioned by more": (changed(partitioned_by=["day", "id"]), "partitioning_changed", "sales", "compatible"),
    "table gone": ({"shops": CONTRACT["shops"]}, "table_removed", "sales", "breaking"),
    "table new": ({**CONTRACT, "regions": CONTRACT["shops"]}, "table_added", "regions", "compatible"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_change_is_one_drift_with_its_severity(case: str) -> None:
    after, kind, subject, severity = CASES[case]
    [drift] = contract_drift(CONTRACT, after)
    assert (drift.kind, drift.subject, drift.severity) == (kind, subject, severity)
    assert drift.table in drift.words


def test_drift_says_what_was_and_what_is() -> None:
    [drift] = contract_drift(CONTRACT, with_column(0, nullable=True))
    words = "column id of sales was NOT NULL and may hold NULL now"
    assert drift == Drift("sales", "nullability_changed", "id", "breaking", words, "NOT NULL", "NULL")


def test_several_changes_come_in_one_order() -> None:
    after = changed(columns=[NEW, *COLUMNS[:0:-1]], constraints=[], defaults={}, partitioned_by=["at"])
    after["areas"] = after.pop("shops")
    kinds = [drift.kind for drift in contract_drift(CONTRACT, after)]
    assert kinds == [
        "table_added",
        *("column_removed", "column_added", "columns_reordered"),
        *("constraint_removed", "constraint_removed", "default_changed", "partitioning_changed"),
        "table_removed",
    ]


HELD = [
    ("byte", "long"),
    ("integer", "double"),
    ("float", "double"),
    ("date", "timestamp_ntz"),
    ("decimal(10,2)", "decimal(12,4)"),
    (struct(("a", "integer", True)), struct(("b", "long", True), ("A", "long", False))),
    (array("integer"), array("long", null=False)),
    (of_map("integer", "float"), of_map("long", "double", null=False)),
]
NOT_HELD = [
    ("long", "integer"),
    ("long", "double"),
    ("timestamp_ntz", "date"),
    ("decimal(10,2)", "decimal(11,4)"),
    ("decimal(10,2)", "decimal(12,1)"),
    ("decimal(10,2)", "double"),
    ("string", array("string")),
    (array("string"), "string"),
    (struct(("a", "long", True)), struct(("b", "long", True))),
    (struct(("a", "long", False)), struct(("a", "long", True))),
    (array("long", null=False), array("long")),
    (array("long"), array("integer")),
    (of_map("string", "long", null=False), of_map("string", "long")),
    (of_map("long", "long"), of_map("integer", "long")),
    (of_map("string", "long"), array("string")),
    ('{"type":"tensor","rank":2}', '{"type":"tensor","rank":3}'),
]


@pytest.mark.parametrize(
    ("old", "new", "severity"),
    [*((*pair, "compatible") for pair in HELD), *((*pair, "breaking") for pair in NOT_HELD)],
)
def test_a_type_is_compatible_when_it_holds_every_old_value(old: str, new: str, severity: str) -> None:
    [drift] = contract_drift(with_column(0, type=old), with_column(0, type=new))
    assert (drift.kind, drift.severity) == ("type_changed", severity)
    assert ("holds every value" in drift.words) == (severity == "compatible")


# Drift, by property

names = st.sampled_from(["a", "b", "c", "d", "B"])
columns = st.lists(
    st.fixed_dictionaries(
        {"name": names, "type": st.sampled_from(["long", "integer", array("long")]), "nullable": st.booleans()}
    ),
    min_size=1,
    unique_by=lambda column: column["name"].lower(),
)
constraints = st.dictionaries(
    st.tuples(st.sampled_from(["check", "identity"]), names), st.sampled_from(["x > 0", "x > 1"]), max_size=3
).map(lambda found: [[*key, expression] for key, expression in sorted(found.items())])
tables = st.fixed_dictionaries(
    {
        "columns": columns,
        "defaults": st.dictionaries(names, st.sampled_from(["0", "1"]), max_size=2),
        "constraints": constraints,
        "partitioned_by": st.lists(names, max_size=2, unique=True),
    }
)
contracts = st.dictionaries(st.sampled_from(["t", "u"]), tables, max_size=2)


@settings(deadline=None)
@given(contract=contracts)
def test_nothing_drifts_from_itself(contract: Contract) -> None:
    assert contract_drift(contract, copy.deepcopy(contract)) == ()


@settings(deadline=None)
@given(before=contracts, after=contracts)
def test_drift_is_found_exactly_where_the_hash_differs(before: Contract, after: Contract) -> None:
    assert bool(contract_drift(before, after)) == (contract_hash(before) != contract_hash(after))


@settings(deadline=None)
@given(before=contracts, after=contracts)
def test_the_way_back_has_as_many_changes(before: Contract, after: Contract) -> None:
    there, back = contract_drift(before, after), contract_drift(after, before)
    assert len(there) == len(back)
    assert sorted((d.before, d.after) for d in there) == sorted((d.after, d.before) for d in back)
