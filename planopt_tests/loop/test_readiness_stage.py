"""The stage `readiness` on real tables, without Spark: looked at once, again only after a change, damage on its own."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import TableUnreachable
from planopt_assets.loop.agenda import agenda_of
from planopt_assets.loop.run import Run, StageResult, read_standings
from planopt_assets.loop.stages import readiness as stage
from planopt_assets.loop.stages.maintain import table_step
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.table_gates import table_ready
from planopt_assets.loop.table_standing import TableStanding, of_last_look, table_standings
from planopt_assets.maintain.readiness import unreadable
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.table_sample import TableSample
from planopt_assets.model.workload import Query, Table, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_VERDICTS, PROPOSALS
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.no_spark import no_spark
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast

QUERY = Query("q", sql="SELECT shop FROM sales WHERE id = 7", runs_per_day=96.0)
CONJUNCT = {
    "text": "id = 7",
    "family": "equality",
    "place": "data",
    "could": "files",
    "used": "files",
    "status": "pushed",
}


@pytest.fixture(scope="module")
def small_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tables(tmp_path_factory.mktemp("small"), files=40, rows=20)


@pytest.fixture
def workload(small_files: Path, tmp_path: Path) -> Workload:
    """40 small files of `sales`, and a query that was seen to read all of them."""
    shutil.copytree(small_files, tmp_path, dirs_exist_ok=True)
    found = workload_of(tmp_path, [QUERY], mode="advise")
    observe(found, "run-1")
    return found


def observe(workload: Workload, run_id: str, **seen: Any) -> None:
    sales = replace(workload, tables=tuple(t for t in workload.tables if t.name == "sales"))
    written = WrittenStore(sales)
    written.observe(QUERY, run_id)
    scan: dict[str, Any] = {
        "observation_id": f"obs-{run_id}-q-b0",
        "binding": 0,
        "scan": 0,
        "table": "sales",
        "table_version": Pins().facts("sales", str(sales.tables[0].path)).version,
        "native": True,
        "file_index": "PreparedDeltaFileIndex",
        "outcome": "full_pushdown",
        "reason": "",
        "conjuncts": json.dumps([CONJUNCT]),
        "pushed_filters": ["IsNotNull(id)", "EqualTo(id,7)"],
        **seen,
    }
    written.append("scan_outcomes", scan, run_id=run_id)


def look(workload: Workload, run_id: str) -> dict[str, StageResult]:
    run = Run(Workspace(workload, no_spark), run_id)
    return {r.query_id: r for r in readiness(run, [t.name for t in workload.tables])}


def standings(workload: Workload) -> dict[str, TableStanding]:
    return table_standings(workload, Snapshot(workload.store, workload.name), Pins())


def test_a_table_is_looked_at_once_and_again_only_when_it_changed(workload: Workload) -> None:
    assert {t.step.need for t in standings(workload).values()} == {"needed"}
    first = look(workload, "run-2")
    assert {name: r.changed for name, r in first.items()} == {"sales": True, "shops": True}
    assert {t.step.need for t in standings(workload).values()} == {"done"}
    assert not any(r.changed for r in look(workload, "run-3").values())
    sales = next(t for t in workload.tables if t.name == "sales")
    write_deltalake(str(sales.path), pa.table({"id": pa.array([9000], pa.int64())}), mode="append", schema_mode="merge")
    found = standings(workload)
    assert (found["sales"].step.need, found["sales"].step.why) == ("needed", "v39 -> v40")
    assert found["shops"].step.need == "done"
    assert [r.query_id for r in look(workload, "run-4").values() if r.changed] == ["sales"]
    assert [r.files for r in standings(workload)["sales"].history] == [40, 41]


def test_what_is_found_is_stored_with_its_numbers_for_plots(workload: Workload) -> None:
    result = look(workload, "run-2")["sales"]
    stored = standings(workload)["sales"]
    assert stored.readiness is not None
    assert (stored.readiness.files, stored.readiness.debt, stored.readiness.read_by) == (40, 39, ("q",))
    assert (result.numbers["files"], result.numbers["debt_files"]) == (40, 39)
    assert [c.column for c in stored.readiness.columns] == ["id"]
    assert stored.readiness.columns[0].depth == 1.0  # appended in order: an id is in one file
    assert "small_files" in {f.cause for f in stored.readiness.findings}
    assert "| warning | small_files |" in result.markdown


def test_the_gate_warns_of_debt_and_has_no_evidence_before_the_first_look(workload: Workload) -> None:
    assert not table_ready(standings(workload)["sales"]).observed
    look(workload, "run-2")
    found = standings(workload)
    debt, whole = table_ready(found["sales"]), table_ready(found["shops"])
    assert (debt.passed, debt.severe, debt.numbers["debt_files"]) == (False, False, 39.0)
    assert (whole.passed, whole.severe) == (True, False)


def test_a_damaged_table_has_an_error_of_its_own_and_the_others_go_on(workload: Workload) -> None:
    sales = next(t for t in workload.tables if t.name == "sales")
    (Path(str(sales.path)) / "_delta_log" / f"{20:020d}.json").write_bytes(b"")
    look(workload, "run-2")
    found = standings(workload)
    gate = table_ready(found["sales"])
    assert (gate.passed, gate.severe) == (False, True)
    assert "commit 20 in its log is empty" in gate.words
    assert found["sales"].proposals == ()
    assert table_ready(found["shops"]).passed
    assert {t.step.need for t in found.values()} == {"done"}  # the same damage is not looked at again


def test_a_missing_table_is_found_missing(workload: Workload) -> None:
    gone = replace(workload, tables=(*workload.tables, Table("gone", str(workload.file.parent / "nowhere"))))
    look(gone, "run-2")
    assert table_ready(standings(gone)["gone"]).severe


def test_a_data_file_out_of_reach_is_the_error_of_its_table_alone(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(folder: Any, facts: Any, *_: Any) -> Any:
        if facts.name == "sales":
            raise TableUnreachable("/sales was not read: HTTP 503", where="table sales", fix="run again")
        return TableSample({}, [])

    monkeypatch.setattr(stage, "table_sample", unreachable)
    done = look(workload, "run-2")
    assert done["shops"].changed
    assert table_ready(standings(workload)["sales"]).severe
    assert standings(workload)["sales"].step.need == "needed"  # the storage may answer the next time


def test_a_log_whose_end_was_lost_between_two_looks_is_an_error(workload: Workload) -> None:
    """Without checksum files nothing in the log itself tells: only what planopt saw before does."""
    look(workload, "run-2")
    sales = next(t for t in workload.tables if t.name == "sales")
    (Path(str(sales.path)) / "_delta_log" / f"{39:020d}.json").unlink()
    look(workload, "run-3")
    gate = table_ready(standings(workload)["sales"])
    assert gate.severe
    assert "its newest version was 39 when planopt last looked and is 38 now" in gate.words


def test_the_plan_shows_the_tables_and_a_new_observation_comes_first(workload: Workload) -> None:
    look(workload, "run-2")
    snapshot = Snapshot(workload.store, workload.name)

    def items(**changed: Any) -> dict[str, str]:
        found = agenda_of(
            workload,
            snapshot,
            {"q": replace(read_standings(workload, snapshot=snapshot)["q"], **changed)},
            ["q"],
            tables=table_standings(workload, snapshot, Pins()),
        )
        return {i.table: i.readiness.need for i in found.table_items}

    assert items() == {"sales": "done", "shops": "done"}
    assert items(artifacts=[]) == {"sales": "depends", "shops": "done"}


def test_a_workload_that_only_looks_proposes_nothing(workload: Workload) -> None:
    only_looks = replace(workload, mode="observe")
    look(only_looks, "run-2")
    assert standings(only_looks)["sales"].readiness is not None
    assert standings(only_looks)["sales"].proposals == ()


def with_index(workload: Workload, index: bool) -> Workload:
    return replace(workload, tables=tuple(replace(t, index=index) for t in workload.tables))


def test_a_workload_that_may_propose_from_now_on_looks_again(workload: Workload) -> None:
    look(replace(workload, mode="observe"), "run-2")
    assert standings(workload)["sales"].step.need == "needed"
    look(workload, "run-3")
    assert standings(workload)["sales"].proposals != ()
    assert standings(replace(workload, mode="auto"))["sales"].step.need == "done"  # it was proposed already


def test_a_table_is_looked_at_again_when_indexes_are_allowed_or_no_longer(workload: Workload) -> None:
    look(workload, "run-2")
    assert standings(with_index(workload, True))["sales"].step.need == "needed"
    look(with_index(workload, True), "run-3")
    assert standings(workload)["sales"].step.need == "needed"


def test_only_what_the_last_look_proposed_is_open(workload: Workload) -> None:
    bloom = LayoutProposal("sales", "t-1", 39, "bloom", columns=("id",), stamp=Stamp("run-1"))
    seen = [replace(unreadable("sales", "/sales", "gone", "", (), None), stamp=Stamp(f"run-{n}")) for n in (1, 2)]
    assert of_last_look([bloom], seen[:1]) == [bloom]
    assert of_last_look([bloom], seen) == []
    assert of_last_look([bloom], ()) == [bloom]


def test_a_stored_index_is_not_tried_once_it_is_no_longer_allowed(workload: Workload) -> None:
    pinned = next(t for t in Workspace(workload, no_spark).tables if t.name == "sales")
    bloom = LayoutProposal("sales", pinned.table_id, pinned.version, "bloom", columns=("id",), reason="lookups")
    allowed = Run(Workspace(with_index(workload, True), no_spark), "run-2")
    allowed.append("propose", {PROPOSALS: [bloom]})
    (found,) = table_step(allowed, "sales", "ada").layouts
    assert found.proposal == bloom
    assert table_step(Run(Workspace(workload, no_spark), "run-3"), "sales", "ada").layouts == ()


def test_what_was_applied_is_no_longer_proposed(workload: Workload) -> None:
    look(workload, "run-2")
    (proposal,) = [p for p in standings(workload)["sales"].proposals if p.action == "checkpoint"]
    done = MaintenanceAction("mnt-1", "sales", proposal.table_id, "checkpoint", "applied", "", proposal.id)
    Run(Workspace(workload, no_spark), "run-3").append("maintain", {ACTIONS: [done]})
    left = standings(workload)["sales"]
    assert left.settled  # it was not looked at again
    assert left.proposals == ()


def test_debt_that_has_grown_back_is_proposed_again_with_what_the_last_layout_gained(
    small_files: Path, tmp_path: Path
) -> None:
    """A compaction was applied and measured. Appends have left small files since then: it is due again."""
    workload = workload_of(shutil.copytree(small_files, tmp_path, dirs_exist_ok=True), [QUERY], mode="advise")
    observe(workload, "run-1", conjuncts="[]", pushed_filters=[])  # a full scan: it gains by fewer files
    look(workload, "run-2")
    before = standings(workload)["sales"]
    assert before.facts is not None
    (first,) = [p for p in before.proposals if p.action == "compact"]
    assert "the last one" not in first.reason
    named = ("sales", before.facts.table_id)
    verdict = LayoutVerdict(
        *("ver-1", first.id, *named, 39, "accept", "cpu -40%", True), saving_cpu_ns_per_day=5_200_000_000
    )
    done = MaintenanceAction("mnt-1", *named, "compact", "applied", "", first.id, "ver-1", 39, 40)
    Run(Workspace(workload, no_spark), "run-3").append("maintain", {LAYOUT_VERDICTS: [verdict], ACTIONS: [done]})
    assert [p.action for p in standings(workload)["sales"].proposals if p.rewrites] == []
    sales = str(next(t for t in workload.tables if t.name == "sales").path)
    for number in range(40):
        row = pa.table({"id": pa.array([9000 + number], pa.int64())})
        write_deltalake(sales, row, mode="append", schema_mode="merge")
    look(workload, "run-4")
    (again,) = [p for p in standings(workload)["sales"].proposals if p.action == "compact"]
    assert again.files_before == 80
    assert again.reason.endswith("; the last one, at version 40, was measured to save 5.2 s CPU a day")
    assert dict(again.arithmetic)["last_measured_saving_ns_per_day"] == 5_200_000_000
    assert {"mnt-1", "ver-1"} <= set(again.evidence_ids)
