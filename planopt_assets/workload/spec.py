"""The fields of `planopt.yaml` as pydantic models: the one place that says what the file may hold.

The models judge each field by itself; what fields must be to each other is in `consistency.py`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, StringConstraints
from pydantic_core import PydanticCustomError

from planopt_assets.model.workload import CaptureTier, Mode, Objective, Scalar

_BLANK = r"\S"
_NAME = r"^[a-z][a-z0-9_]{0,62}$"
_IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]*$"
_SETTING = r"^spark\.\S+$"
_KNOB = r"^(spark|parquet\.filter)\.\S+$"
_MASTER = r"^(local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://\S+)$"
_CALLABLE = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$"
# No slash inside backticks: delta.`/any/where` is a path, and paths are confined.
_CATALOG = r"^([A-Za-z0-9_]+|`[^`/\\]+`)(\.([A-Za-z0-9_]+|`[^`/\\]+`)){0,7}$"

EXPECTED = {
    _BLANK: "text that is not blank",
    _NAME: "a name of lower-case letters, digits and `_` that starts with a letter, at most 63 long",
    _IDENTIFIER: "an identifier of letters, digits and `_` that does not start with a digit",
    _SETTING: "the name of a Spark setting, which starts with `spark.`",
    _KNOB: "the name of a setting, which starts with `spark.` or `parquet.filter.`",
    _MASTER: "a Spark master",
    _CALLABLE: "a callable as `module:function`",
    _CATALOG: "a table name of the catalog, with dots between its parts",
}


def _given(value: Any) -> Any:
    # The field may be left out, but `sql:` with nothing behind it is a mistake.
    if value is None:
        raise PydanticCustomError("blank", "text that is not blank")
    return value


def _whole_number(value: Any) -> Any:
    # To Python, and so to `Literal`, 1 is also `true` and 1.0.
    if type(value) is not int:
        raise PydanticCustomError("version", "a version number")
    return value


def _path_or_mapping(value: Any) -> Any:
    if isinstance(value, str):
        return {"path": value}
    if not isinstance(value, dict):
        raise PydanticCustomError("table", "a path, or a mapping with `path` or `catalog`")
    return value


def _setting_text(value: Any) -> str:
    """Spark takes text only: true → "true", 200 → "200"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) or _is_storable(value):
        return str(value)
    raise PydanticCustomError("setting", "text, a finite number, true or false")


def _scalar(value: Any) -> Scalar:
    if value is None or isinstance(value, str | bool) or _is_storable(value):
        return value  # type: ignore[no-any-return]  # `_is_storable` leaves only int and float
    raise PydanticCustomError("scalar", "one value: text, a finite number of 64 bits, true, false or null")


def _is_storable(value: Any) -> bool:
    """A number that Spark, JSON and Delta can all hold; NaN and infinity are not, and neither is 2⁶³."""
    return -(2**63) <= value < 2**63 if isinstance(value, int) else isinstance(value, float) and math.isfinite(value)


def _no_default(schema: dict[str, Any]) -> None:
    del schema["default"]  # None stands for "left out" and is no value that the file may give


