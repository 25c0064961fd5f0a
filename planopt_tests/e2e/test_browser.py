"""The pages as a person sees them: a real Chromium on a real `planopt ui`. Its screenshots are those in `docs/`.

`PLANOPT_SCREENSHOTS=docs/pages` writes them there; otherwise they go to the test's own folder.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.scheduler.instigation import InstigatorState, InstigatorTick, TickStatus
from deltalake import write_deltalake

from planopt_assets.defs import names
from planopt_tests.conftest import make_tables, write_workload_file

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.e2e

CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop", runs_per_day: 1000}
  - {id: cities, sql: "SELECT city, count(*) AS shops FROM shops GROUP BY city"}"""
# One candidate, and nothing beyond the rules: the pages of a run are the same, and it takes a quarter of the time.
SHORT = """\
budgets: {per_candidate: 60, per_query: 120, per_run: 1200, explore: 0}
knobs: {allow: [spark.sql.shuffle.partitions]}
automation: {settle: 1, interval: 5}
"""
LOCATION = "planopt_assets.definitions"
SOON_MS = 120_000  # for a page on a busy machine
RUN_S = 900


@dataclass
class Pages:
    """A browser on the UI of one workload."""

    page: Page
    address: str
    home: Path
    shots: Path

    def open(self, path: str, *texts: str | re.Pattern[str]) -> None:
        """Open a page and wait until it shows all of these texts."""
        self.page.goto(f"{self.address}{path}")
        self.shows(*texts)

    def shows(self, *texts: str | re.Pattern[str]) -> None:
        for text in texts:
            self.page.get_by_text(text).first.wait_for()

    def shot(self, name: str) -> None:
        self.page.wait_for_timeout(1500)  # graphs and dialogs move into place
        self.page.screenshot(path=self.shots / f"{name}.png")

    def finished(self, before: set[str]) -> dg.DagsterRun:
        """Wait for the end of the run that was not there before."""
        ends = time.monotonic() + RUN_S
        with dg.DagsterInstance.from_config(str(self.home)) as instance:
            while time.monotonic() < ends:
                new = [run for run in instance.get_runs() if run.run_id not in before]
                assert len(new) < 2, "one query is one run"
                if new and new[0].is_finished:
                    return new[0]
                time.sleep(1)
        raise AssertionError("no run ended in time")

    def runs(self) -> set[str]:
        with dg.DagsterInstance.from_config(str(self.home)) as instance:
            return {r.run_id for r in instance.get_runs()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_workload_file(make_tables(tmp_path), QUERIES, mode="auto", extra=SHORT)
    return tmp_path


@pytest.fixture
def served(folder: Path) -> Iterator[str]:
    """`planopt ui`, with the daemon that launches runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if k != "DAGSTER_HOME"}
    command = [sys.executable, "-m", "planopt_assets.cli", "ui", "-w", "planopt.yaml", "--port", str(port)]
    log = (folder / "ui.log").open("w")
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
        log.close()


@pytest.fixture
def pages(folder: Path, served: str) -> Iterator[Pages]:
    from playwright.sync_api import Error, sync_playwright

    shots = Path(os.environ.get("PLANOPT_SCREENSHOTS", str(folder / "shots")))
    shots.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        # No sandbox: the test may run as root, and opens nothing but its own server.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(SOON_MS)
        ends = time.monotonic() + 180
        while True:
            try:
                page.goto(served)
                break
            except Error:  # not there yet
                assert time.monotonic() < ends, (folder / "ui.log").read_text()
                time.sleep(1)
        yield Pages(page, served, folder / ".planopt" / "dagster", shots)
        browser.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium")
def test_a_person_sees_the_graph_runs_a_query_and_reads_its_verdict_and_its_checks(pages: Pages, folder: Path) -> None:
    graph_from_tables_to_promote(pages)
    materialize_one_query(pages)
    verdict_in_words_and_as_markdown(pages)
    switch_the_sensor_on(pages)
    before = pages.runs()
    drop_a_column(folder)
    run_of_the_sensor(pages, before)
    green_and_red_check(pages)
    plot_over_runs(pages)
    source_table(pages)


def graph_from_tables_to_promote(pages: Pages) -> None:
    pages.open("/asset-groups", "Materialize all")
    for group in ("tables", "observe", "decide", "replan", "validate", "promote"):
        pages.shows(re.compile(f"^{group}$"))
    pages.shot("graph")
    pages.open("/assets/input_tables?view=lineage", "sales", "shops", "plan_artifacts")
    pages.shot("tables")


def materialize_one_query(pages: Pages) -> None:
    """All ten assets for the partition `by_shop`, as a person clicks it: one run."""
    before, page = pages.runs(), pages.page
    pages.open(f"/locations/{LOCATION}/jobs/{names.OPTIMIZE_JOB}", "Materialize all")
    page.get_by_role("button", name=re.compile("Materialize all")).click()
    page.get_by_text(re.compile("Select a partition")).click()
    page.get_by_text("by_shop", exact=True).locator("visible=true").last.click()
    page.get_by_text("Partition selection").click()  # closes the list
    pages.shows("1 partition", "Launch 1 run")
    pages.shot("launch")
    page.get_by_role("button", name=re.compile("^Launch")).last.click()
    run = pages.finished(before)
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert run.tags["dagster/partition"] == "by_shop"
    pages.open(f"/runs/{run.run_id}", "Success")


def verdict_in_words_and_as_markdown(pages: Pages) -> None:
    """The page that is not of one query begins with all of them; the details are a table of criteria."""
    pages.open("/assets/verdicts", "all queries", re.compile("2 queries, 1 in this run"), "in force")
    pages.shot("verdict")
    pages.open("/assets/verdicts?view=partitions&partition=by_shop", "outcome", "policy", "details")
    pages.page.get_by_text("[Show Markdown]").last.click()
    pages.shows("criterion", "threshold", "results_equal")
    pages.shot("verdict_markdown")


def drop_a_column(folder: Path) -> None:
    """A breaking change of the table that the query reads, though not of the query's own columns."""
    shops = [i % 17 for i in range(2400)]
    rows = {"id": pa.array(range(2400), pa.int64()), "shop": pa.array(shops, pa.int64())}
    write_deltalake(folder / "data" / "sales", pa.table(rows), mode="overwrite", schema_mode="overwrite")


def switch_the_sensor_on(pages: Pages) -> None:
    """And wait until it has looked at the tables: its first tick has nothing to compare with."""
    pages.open(f"/locations/{LOCATION}/sensors/table_changes", "table_changes", "optimize_selected")
    pages.page.locator("label:has(input[type=checkbox])").first.click()
    with dg.DagsterInstance.from_config(str(pages.home)) as instance:
        ends = time.monotonic() + RUN_S
        while not [t for s in instance.all_instigator_state() for t in _ticks(instance, s)]:
            assert time.monotonic() < ends, "the sensor never ticked"
            time.sleep(1)


def _ticks(instance: dg.DagsterInstance, state: InstigatorState) -> list[InstigatorTick]:
    ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id)
    return [t for t in ticks if t.status in (TickStatus.SUCCESS, TickStatus.SKIPPED)]


