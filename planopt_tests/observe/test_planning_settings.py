"""Only settings that shape plans are recorded, and of those no value that could be a credential."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide.catalogue import CATALOGUE
from planopt_assets.model.table_facts import SCAN_SETTINGS
from planopt_assets.observe.tables.planning_settings import _PLAN_SHAPING, WITHHELD, is_plan_shaping, recordable

pytestmark = pytest.mark.fast

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIGNS = LETTERS + LETTERS.upper() + "0123456789!#$%&*+-./:;<=>?@_~ "
SECRETS = st.one_of(
    st.text(LETTERS, min_size=12, max_size=24),  # a word
    st.text(LETTERS.upper(), min_size=8, max_size=24),
    st.from_regex(r"[a-z]{4,10}[0-9]{1,4}[a-z!]?", fullmatch=True),  # hunter2
    st.from_regex(r"[A-Z][a-z]{3,10}[0-9!?]{1,3}", fullmatch=True),
    st.from_regex(r"[A-Za-z0-9+/]{38,44}={0,2}", fullmatch=True),  # base64
    st.from_regex(r"[0-9a-f]{31}[a-f]", fullmatch=True),
    st.from_regex(r"AKIA[0-9A-Z]{16}", fullmatch=True),
    st.from_regex(r"eyJ[A-Za-z0-9]{10}\.eyJ[A-Za-z0-9]{10}\.[A-Za-z0-9]{10}", fullmatch=True),
    st.from_regex(r"[a-z]{4,8}([._-][a-z]{4,8}){2,4}", fullmatch=True),  # correct-horse.battery
    st.from_regex(r"jdbc:[a-z]{4,8}://[a-z]{2,6}:[a-z0-9]{6,12}@db/x", fullmatch=True),
    st.uuids().map(str),
    st.text(SIGNS, min_size=8).filter(
        lambda text: any(c.isalpha() for c in text) and any(c in "!#$&*=?@~" for c in text)
    ),
)
NAMES = st.builds(
    lambda prefix, rest: prefix + rest if prefix.endswith(".") else prefix,
    st.sampled_from(_PLAN_SHAPING),
    st.from_regex(r"[a-z][A-Za-z.]{0,20}", fullmatch=True),
)


@settings(deadline=None, max_examples=500)
@given(NAMES, SECRETS)
def test_a_secret_as_the_value_of_any_setting_does_not_come_out(name: str, secret: str) -> None:
    recorded = recordable({name: secret, "spark.sql.adaptive.enabled": "true"})
    assert secret not in str(recorded)
    assert set(recorded) - {("spark.sql.adaptive.enabled", "true")} <= {(name, WITHHELD)}


@pytest.mark.parametrize("name", _PLAN_SHAPING)
def test_every_name_of_the_list_is_recorded_and_withholds_a_secret(name: str) -> None:
    full = f"{name}enabled" if name.endswith(".") else name
    assert recordable({full: "true"}) == ((full, "true"),)
    assert recordable({full: "hunter2"}) == ((full, WITHHELD),)


@pytest.mark.parametrize("name", [*SCAN_SETTINGS, *(knob.name for knob in CATALOGUE)])
def test_what_planopt_itself_looks_at_is_recorded(name: str) -> None:
    assert is_plan_shaping(name)


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.ansi.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.caseSensitive",
        "spark.sql.cbo.enabled",
        "spark.sql.codegen.wholeStage",
        "spark.sql.crossJoin.enabled",
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "spark.sql.join.preferSortMergeJoin",
        "spark.sql.optimizer.excludedRules",
        "spark.sql.session.timeZone",
        "spark.python.worker.reuse",
    ],
)
def test_settings_that_shape_plans(name: str) -> None:
    assert is_plan_shaping(name)


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_setting_that_is_not_on_the_list_is_not_recorded_at_all(name: str, value: str) -> None:
    if not name.startswith(_PLAN_SHAPING):
        assert recordable({name: value}) == ()


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.sql.catalog.spark_catalog",
        "spark.driver.extraJavaOptions",
        "spark.sql.warehouse.dir",
        "spark.sql.shufflepartitions",
        "my.spark.sql.adaptive.enabled",
        "spark.sql.execution.password",
        "spark.sql.legacy.apiKey",
    ],
)
def test_names_that_are_not_plan_shaping(name: str) -> None:
    assert not is_plan_shaping(name)
    assert recordable({name: "true"}) == ()


@pytest.mark.parametrize(
    "value",
    [
        "",
        "true",
        "FALSE",
        "-1",
        "200",
        "9223372036854775807",
        "0.2",
        "1.0E-4",
        "10485760b",
        "128m",
        "64MB",
        "1GiB",
        "300s",
        "100 ms",
        "5 minutes",
        "CORRECTED",
        "LAST_WIN",
        "INT96",
        "TIMESTAMP_NTZ",
        "snappy",
        "legacy",
        "DEBUG",
        "<undefined>",
        "<value of spark.buffer.size>",
        "org.apache.spark.sql.catalyst.optimizer.ColumnPruning",
        "org.apache.spark.sql.catalyst.optimizer.A,org.apache.spark.sql.catalyst.optimizer.B$",
        "UTC",
        "Z",
        "+01:00",
        "GMT+1",
        "Europe/Berlin",
        "America/Argentina/Buenos_Aires",
        "Etc/GMT+3",
    ],
)
def test_values_that_settings_have_are_recorded(value: str) -> None:
    assert recordable({"spark.sql.adaptive.x": value}) == (("spark.sql.adaptive.x", value),)


@pytest.mark.parametrize(
    "value",
    [
        "hunter2",
        "opensesame",
        "OPENSESAME",
        "abc.def",
        "true\n",
        "x true",
        "12345678901234567890",
        "１２",
        "<secret>",
        "UTCx",
    ],
)
def test_values_of_any_other_form_are_withheld(value: str) -> None:
    assert recordable({"spark.sql.adaptive.x": value}) == (("spark.sql.adaptive.x", WITHHELD),)


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.sampled_from(["true", "8", "hunter2"]), min_size=2), st.randoms(use_true_random=False))
def test_the_order_of_settings_does_not_show(given_: dict[str, str], chance: random.Random) -> None:
    items = list(given_.items())
    chance.shuffle(items)
    assert recordable(dict(items)) == recordable(given_)