Text = Annotated[str, StringConstraints(pattern=_BLANK)]
Name = Annotated[str, StringConstraints(pattern=_NAME)]
Identifier = Annotated[str, StringConstraints(pattern=_IDENTIFIER)]
SettingName = Annotated[str, StringConstraints(pattern=_SETTING)]
KnobName = Annotated[str, StringConstraints(pattern=_KNOB)]
Master = Annotated[str, StringConstraints(pattern=_MASTER)]
Callable = Annotated[str, StringConstraints(pattern=_CALLABLE)]
CatalogName = Annotated[str, StringConstraints(pattern=_CATALOG)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
SettingValue = Annotated[str, PlainValidator(_setting_text, json_schema_input_type=str | float | bool)]
ParameterValue = Annotated[Scalar, PlainValidator(_scalar, json_schema_input_type=Scalar)]


class _Mapping(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TableFields(_Mapping):
    """A Delta table, by `path` or by `catalog` name."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["path"]}, {"required": ["catalog"]}]})

    path: Annotated[Text | None, BeforeValidator(_given, json_schema_input_type=Text)] = Field(
        default=None,
        description="Folder of the Delta table: relative to this file, absolute, or a URI under a declared root.",
        examples=["data/orders"],
        json_schema_extra=_no_default,
    )
    catalog: Annotated[CatalogName | None, BeforeValidator(_given, json_schema_input_type=CatalogName)] = Field(
        default=None,
        description="Name of the table in Spark's catalog.",
        examples=["main.sales.customers"],
        json_schema_extra=_no_default,
    )


class QueryFields(_Mapping):
    """A recurring query: exactly one of `sql`, `sql_file` and `python` says what it is."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["sql"]}, {"required": ["sql_file"]}, {"required": ["python"]}]}
    )

    id: Name = Field(description="Name of the query, unique in the file.", examples=["daily_revenue"])
    sql: Annotated[Text | None, BeforeValidator(_given, json_schema_input_type=Text)] = Field(
        default=None,
        description="The SQL text itself.",
        examples=["SELECT count(*) FROM orders"],
        json_schema_extra=_no_default,
    )
    sql_file: Annotated[Text | None, BeforeValidator(_given, json_schema_input_type=Text)] = Field(
        default=None,
        description="File that holds the SQL text: UTF-8, at most 1 MiB.",
        examples=["queries/by_segment.sql"],
        json_schema_extra=_no_default,
    )
    python: Annotated[Callable | None, BeforeValidator(_given, json_schema_input_type=Callable)] = Field(
        default=None,
        description="Callable that returns a DataFrame, as `module:function`; needs `allow_python: true`.",
        examples=["queries.cohort:build"],
        json_schema_extra=_no_default,
    )
    parameters: list[dict[Identifier, ParameterValue]] = Field(
        default=[{}],
        min_length=1,
        description="Bindings of the named parameters, each with the same names; without it the query has none.",
        examples=[[{"segment": "BUILDING", "since": "1995-01-01"}]],
    )
    runs_per_day: Positive = Field(
        default=1.0, description="How often the query runs in a day; weighs what a gain is worth.", examples=[24]
    )
    debug_sample: Share | None = Field(
        default=None, description="The same as `debug_sample` of the file, for this query alone.", examples=[1.0]
    )


class SparkFields(_Mapping):
    """The Spark session that planopt starts."""

    master: Master = Field(default="local[*]", description="Spark master to run on.", examples=["local[4]"])
    settings: dict[SettingName, SettingValue] = Field(
        default={},
        description="Settings of the session, the same for every query and every trial.",
        examples=[{"spark.sql.session.timeZone": "UTC"}],
    )


class BudgetFields(_Mapping):
    """Upper bounds of trial time, in seconds."""

    per_candidate: Positive = Field(default=120.0, description="Seconds for one candidate.", examples=[120])
    per_query: Positive = Field(default=300.0, description="Seconds for one query, all candidates.", examples=[300])
    per_run: Positive = Field(default=1800.0, description="Seconds for one run of the whole loop.", examples=[1800])


class KnobFields(_Mapping):
    """What automation may touch."""

    allow: list[KnobName] = Field(
        default=[],
        description="The only settings that may be changed; empty: all of the catalogue that needs no opt-in.",
        examples=[["spark.sql.shuffle.partitions"]],
    )
    deny: list[KnobName] = Field(
        default=[],
        description="Settings that are never changed.",
        examples=[["spark.sql.autoBroadcastJoinThreshold"]],
    )
    pin: dict[SettingName, SettingValue] = Field(
        default={},
        description="Settings with a fixed value, in every trial.",
        examples=[{"spark.sql.adaptive.enabled": True}],
    )


TableEntry = Annotated[TableFields, BeforeValidator(_path_or_mapping, json_schema_input_type=Text | TableFields)]


class WorkloadFile(_Mapping):
    """What a team declares to planopt: its tables, its recurring queries, and how far planopt may go."""

    version: Annotated[Literal[1], BeforeValidator(_whole_number, json_schema_input_type=Literal[1])] = Field(
        description="Version of this file format.", examples=[1]
    )
    name: Name = Field(description="Name of the workload.", examples=["tpch_demo"])
    store: Text = Field(
        default=".planopt/store", description="Folder of planopt's own tables.", examples=[".planopt/store"]
    )
    roots: list[Text] = Field(
        default=[],
        description="Folders or URIs outside this file's folder that paths may point into.",
        examples=[["../shared_tables", "s3://bucket/warehouse"]],
    )
    spark: SparkFields = Field(
        default=SparkFields(), description="The Spark session.", examples=[{"master": "local[4]"}]
    )
    tables: dict[Identifier, TableEntry] = Field(
        min_length=1,
        description="The tables by the name the queries use; a bare text is the path.",
        examples=[{"orders": "data/orders"}],
    )
    queries: list[QueryFields] = Field(
        min_length=1,
        description="The recurring queries.",
        examples=[[{"id": "orders_today", "sql": "SELECT count(*) FROM orders"}]],
    )
    objective: Objective = Field(default="cpu", description="What a better plan has less of.", examples=["cpu"])
    mode: Mode = Field(
        default="advise",
        description="How far planopt goes: only look, leave promotion to a person, or promote by itself.",
        examples=["advise"],
    )
    budgets: BudgetFields = Field(
        default=BudgetFields(), description="Upper bounds of trial time.", examples=[{"per_run": 1800}]
    )
    knobs: KnobFields = Field(
        default=KnobFields(),
        description="What automation may change, and what it may not.",
        examples=[{"deny": ["spark.sql.autoBroadcastJoinThreshold"]}],
    )
    capture: CaptureTier = Field(
        default="always_on",
        description="How much is kept of each observation; `debug` adds EXPLAIN texts and a second plan reader.",
        examples=["always_on"],
    )
    debug_sample: Share = Field(
        default=0.1,
        description="Share of observations captured as `debug` although `capture` is `always_on`.",
        examples=[0.1],
    )
    allow_python: bool = Field(
        default=False, description="Whether queries may be Python callables or use Python UDFs.", examples=[False]
    )
    seed: int = Field(
        default=20_240_101, ge=0, le=2**63 - 1, description="Seed of the order in which trials run.", examples=[7]
    )
