"""`planopt demo` in a process of its own, on four of its ten queries, with two pairs of trials for each candidate."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from planopt_assets.cli.demo_tables import APPENDS
from planopt_assets.engine.delta.delta_log import newest_version
from planopt_tests.cli.test_cli import ok
from planopt_tests.promote.lenient_planopt import PAIRS_VARIABLE, lenient_planopt
from planopt_tests.without_java import without_java

pytestmark = pytest.mark.e2e

FOUR = ["late_shipments", "brand_share", "audit_sample", "nation_directory"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The demo in the folder `here` of this one, and the versions of its tables before it laid them out."""

    folder: Path
    versions: dict[str, int]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("demo")
    done = without_java("demo", "--prepare-only", "--scale", "0.01", "--folder", "here", cwd=folder)
    assert done.returncode == 0, done.stderr
    return Prepared(folder, {name: newest_version(str(folder / "here" / "data" / name)) for name in APPENDS})


def test_the_demo_runs_the_loop_and_then_finds_nothing_to_do(prepared: Prepared) -> None:
    words = ["demo", *FOUR, "--scale", "0.01", "--folder", "here", "--json"]
    facts = ok(lenient_planopt(*words, cwd=prepared.folder, env={**os.environ, PAIRS_VARIABLE: "2"}))
    queries = {q["id"]: q for q in facts["queries"]}
    assert list(queries) == FOUR
    assert queries["audit_sample"]["outcome"] == "no_change"
    assert "its result may depend on the plan (rand)" in queries["audit_sample"]["reason"]
    assert queries["nation_directory"]["outcome"] == "no_change"
    for query in ("late_shipments", "brand_share"):  # a parameterised query and a DataFrame callable
        assert queries[query]["outcome"] == "accept"
        assert queries[query]["results_equal"] is True
        assert queries[query]["policy"]["settings"] == {"spark.sql.shuffle.partitions": "2"}
        gain = queries[query]["gain"]
        assert gain["low"] < gain["ratio"] < gain["high"]
        assert 0 < gain["confidence"] < 1
    for query in queries.values():
        assert (query["generation"] == 1) == (query["outcome"] == "accept")
    page = Path(facts["report"]).read_text(encoding="utf-8")
    assert facts["layouts"]
    for layout in facts["layouts"]:
        assert f"<td>{layout['words']}</td>" in page
    rewrites = [one for one in facts["layouts"] if one["verdict_id"]]
    assert rewrites
    for layout in rewrites:  # each is charged for
        assert layout["files_after"] < layout["files_before"]
        assert layout["rewrite_cpu_s"] > 0
        assert layout["bytes_rewritten"] > 0
        assert layout["saving_cpu_s_per_day"] > 0
        assert layout["break_even_days"] is not None
    again = ok(without_java(*words, cwd=prepared.folder))
    assert again["nothing_to_do"]
    assert again["queries"] == facts["queries"]
    assert again["layouts"] == []


def test_the_demo_tables_are_what_frequent_appends_leave(prepared: Prepared) -> None:
    assert prepared.versions == {name: appends - 1 for name, appends in APPENDS.items()}


def test_all_ten_demo_queries_are_declared(prepared: Prepared) -> None:
    status = ok(without_java("status", "-w", "here/planopt.yaml", "--json", cwd=prepared.folder))
    assert len(status["queries"]) == 10
