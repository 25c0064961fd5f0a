"""The fields of `planopt.yaml` as pydantic models: the one place that says what the file may hold.

The models check each field by itself, resolve its path, and read its SQL file; rules about several fields are in
`consistency.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, StringConstraints
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from planopt_assets.model.alerts import DestinationKind, Security
from planopt_assets.model.automation import Weekday
from planopt_assets.model.workload import CaptureTier, Maintain, Mode, Objective, Scalar
from planopt_assets.workload.page import Loc

TABLE_SOURCES = ("path", "catalog")
QUERY_SOURCES = ("sql", "sql_file", "python")
URL_SOURCES = ("url", "url_env")
ALERT_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # the fields a destination must have, and may have
    "log": ((), ()),
    "file": (("path",), ()),
    "webhook": ((), URL_SOURCES),
    "slack": ((), URL_SOURCES),
    "smtp": (("host", "sender", "to"), ("port", "security", "user", "password_env")),
}
BLANK = r"\S"
EXPECTED: dict[str, str] = {}  # what a text must be, by the pattern that checks it


def _text(pattern: str, expected: str) -> StringConstraints:
    EXPECTED[pattern] = expected
    return StringConstraints(pattern=pattern)


def _only(is_right: Callable[[Any], bool], expected: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not is_right(value):
            raise PydanticCustomError("value", expected)
        return value

    return check


def _is_scalar(value: Any) -> bool:
    """One value that Spark, JSON and Delta can all hold; NaN and infinity are not, and neither is 2⁶³."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str) or (isinstance(value, int) and -(2**63) <= value < 2**63)


_NAME = "a name of lower-case letters, digits and `_` that starts with a letter, at most 63 long"
_IDENTIFIER = "an identifier of letters, digits and `_` that does not start with a digit"
_KNOB = "the name of a setting, which starts with `spark.` or `parquet.filter.`"
_CATALOG = "a table name of the catalog, with dots between its parts"
_SCALAR = "one value: text, a finite number of 64 bits, true, false or null"
_WORD = "[A-Za-z_][A-Za-z0-9_]*"
_PART = r"([A-Za-z0-9_]+|`[^`/\\]+`)"  # no slash inside backticks: delta.`/any/where` is a path, and paths are confined

