"""Which Spark and Delta planopt works with, and what it says of others; no Spark."""

from __future__ import annotations

import re
import tomllib

import pytest

from planopt_assets.engine.sessions import session, supported
from planopt_assets.engine.sessions.supported import REFUSED, SUPPORTED, check_supported, minor
from planopt_assets.errors import SparkFailed, SparkUnsupported
from planopt_assets.model.workload import Query
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast


def test_the_pins_are_supported_and_exact() -> None:
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    default = SUPPORTED["4.2"]
    assert {f"pyspark=={default.spark}", f"delta-spark=={default.delta}"} <= set(pins)
    check_supported()


@pytest.mark.parametrize("release", SUPPORTED.values(), ids=SUPPORTED)
def test_a_pair_that_was_tried_is_taken_and_a_patch_release_too(release: supported.Release) -> None:
    check_supported(release.spark, release.delta)
    check_supported(f"{minor(release.spark)}.99", release.delta)


@pytest.mark.parametrize("name", REFUSED)
def test_a_spark_that_does_not_work_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(SparkUnsupported) as error:
        check_supported(f"{name}.0", "4.4.0")
    assert error.value.code == "PLN-224"
    assert REFUSED[name] in error.value.what
    assert isinstance(error.value, SparkFailed)  # a run does not try it again with the next query


def test_another_delta_is_refused_with_the_one_to_install() -> None:
    with pytest.raises(SparkUnsupported, match=r"Delta 4\.0\.1 is not supported with Spark 4\.2\.0") as error:
        check_supported("4.2.0", "4.0.1")
    assert "pyspark==4.2.0 with delta-spark==4.4.0" in error.value.fix


def test_a_spark_that_nobody_tried_is_refused_before_java_is_looked_for(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(supported, "version", {"pyspark": "3.5.1", "delta-spark": "3.2.0"}.__getitem__)
    monkeypatch.setattr(session, "check_java", lambda: pytest.fail("it went on"))
    workload = workload_of(make_tables(tmp_path), [Query("q", sql="SELECT 1")])
    with pytest.raises(SparkUnsupported, match=r"PLN-224 .*Spark 3\.5\.1 is not supported: planopt was not tried"):
        session.open_session(workload)


@pytest.mark.parametrize("name", [*SUPPORTED, *REFUSED])
def test_the_page_on_clusters_lists_it(name: str) -> None:
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    told = SUPPORTED.get(name)
    words = rf"\| {told.spark} \| {told.delta} \|" if told else rf"\| {name} \| \S+ \| refused \(PLN-224\)"
    assert re.search(words, page)
