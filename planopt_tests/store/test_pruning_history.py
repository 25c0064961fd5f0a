"""Thresholds learned from scans in the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_assets.store.pruning_history import HIGHEST, learned_thresholds

pytestmark = pytest.mark.spark

SCHEMA = (
    "workload STRING, query_id STRING, binding BIGINT, scan BIGINT, table STRING, table_version BIGINT, "
    "table_class STRING, outcome STRING, families ARRAY<STRING>, pruned_share DOUBLE"
)


def row(share: float | None, query: str, **changes: Any) -> tuple[Any, ...]:
    values = {
        "workload": "w",
        "query_id": query,
        "binding": 0,
        "scan": 0,
        "table": "orders",
        "table_version": 1,
        "table_class": "small plain",
        "outcome": "full_pushdown",
        "families": ["range"],
        "pruned_share": share,
    }
    return tuple({**values, **changes}.values())


def test_the_quartile_of_pushed_scans_is_learned_where_there_are_enough(spark: SparkSession, tmp_path: Path) -> None:
    shares = [0.4, 0.5, 0.6, 0.7, 0.8]
    pushed = [row(share, f"q{i}") for i, share in enumerate(shares)]
    others = [
        *(row(0.0, f"m{i}", outcome="pushdown_missed") for i in range(9)),  # teaches nothing about pushing
        *(row(None, f"n{i}") for i in range(9)),  # never ran
        *(row(0.4, "q0") for _ in range(9)),  # the same query on the same version, again and again
        *(row(0.9, f"l{i}", table_class="large plain") for i in range(4)),  # one too few
        *(row(1.0, f"e{i}", families=["equality", "prefix"]) for i in range(5)),
    ]
    frame = spark.createDataFrame([*pushed, *others], SCHEMA)
    frame.write.format("delta").save(str(tmp_path / "scan_outcomes"))
    learned = learned_thresholds(spark, str(tmp_path), at_least=5)
    assert learned == {
        ("small plain", "equality"): HIGHEST,
        ("small plain", "prefix"): HIGHEST,
        ("small plain", "range"): pytest.approx(0.5),
    }
    thresholds = Thresholds(learned)
    assert thresholds.little("small plain", "range") == pytest.approx(0.5)
    assert thresholds.little("large plain", "range") == Thresholds().little("large plain", "range")


def test_an_empty_store_teaches_nothing(spark: SparkSession, tmp_path: Path) -> None:
    assert learned_thresholds(spark, str(tmp_path)) == {}
