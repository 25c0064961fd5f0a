"""What only a cluster has: other versions, no executors, and Python beside the executors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planopt_assets.engine.sessions.same_versions import first_difference, own_versions
from planopt_tests.cluster.probe import BURNED_S, answer_of
from planopt_tests.little_cluster import LittleCluster, little_cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[LittleCluster]:
    with little_cluster() as running:
        yield running


# Another Python on the executors, as far as they can tell.
OTHER_PYTHON = """
import sys
sys.version_info = (3, 99, 0, "final", 0)
"""


@pytest.mark.soak
def test_another_python_on_the_executors_is_one_error_before_anything_runs(
    cluster: LittleCluster, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(OTHER_PYTHON)
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec {sys.executable} "$@"\n')
    fake.chmod(0o755)
    answer = answer_of("opened", tmp_path, cluster.master, PYSPARK_PYTHON=str(fake))
    assert answer["code"] == "PLN-221"
    assert "3.99" in answer["words"]


@pytest.mark.soak
def test_no_python_on_the_executors_is_the_same_error(cluster: LittleCluster, tmp_path: Path) -> None:
    answer = answer_of("opened", tmp_path, cluster.master, PYSPARK_PYTHON="/nonexistent/python")
    assert answer["code"] == "PLN-221"
    assert "/nonexistent/python" in answer["words"]


@pytest.mark.soak
def test_the_same_versions_open_a_session_with_all_cores(cluster: LittleCluster, tmp_path: Path) -> None:
    assert answer_of("opened", tmp_path, cluster.master) == {"code": None, "cores": 2}


@pytest.mark.soak
def test_a_cluster_without_free_memory_is_an_error_and_not_a_wait_for_ever(tmp_path: Path) -> None:
    with little_cluster(workers=1, memory="512m") as small:  # an executor asks for 1 GiB
        answer = answer_of("opened", tmp_path, small.master)
    assert answer["code"] == "PLN-222"


@pytest.mark.soak
def test_no_master_is_an_error_that_names_it(tmp_path: Path) -> None:
    answer = answer_of("opened", tmp_path, "spark://127.0.0.1:9")
    assert answer["code"] == "PLN-205"


@pytest.mark.soak
def test_python_beside_the_executors_is_in_the_cpu_of_a_query(cluster: LittleCluster, tmp_path: Path) -> None:
    answer = answer_of("python_cpu", tmp_path, cluster.master)
    assert answer["cpu_ns"] is not None
    assert answer["cpu_ns"] - answer["executor_cpu_ns"] >= 2 * BURNED_S * 1e9  # two tasks at least


# Without a cluster


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "there", "words"),
    [
        ("spark", "4.1.0", "the driver has Spark 4.2.0, and far has 4.1.0"),
        ("python", "3.12.1", "the driver has Python 3.11.2, and far has 3.12.1"),
        ("python", "3.11.9", ""),
        ("delta", "4.3.0", "the driver has Delta 4.4.0, and far has 4.3.0"),
        ("delta", "", ""),
    ],
)
def test_each_version_is_compared(name: str, there: str, words: str) -> None:
    own = {"spark": "4.2.0", "python": "3.11.2", "delta": "4.4.0"}
    near, far = {"host": "a", **own}, {"host": "far", **own, name: there}
    assert first_difference(own, [far, near]) == words


@pytest.mark.fast
def test_the_driver_knows_its_own_versions() -> None:
    assert first_difference(own_versions(), [{"host": "here", **own_versions()}]) == ""