Text = Annotated[str, _text(BLANK, "text that is not blank")]
Name = Annotated[str, _text(r"^[a-z][a-z0-9_]{0,62}$", _NAME)]
Identifier = Annotated[str, _text(rf"^{_WORD}$", _IDENTIFIER)]
SettingName = Annotated[str, _text(r"^spark\.\S+$", "the name of a Spark setting, which starts with `spark.`")]
KnobName = Annotated[str, _text(r"^(spark|parquet\.filter)\.\S+$", _KNOB)]
Master = Annotated[str, _text(r"^(local(-cluster)?(\[[^\]]+\])?|yarn|(spark|k8s)://\S+)$", "a Spark master")]
Target = Annotated[str, _text(rf"^{_WORD}(\.{_WORD})*:{_WORD}$", "a callable as `module:function`")]
CatalogName = Annotated[str, _text(rf"^{_PART}(\.{_PART}){{0,7}}$", _CATALOG)]
FeatureName = Annotated[str, _text(r"^[a-zA-Z][A-Za-z0-9-]*$", "the name of a Delta table feature")]
Permission = Literal["deny", "allow"]
Variable = Annotated[str, _text(r"^[A-Z_][A-Z0-9_]*$", "the name of an environment variable, in capital letters")]
Url = Annotated[str, _text(r"^https?://[^\s/]\S*$", "a URL that starts with `https://` or `http://`")]
Mail = Annotated[str, _text(r"^[^\s@<>,;]+@[^\s@<>,;]+$", "an e-mail address, without a display name")]
# What Dagster takes as an owner.
Owner = Annotated[
    str,
    _text(
        r"^([A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,7}|team:\S+)$", "an e-mail address, or a team as `team:name`"
    ),
]
PoolName = Annotated[str, _text(r"^[A-Za-z0-9_.-]+$", "a name of letters, digits, `_`, `-` and `.`")]
Host = Annotated[str, _text(r"^[A-Za-z0-9._:-]+$", "the name or address of a host")]
_is_zone = _only(lambda value: value in available_timezones(), "a time zone of the IANA database")
Zone = Annotated[str, AfterValidator(_is_zone)]
Hour = Annotated[int, Field(ge=0, le=23)]
Port = Annotated[int, Field(ge=1, le=65_535)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Factor = Annotated[float, Field(gt=1, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
# To `Literal`, 1 is also `true` and 1.0.
_is_version = BeforeValidator(_only(lambda value: type(value) is int, "a version number"), Literal[1])
Version = Annotated[Literal[1], _is_version]
ParameterValue = Annotated[Scalar, PlainValidator(_only(_is_scalar, _SCALAR), Scalar)]
_is_setting = _only(lambda value: value is not None and _is_scalar(value), "text, a finite number, true or false")
# Spark takes text only: true → "true".
_as_text = AfterValidator(lambda value: str(value).lower() if isinstance(value, bool) else str(value))
SettingValue = Annotated[str, PlainValidator(_is_setting, str | float | bool), _as_text]
# pydantic's schema has the pattern of the names, but not that there are no others.
NoOthers = Field(json_schema_extra={"additionalProperties": False})
Settings = Annotated[dict[SettingName, SettingValue], NoOthers]
Binding = Annotated[dict[Identifier, ParameterValue], NoOthers]
# The context of the validation is the file's `Bounds`.
Root = Annotated[Text, AfterValidator(lambda text, info: info.context.locate(text))]
Folder = Annotated[Text, AfterValidator(lambda text, info: info.context.resolve(text))]
SqlFile = Annotated[Text, AfterValidator(lambda text, info: info.context.read_sql(text))]


def _field(default: Any, description: str, example: Any = None, **more: Any) -> Any:
    return Field(default, description=description, examples=[default if example is None else example], **more)


def _optional(description: str, example: str) -> Any:
    # "" stands for "left out". The file may not give it, so it is no default in the schema.
    return _field("", description, example, json_schema_extra=lambda schema: schema.pop("default"))


class _Mapping(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TableFields(_Mapping):
    """A Delta table, by `path` or by `catalog` name."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in TABLE_SOURCES]})

    path: Folder = _optional(
        "Folder of the Delta table: relative to this file, absolute, or a URI under a declared root.", "data/orders"
    )
    catalog: CatalogName = _optional("Name of the table in Spark's catalog.", "main.sales.customers")
    maintain: Maintain = _field(
        "never",
        "Who may change its layout: nobody, a person with `planopt maintain --apply`, or planopt in mode `auto`.",
        "auto",
    )
    features: list[FeatureName] = _field(
        [],
        "Table features that planopt may add to it. Software without them can no longer use the table.",
        ["clustering"],
    )
    index: Permission = _field("deny", "Whether bloom filters may be written into its files.", "allow")
    owners: list[Owner] = _field([], "Owners of this table, in place of those of the file.", ["team:logistics"])


class QueryFields(_Mapping):
    """A recurring query: exactly one of `sql`, `sql_file` and `python` says what it is."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in QUERY_SOURCES]})

    id: Name = _field(..., "Name of the query, unique in the file.", "daily_revenue")
    sql: Text = _optional("The SQL text itself.", "SELECT count(*) FROM orders")
    sql_file: SqlFile = _optional(
        "File that holds the SQL text: UTF-8; a text of more than 1 MiB is refused.", "queries/by_segment.sql"
    )
    python: Target = _optional(
        "Callable that returns a DataFrame, as `module:function`; needs `allow_python: true`.", "queries.cohort:build"
    )
    parameters: list[Binding] = _field(
        [{}],
        "Bindings of the named parameters, each with the same names; without it the query has none.",
        [{"segment": "BUILDING", "since": "1995-01-01"}],
        min_length=1,
    )
    runs_per_day: Positive = _field(1.0, "How often the query runs in a day; weighs what a gain is worth.", 24)
    debug_sample: Share | None = _field(None, "The same as `debug_sample` of the file, for this query alone.", 1.0)
    any_values: bool = _field(
        False,
        "Whether `tuned` also applies the policy to parameter values that are not among `parameters`.",
    )
    max_loss: Share = _field(0.1, "How much worse it may get, as a share, for a layout that helps other queries.", 0.05)
    owners: list[Owner] = _field([], "Owners of this query, in place of those of the file.", ["ada@example.com"])


class SparkFields(_Mapping):
    """The Spark session that planopt starts."""

    master: Master = _field("local[*]", "Spark master to run on.", "local[4]")
    pool: PoolName = _optional("Pool of Spark's fair scheduler that trials run in (`spark.scheduler.pool`).", "planopt")
    queue: PoolName = _optional("Queue of YARN that the session asks for its executors (`spark.yarn.queue`).", "low")
    settings: Settings = _field(
        {}, "Settings of the session, the same for every query and every trial.", {"spark.sql.session.timeZone": "UTC"}
    )


class BudgetFields(_Mapping):
    """Upper bounds of trial time, in seconds."""

    per_candidate: Positive = _field(120.0, "Seconds for one candidate.", 120)
    per_query: Positive = _field(
        300.0, "Seconds per experiment: all candidates of a query; it may have several in a run.", 300
    )
    per_run: Positive = _field(1800.0, "Seconds for one run of the whole loop, layouts and policies together.", 1800)
    per_night: Positive = _field(14400.0, "Seconds for the nightly sweep, in place of `per_run`.", 14400)
    explore: Share = _field(
        0.1, "Share of these seconds for trying what no rule foresees but helped similar queries; 0: never.", 0.2
    )
    executor_seconds_per_query: Positive | None = _field(
        None, "The same per experiment, in seconds times executors that are held, beside the clock.", 6000
    )
    executor_seconds_per_run: Positive | None = _field(None, "The same for one run, also for the nightly sweep.", 36000)


class MaintenanceFields(_Mapping):
    """Limits of trying and changing the layout of tables."""

    trial_bytes: Positive = _field(20e9, "A larger table is tried on some of its files: its verdict is weaker.", 20e9)
    pay_back_days: Positive = _field(30.0, "A rewrite must have paid for itself after so many days.", 30)


class KnobFields(_Mapping):
    """What automation may touch."""

    allow: list[KnobName] = _field(
        [],
        "The only settings that may be changed; empty: all of the catalogue that needs no opt-in.",
        ["spark.sql.shuffle.partitions"],
    )
    deny: list[KnobName] = _field([], "Settings that are never changed.", ["spark.sql.autoBroadcastJoinThreshold"])
    pin: Settings = _field({}, "Settings with a fixed value, in every trial.", {"spark.sql.adaptive.enabled": True})


class AutomationFields(_Mapping):
    """When sensors and schedules act. They are off until somebody switches them on in Dagster."""

    settle: NotNegative = _field(60.0, "Seconds without a commit after which a changed table starts a run.", 120)
    interval: Positive = _field(
        900.0, "Least seconds between two runs for one table; also the longest wait while it keeps changing.", 3600
    )
    time_zone: Zone = _field("UTC", "Time zone of the hours below.", "Europe/Berlin")
    nightly_hour: Hour = _field(2, "Hour at which the nightly sweep starts.")
    weekly_day: Weekday = _field("sunday", "Day of the weekly upkeep of the store.")
    weekly_hour: Hour = _field(1, "Hour of the weekly upkeep.")
    every: Annotated[int, Field(ge=1, le=3600)] = _field(30, "Seconds between two looks of a sensor.")


class TrialWindowFields(_Mapping):
    """Hours of the day in which trials run, in `automation.time_zone`."""

    start: Hour = _field(..., "Hour from which trials run.", 22)
    end: Hour = _field(..., "Hour before which they end, on the next day where it is not later than `start`.", 6)


def _schema_of_kind(kind: str) -> dict[str, Any]:
    needed, others = ALERT_KINDS[kind]
    foreign = {name for fields in ALERT_KINDS.values() for part in fields for name in part} - {*needed, *others}
    schema: dict[str, Any] = {
        "properties": {"kind": {"const": kind}, **{name: {"not": {}} for name in sorted(foreign)}},
        "required": list(needed),
        "dependentRequired": {"user": ["password_env"]},
    }
    return schema | ({"oneOf": [{"required": [name]} for name in URL_SOURCES]} if others == URL_SOURCES else {})


class AlertFields(_Mapping):
    """A destination of alerts. Which other fields it has depends on its `kind`."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [_schema_of_kind(kind) for kind in ALERT_KINDS]})

    kind: DestinationKind = _field(..., "What it is; `slack` is any webhook that takes Slack's format.", "webhook")
    name: Name = _optional("Name in messages about it, unique in the file; without it the `kind`.", "on_call")
    path: Folder = _optional("`file`: one JSON object is appended for each message.", ".planopt/alerts.jsonl")
    url: Url = _optional("`webhook`, `slack`: the URL, if it is no secret.", "http://127.0.0.1:8080/planopt")
    url_env: Variable = _optional("`webhook`, `slack`: the environment variable that holds the URL.", "ALERTS_URL")
    host: Host = _optional("`smtp`: the mail server.", "smtp.example.com")
    port: Port | None = _field(None, "`smtp`: 587 with `starttls`, 465 with `tls`, 25 with `none`.", 587)
    security: Security = _field("starttls", "`smtp`: how the connection is protected.")
    sender: Mail = _optional("`smtp`: the address that messages come from.", "planopt@example.com")
    to: list[Mail] = _field([], "`smtp`: the addresses that messages go to.", ["data-team@example.com"])
    user: Text = _optional("`smtp`: the user name, if the server wants one.", "planopt")
    password_env: Variable = _optional("`smtp`: the environment variable that holds the password.", "SMTP_PASSWORD")


_is_table = _only(lambda value: isinstance(value, str | dict), "a path, or a mapping with `path` or `catalog`")
_as_mapping = BeforeValidator(lambda value: {"path": value} if isinstance(value, str) else value, Text | TableFields)
TableEntry = Annotated[TableFields, _as_mapping, BeforeValidator(_is_table)]


class WorkloadFile(_Mapping):
    """What a team declares to planopt: its tables, its recurring queries, and how far planopt may go."""

    version: Version = _field(..., "Version of this file format.", 1)
    name: Name = _field(..., "Name of the workload.", "tpch_demo")
    # The default is checked too: `.planopt` may be a link that leads away.
    store: Folder = _field(".planopt/store", "Folder of planopt's own tables.", validate_default=True)
    roots: list[Root] = _field(
        [],
        "Folders or URIs outside this file's folder that paths may point into.",
        ["../shared_tables", "s3://bucket/warehouse"],
    )
    spark: SparkFields = _field(SparkFields(), "The Spark session.", {"master": "local[4]"})
    tables: Annotated[dict[Identifier, TableEntry], NoOthers] = _field(
        ..., "The tables by the name the queries use; a bare text is the path.", {"orders": "data/orders"}, min_length=1
    )
    queries: list[QueryFields] = _field(
        ..., "The recurring queries.", [{"id": "orders_today", "sql": "SELECT count(*) FROM orders"}], min_length=1
    )
    objective: Objective = _field("cpu", "What a better plan has less of.")
    mode: Mode = _field("advise", "How far planopt goes: only look, leave promotion to a person, or promote by itself.")
    budgets: BudgetFields = _field(BudgetFields(), "Upper bounds of trial time.", {"per_run": 1800})
    knobs: KnobFields = _field(
        KnobFields(),
        "What automation may change, and what it may not.",
        {"deny": ["spark.sql.autoBroadcastJoinThreshold"]},
    )
    maintenance: MaintenanceFields = _field(
        MaintenanceFields(), "Limits of trying and changing layouts.", {"pay_back_days": 30}
    )
    capture: CaptureTier = _field(
        "always_on", "How much is kept of each observation; `debug` adds EXPLAIN texts and a second plan reader."
    )
    debug_sample: Share = _field(0.1, "Share of observations captured as `debug` although `capture` is `always_on`.")
    control_share: Share = _field(
        0.05,
        "Share of your own jobs' runs that `tuned` runs as original, for comparison; at most one an hour.",
        0.1,
    )
    allow_python: bool = _field(False, "Whether queries may be Python callables or use Python UDFs.")
    seed: int = _field(20_240_101, "Seed of the order in which trials run.", 7, ge=0, le=2**63 - 1)
    similar_within: Factor = _field(
        2.0,
        "How many times larger or smaller than in the trials a table may be; beyond it, a policy that depends on its "
        "size is suspended until it was tried again. Below 4 MiB a table counts as 4 MiB.",
        3,
    )
    automation: AutomationFields = _field(
        AutomationFields(), "When sensors and schedules act.", {"nightly_hour": 3, "time_zone": "Europe/Berlin"}
    )
    trial_window: TrialWindowFields | None = _field(
        None, "Hours in which trials run; without it, at any hour.", {"start": 22, "end": 6}
    )
    alerts: list[AlertFields] = _field(
        [], "Where messages about regressions go.", [{"kind": "slack", "url_env": "ALERTS_URL"}]
    )
    owners: list[Owner] = _field([], "Who owns the workload; Dagster's pages show it.", ["team:data"])
    docs_url: Url = _optional(
        "Where you serve planopt's `docs/`: Dagster's pages link there.", "https://docs.example.com"
    )


SECTIONS: dict[Loc, type[_Mapping]] = {
    (): WorkloadFile,
    ("spark",): SparkFields,
    ("tables", "*"): TableFields,
    ("queries", "[]"): QueryFields,
    ("budgets",): BudgetFields,
    ("knobs",): KnobFields,
    ("maintenance",): MaintenanceFields,
    ("automation",): AutomationFields,
    ("trial_window",): TrialWindowFields,
    ("alerts", "[]"): AlertFields,
}


def fields_at(loc: Loc) -> dict[str, FieldInfo]:
    """The fields that the mapping at this place may have; none, where names are free or there is no mapping."""
    sections = (model for at, model in SECTIONS.items() if at[:1] == loc[:1] and len(at) == len(loc))
    return next((model.model_fields for model in sections), {})
