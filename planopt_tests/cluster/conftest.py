"""One cluster for all tests that leave it as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planopt_tests.little_cluster import LittleCluster, little_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[LittleCluster]:
    with little_cluster() as running:
        yield running
