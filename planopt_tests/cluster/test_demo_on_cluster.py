"""`planopt demo --master spark://…` on a cluster of two workers: the same verdicts as on one machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planopt_assets.cli.demo_tables import prepare
from planopt_assets.workload import load_workload
from planopt_tests.cli.test_cli import NO_JAVA, ok
from planopt_tests.little_cluster import LittleCluster
from planopt_tests.promote.lenient_planopt import PAIRS_VARIABLE, lenient_planopt

QUERIES = ["late_shipments", "brand_share", "audit_sample"]


@pytest.mark.soak
def test_the_demo_on_a_cluster_accepts_policies_with_equal_results(cluster: LittleCluster, tmp_path: Path) -> None:
    words = ["demo", *QUERIES, "--scale", "0.01", "--folder", "here", "--json"]
    environment = {**os.environ, **cluster.environment, PAIRS_VARIABLE: "2"}
    facts = ok(lenient_planopt(*words, "--master", cluster.master, cwd=tmp_path, env=environment))
    queries = {q["id"]: q for q in facts["queries"]}
    assert queries["audit_sample"]["outcome"] == "no_change"
    for query in ("late_shipments", "brand_share"):
        assert (queries[query]["outcome"], queries[query]["results_equal"]) == ("accept", True)
        assert queries[query]["policy"]["settings"] == {"spark.sql.shuffle.partitions": "2"}
        assert queries[query]["conditions"]["cores"] == 2  # of the two workers together
    # Nobody needs the cluster, nor any Java.
    assert ok(lenient_planopt(*words, "--master", cluster.master, cwd=tmp_path, env=NO_JAVA))["nothing_to_do"]


@pytest.mark.fast
@pytest.mark.parametrize("master", ["local[*]", "spark://127.0.0.1:7077", "yarn", "k8s://https://host:6443"])
def test_the_master_is_written_into_the_demos_workload_file(tmp_path: Path, master: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".scale").write_text("0.01")  # so that no data is written
    assert load_workload(prepare(tmp_path, 0.01, print, master)).master == master
