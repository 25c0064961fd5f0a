"""The knob catalogue against the Spark that runs: known, settable, of the type it says, with Spark's own values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.decide import knobs as catalogue
from planopt_assets.decide.catalogue import CATALOGUE, EXCLUDABLE_RULES, LOOKED_AT, RESULT_CHANGING
from planopt_assets.engine.jvm.bridge import Jvm, each
from planopt_assets.engine.sessions.knobs import READER_OPTIONS, KnobReader, check_type
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import KnobMistyped, KnobUnknown
from planopt_assets.model.knob import UNSET, Knob
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Query
from planopt_tests.conftest import workload_of
from planopt_tests.decide.cases import DEFAULTS

pytestmark = pytest.mark.spark

DICTIONARY = "parquet.filter.dictionary.enabled"
ONE = Query("one", sql="SELECT id FROM sales WHERE note = 'n3'")


@pytest.fixture
def workspace(spark, unchanging_tables: Path) -> Workspace:
    return Workspace(workload_of(unchanging_tables, [ONE]))


def entry_of(spark, name: str):
    return Jvm(spark).scala_object("org.apache.spark.sql.internal.SQLConf").getConfigEntry(name)


# What is in force


def test_every_knob_is_known_to_this_spark_and_has_a_value(workspace: Workspace) -> None:
    names = [*(k.name for k in CATALOGUE), *LOOKED_AT]
    values = workspace.effective_settings(names)
    assert set(values) == {*names, "cores", "driver_memory", "executor_memory"}
    assert values["spark.sql.files.minPartitionNum"] == UNSET
    # What the fixtures of the rules start from is what this Spark really says.
    shown = {name: value for name, value in DEFAULTS.items() if name in names}
    assert {name: values[name] for name in shown} == shown


def test_the_values_of_the_parquet_reader_are_its_own_until_a_session_sets_them(workspace: Workspace) -> None:
    assert set(workspace.effective_settings(READER_OPTIONS).values()) >= {"true"}
    isolated = workspace.isolated(workspace.arm(Policy.of({DICTIONARY: "false"})))
    assert KnobReader(isolated).effective([DICTIONARY]) == {DICTIONARY: "false"}
    assert KnobReader(workspace.isolated(workspace.baseline)).effective([DICTIONARY]) == {DICTIONARY: "true"}


def test_parquet_names_every_option_as_the_catalogue_does(spark) -> None:
    constants = Jvm(spark).root.org.apache.parquet.hadoop.ParquetInputFormat
    names = {
        constants.STATS_FILTERING_ENABLED,
        constants.DICTIONARY_FILTERING_ENABLED,
        constants.COLUMN_INDEX_FILTERING_ENABLED,
        constants.BLOOM_FILTERING_ENABLED,
    }
    assert names == set(READER_OPTIONS) == {k.name for k in CATALOGUE if k.source == "parquet"}


# Refused


@pytest.mark.parametrize(
    "name", ["spark.sql.shuffle.partitoins", "spark.master", "spark.sql.warehouse.dir", "parquet.x"]
)
def test_an_unknown_or_static_setting_is_refused(workspace: Workspace, name: str) -> None:
    with pytest.raises(KnobUnknown, match="no session setting"):
        workspace.effective_settings([name])
    with pytest.raises(KnobUnknown, match="no session setting"):
        workspace.isolated(workspace.arm(Policy.of({name: "1"})))


@pytest.mark.parametrize(
    ("name", "wrong", "held"),
    [
        ("spark.sql.shuffle.partitions", {"kind": "bytes"}, "holds it as int"),
        ("spark.sql.shuffle.partitions", {"kind": "bool", "low": 0, "high": 0}, "holds it as int"),
        ("spark.sql.files.maxPartitionBytes", {"kind": "int"}, "holds it as bytes"),
        ("spark.sql.parquet.filterPushdown", {"kind": "int", "low": 1, "high": 2}, "holds it as boolean"),
        ("spark.sql.adaptive.skewJoin.skewedPartitionFactor", {"kind": "int"}, "holds it as double"),
        ("spark.sql.optimizer.excludedRules", {"kind": "bool", "choices": ()}, "holds it as text"),
        ("spark.sql.shuffle.partitions", {"low": 0}, "refuses 0"),
    ],
)
def test_a_knob_of_another_type_or_range_is_refused(spark, name: str, wrong: dict, held: str) -> None:
    entry = catalogue.knob(name)
    assert entry is not None
    check_type(entry, entry_of(spark, name))
    with pytest.raises(KnobMistyped, match=held):
        check_type(replace(entry, **wrong), entry_of(spark, name))


def test_a_mistyped_catalogue_stops_an_observation(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Knob("spark.sql.shuffle.partitions", "bool", "…")
    monkeypatch.setattr(catalogue, "CATALOGUE", (wrong,))
    with pytest.raises(KnobMistyped, match=r"PLN-219 .*is bool in the knob catalogue"):
        workspace.effective_settings([wrong.name])


# Names that are not in the catalogue for a reason


def test_settings_that_may_change_results_are_settings_of_this_spark(spark) -> None:
    KnobReader(spark)  # Delta's settings are known after it
    entries = Jvm(spark).scala_object("org.apache.spark.sql.internal.SQLConf").getConfigEntries()
    known = [entry.key() for entry in entries.toArray()]
    assert [r for r in RESULT_CHANGING if not any(k == r or (r.endswith(".") and k.startswith(r)) for k in known)] == []


def test_every_rule_that_may_be_left_out_is_one_that_spark_lets_go(spark) -> None:
    optimizer = spark._jsparkSession.sessionState().optimizer()
    rules = {rule.ruleName() for batch in each(optimizer.batches()) for rule in each(batch.rules())}
    kept = set(each(optimizer.nonExcludableRules()))
    assert set(EXCLUDABLE_RULES) <= rules - kept
