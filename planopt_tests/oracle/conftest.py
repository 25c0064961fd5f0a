"""The tables of the oracle, written once for all its tests."""

from __future__ import annotations

import pytest

from planopt_tests.oracle.lab import Lab, build


@pytest.fixture(scope="session")
def lab(spark, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return build(spark, tmp_path_factory.mktemp("oracle"))
