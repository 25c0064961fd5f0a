"""Live: the plan tree and the formatted text of every shape say the same, before and after it ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from planopt_assets.engine.sessions.session import FIRST_EXPRESSION_ID
from planopt_assets.observe.explain.text import parse_formatted
from planopt_assets.observe.plans.agreement import disagreements
from planopt_assets.observe.plans.normalise import normalise
from planopt_tests.observe.explain_shapes import SHAPES, Shape, make_shape_tables, register
from planopt_tests.observe.record_explains import both_forms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Lab = tuple["SparkSession", dict[str, str]]


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A session of its own over the tables of the shapes; its settings, views and caches leave with it."""
    session = spark.newSession()
    tables = make_shape_tables(tmp_path_factory.mktemp("shapes"))
    register(session, tables)
    yield session, tables
    session.catalog.clearCache()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_both_extractors_agree(lab: Lab, shape: Shape) -> None:
    session, tables = lab
    for phase, text, tree in both_forms(session, shape):
        first = normalise(tree, phase=phase, tables=tables, first_id=FIRST_EXPRESSION_ID)
        second = parse_formatted(text, phase=phase, tables=tables, first_id=FIRST_EXPRESSION_ID)
        assert disagreements(first, second) == (), phase