def run_of_the_sensor(pages: Pages, before: set[str]) -> None:
    """The commit starts a run for the query that reads the table, and for no other."""
    run = pages.finished(before)
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert run.tags["dagster/sensor_name"] == "table_changes"
    assert run.run_config["ops"]["selected_queries"]["config"]["queries"] == ["by_shop"]
    pages.open(f"/locations/{LOCATION}/sensors/table_changes", "Evaluations", "optimize_selected")
    pages.shot("sensor")


def green_and_red_check(pages: Pages) -> None:
    pages.open(
        "/assets/plan_artifacts?view=checks&checkDetail=deterministic", "Latest execution", "Passed", "threshold"
    )
    pages.shot("check_green")
    pages.open("/assets/input_tables?view=checks&checkDetail=contract_kept", "Latest execution", "Failed", "threshold")
    pages.shows(re.compile("amount"))
    pages.shot("check_red")


def plot_over_runs(pages: Pages) -> None:
    pages.open("/assets/plan_artifacts", "Metadata")
    pages.page.get_by_role("button", name="Plots").click()
    pages.page.get_by_role("button", name="Events").click()
    pages.shows("cpu_s", "scan_bytes")
    assert pages.page.locator("canvas").count() > 1
    pages.page.get_by_text("cpu_s", exact=True).first.scroll_into_view_if_needed()
    pages.shot("plots")


def source_table(pages: Pages) -> None:
    pages.open("/assets/tables/sales", "External Asset", "Row count", "2,400", "by_shop")
    pages.shot("source_table")
