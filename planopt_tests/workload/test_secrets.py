"""What a workload keeps secret is learned when it is loaded, or the workload is refused; it is never shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.errors import WorkloadError, WrongValue
from planopt_assets.model import redaction
from planopt_assets.model.redaction import HIDDEN, redact
from planopt_assets.model.workload import Knobs, Query, Table, Workload
from planopt_assets.workload.secrets import learn_secrets
from planopt_tests.workload.conftest import RIGHT

pytestmark = pytest.mark.fast


@pytest.fixture(autouse=True)
def nothing_known(secrets_of_one_test: None) -> None:
    redaction._known.clear()


def workload(sql: str = "SELECT 1", bindings: Any = ((),), **others: Any) -> Workload:
    tables = (Table("orders", "/data/orders"),)
    return Workload(
        "demo", Path("planopt.yaml"), "store", tables, (Query("first", sql=sql, bindings=bindings),), **others
    )


WITH_SECRET = {  # the secret is k-93fa
    "a setting": workload(spark_settings=(("spark.hadoop.fs.s3a.secret.key", "k-93fa"),)),
    "a pinned knob": workload(knobs=Knobs(pin=(("spark.acme.token", "k-93fa"),))),
    "a parameter of the first binding": workload(bindings=((("password", "k-93fa"),), (("password", "other"),))),
    "a parameter of the second binding": workload(bindings=((("password", "other"),), (("password", "k-93fa"),))),
    "a marked literal": workload("SELECT * FROM orders WHERE k = /* secret */ 'k-93fa'"),
    "a marked pattern": workload("SELECT * FROM orders WHERE k LIKE /* secret */ '%k-93fa%'"),
    "a URL in a setting": workload(spark_settings=(("spark.acme.url", "jdbc:mysql://me:k-93fa@db/x"),)),
    "a URL in a parameter": workload(bindings=((("url", "jdbc:x://db?password=k-93fa"),),)),
    "a URL in a query": workload("SELECT * FROM orders WHERE u = 'jdbc:x://db?password=k-93fa'"),
}


@pytest.mark.parametrize("loaded", WITH_SECRET.values(), ids=WITH_SECRET)
def test_what_is_secret_is_hidden_from_then_on(loaded: Workload) -> None:
    assert redact("Contains(k, k-93fa)") == "Contains(k, k-93fa)"
    learn_secrets(loaded)
    assert redact("Contains(k, k-93fa)") == f"Contains(k, {HIDDEN})"


def test_a_number_is_a_secret_too() -> None:
    learn_secrets(workload("SELECT * FROM orders WHERE n = /* secret */ 77001", ((("pwd", 881234),),)))
    assert redact("n = 77001 or 881234") == f"n = {HIDDEN} or {HIDDEN}"


def test_nothing_else_is_learned() -> None:
    learn_secrets(
        workload(
            "SELECT * FROM orders WHERE k = 'k-93fa' AND token = 'token-value' AND n = :token_count",
            ((("token_count", 12345), ("since", "1995-01-01"), ("has_token", True), ("no_token", None)),),
            spark_settings=(
                ("spark.sql.shuffle.partitions", "20000"),
                ("spark.security.credentials.hive.enabled", "false"),
                ("spark.acme.token", ""),
                ("spark.acme.has_token", "true"),
                ("spark.acme.needs_token", "False"),
                ("spark.acme.url", "jdbc:x://db?user=somebody"),
            ),
        )
    )
    assert redaction._known == set()


def test_a_query_in_python_has_no_text_to_look_into() -> None:
    frame = Query("frame", python="module:frame", bindings=((("password", "k-93fa"),),))
    learn_secrets(Workload("demo", Path("planopt.yaml"), "store", (), (frame,)))
    assert redact("k-93fa") == HIDDEN


REFUSED = {
    "a short literal": workload("SELECT /* secret */ 'abc'"),
    "a mark before no literal": workload("SELECT /* secret */ password FROM orders"),
    "a mark before a parameter": workload("SELECT /* secret */ :k"),
    "a marked word that is everywhere": workload("SELECT /* secret */ 'true'"),
    "a short setting": workload(spark_settings=(("spark.acme.password", "abc"),)),
    "a short parameter": workload(bindings=((("token", 12),),)),
    "the name of the workload": workload("SELECT /* secret */ 'demo'"),
    "part of the name of a query": workload("SELECT /* secret */ 'firs'"),
    "part of the name of a table": workload("SELECT /* secret */ 'rders'"),
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED)
def test_a_secret_that_could_not_be_hidden_is_refused(refused: Workload) -> None:
    with pytest.raises(WrongValue) as found:
        learn_secrets(refused)
    assert found.value.fix.startswith("use ")
    assert redaction._known == set()


def test_the_refusal_says_where_the_secret_is_but_not_what_it_is() -> None:
    with pytest.raises(WrongValue) as setting:
        learn_secrets(workload(spark_settings=(("spark.acme.password", "x7z"),)))
    with pytest.raises(WrongValue) as name:
        learn_secrets(workload("SELECT /* secret */ 'firs'"))
    assert str(setting.value) == (
        "PLN-008 planopt.yaml: the value of spark.acme.password, which is named like a secret, is no literal of at "
        "least 4 characters: it could not be told from other text. "
        "Fix: use a longer secret, or take the mark or the name away"
    )
    assert str(name.value) == (
        "PLN-008 planopt.yaml: what query first marks as secret is part of the name of the workload, a query or a "
        "table: it could not be hidden there. Fix: use another secret, or another name"
    )


Mistakes = Callable[[str], tuple[WorkloadError, ...]]


def test_loading_a_workload_learns_its_secrets(mistakes_in: Mistakes) -> None:
    assert mistakes_in(RIGHT.replace("SELECT 1", "SELECT /* secret */ 'k-93fa'")) == ()
    assert redact("k-93fa") == HIDDEN


WRONG_FILES = {
    "a list": "[k-93fa]",
    "a mapping": "{a: k-93fa}",
    "broken YAML": "k-93fa: 1",
    "an open quote": '"k-93fa',
}


@pytest.mark.parametrize("value", WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_mistake_in_the_value_of_a_secret_does_not_show_it(mistakes_in: Mistakes, value: str) -> None:
    # Nothing is learned from a file that cannot be loaded, so its mistakes must not quote it.
    found = mistakes_in(RIGHT + f"spark:\n  settings:\n    spark.acme.password: {value}\n")
    assert found
    assert not any("k-93fa" in f"{mistake} {mistake.facts()}" for mistake in found)
