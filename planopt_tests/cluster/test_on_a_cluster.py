"""What only a cluster has: other versions, no executors, and Python beside the executors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from planopt_assets.engine.sessions import same_versions
from planopt_assets.engine.sessions.ask_executors import Answers
from planopt_assets.engine.sessions.same_versions import first_difference, own_versions
from planopt_assets.errors import ClusterMismatch
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
        answer = answer_of("opened in 10 s", tmp_path, small.master)
    assert answer["code"] == "PLN-222"


@pytest.mark.soak
def test_no_master_is_an_error_that_names_it(tmp_path: Path) -> None:
    answer = answer_of("opened", tmp_path, "spark://127.0.0.1:9")
    assert answer["code"] == "PLN-205"


@pytest.mark.soak
def test_python_beside_the_executors_and_what_they_send_each_other_is_counted(
    cluster: LittleCluster, tmp_path: Path
) -> None:
    counters = answer_of("counters", tmp_path, cluster.master)
    assert counters["cpu_ns"] is not None
    assert counters["cpu_ns"] - counters["executor_cpu_ns"] >= 2 * BURNED_S * 1e9  # two tasks at least
    assert 0 < counters["shuffle_remote_bytes"] <= counters["shuffle_read_bytes"]


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
def test_what_some_executors_answer_counts_where_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"host": "far", **own_versions(), "spark": "4.1.0"}
    monkeypatch.setattr(same_versions, "ask_executors", lambda spark, question: Answers([other], complete=False))
    session = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://host:7077"))
    with pytest.raises(ClusterMismatch, match=r"PLN-221 .*far has 4\.1\.0"):
        same_versions.check_same_versions(session)  # type: ignore[arg-type]


@pytest.mark.fast
def test_the_driver_knows_its_own_versions() -> None:
    assert first_difference(own_versions(), [{"host": "here", **own_versions()}]) == ""
