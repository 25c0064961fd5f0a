"""A layout that was tried, made once for all tests that copy it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from planopt_tests.e2e.tried_layouts import make_observed, make_tried


@pytest.fixture(scope="session")
def observed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_observed(tmp_path_factory.mktemp("layouts"))


@pytest.fixture(scope="session")
def tried_layout(observed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tried(observed, tmp_path_factory.mktemp("tried"))
