"""Layouts by processes that are killed: the next start is clean, the table is whole, and nothing is done twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JError

from planopt_assets.engine.delta import rewriting
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import MaintenanceFailed
from planopt_assets.loop.maintaining.apply import apply_layout
from planopt_assets.loop.maintaining.remembering import memory
from planopt_assets.loop.maintaining.undo import undo_layout
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.store.codecs.maintaining import LAYOUT_VERDICTS, PROPOSALS
from planopt_assets.store.crash_points import EXIT_CODE, OF_LAYOUTS
from planopt_assets.workload.load import load_workload
from planopt_tests.conftest import write_workload_file
from planopt_tests.e2e.tried_layouts import (
    FILES,
    QUERIES,
    actions,
    any_rewrite_pays,
    new_run,
    only_log,
    proposal_of,
    workload,
)
from planopt_tests.engine.test_layouts_in_spark import append, bytes_of, files_of, rows
from planopt_tests.promote.lenient_planopt import lenient_planopt

pytestmark = pytest.mark.e2e

STATISTICS = "delta.dataSkippingStatsColumns"


@pytest.fixture(scope="module", autouse=True)
def patched() -> Iterator[None]:
    with any_rewrite_pays():
        yield


def workload_file(folder: Path) -> Path:
    queries = "\n".join(f"  - {{id: {q}, sql: {sql!r}, runs_per_day: 1000}}" for q, sql in QUERIES.items())
    file = write_workload_file(folder, queries)
    file.write_text(file.read_text().replace("  sales: data/sales", "  sales: {path: data/sales, maintain: auto}"))
    return file


def prove_for(file: Path) -> None:
    """The same verdicts for the readers of the file: their limits are others than those of the tests."""
    run = new_run(load_workload(file))
    readers = memory(run, "sales").readers
    verdicts = run.snapshot.read(LAYOUT_VERDICTS)
    run.append("prove", {LAYOUT_VERDICTS: [replace(v, id=f"{v.id}-file", readers=readers) for v in verdicts]})


LEFT = {
    "after_clone_mark": {".planopt"},
    "after_clone": {"", ".planopt"},
    "after_layout_rewritten": {"", ".planopt"},
    "after_layout_trials": {"", ".planopt"},
    "after_clone_folder_removed": {".planopt"},
}
PROPERTY = "delta.autoOptimize.optimizeWrite"


def sorted_by_shop(run: Run) -> LayoutProposal:
    """An accepted layout of two commits: a table property, then the files."""
    (verdict,) = run.snapshot.read(LAYOUT_VERDICTS)
    wanted = replace(proposal_of(run), action="zorder", columns=("shop",), properties=((STATISTICS, "id,shop"),))
    more = tuple(replace(e, saving_cpu_ns=1000) for e in wanted.expected)  # it is the first to be applied
    wanted = replace(wanted, expected=more)
    accepted = replace(verdict, id=f"{verdict.id}-sorted", proposal_id=wanted.id, layout_id=wanted.layout_id)
    run.append("propose", {PROPOSALS: [wanted], LAYOUT_VERDICTS: [accepted]})
    return wanted


def proven(folder: Path) -> None:
    prove_for(workload_file(folder))


def proven_in_two_commits(folder: Path) -> None:
    sorted_by_shop(new_run(workload(folder)))
    proven(folder)


def sorted_already(folder: Path) -> None:
    run = new_run(workload(folder))
    apply_layout(run, sorted_by_shop(run), who="ada")


def compacted_with_a_wish(folder: Path) -> None:
    """And with a proposal that needs no proof: a property of the table."""
    run = new_run(workload(folder))
    assert maintain(run, ["sales"])[0].changed
    later = new_run(workload(folder))
    later.append("propose", {PROPOSALS: [only_log(later, "properties", properties=((PROPERTY, "true"),))]})


# Where it dies, what it was asked for, and what was there before.
CHANGING: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "before_commit": ("before_layout_commit", "--apply", proven),
    "between_commits": ("after_layout_settings", "--apply", proven_in_two_commits),
    "after_undo": ("after_undo_commit", "--undo", sorted_already),
    "after_property": ("after_layout_commit", "--apply", compacted_with_a_wish),
    "after_commit": ("after_layout_commit", "--apply", proven),
}


@dataclass(frozen=True, slots=True)
class Killed:
    """A workload whose process died; its table began with these bytes and rows."""

    folder: Path
    before: dict[str, str]
    expected: list[Any]

    @property
    def sales(self) -> Path:
        return self.folder / "data" / "sales"


# Points on one way: a process that gets to the last one has been at the others. It leaves a copy of its folder at each.
ON_ONE_WAY: tuple[tuple[str, ...], ...] = (
    tuple(LEFT),
    ("between_commits",),
    ("after_undo",),
    ("after_property",),
    ("before_commit", "after_commit"),
)


@pytest.fixture(scope="module")
def deaths(spark, observed: Path, tried_layout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Killed]:
    """A `planopt maintain` for each way, killed at its end; all on one Spark, which the last one takes along."""
    assert {*LEFT, *(point for point, *_ in CHANGING.values())} == set(OF_LAYOUTS)
    assert sorted(name for names in ON_ONE_WAY for name in names) == sorted([*LEFT, *CHANGING])
    commands = list[list[str]]()
    before, expected = bytes_of(observed / "data" / "sales"), rows(spark, observed / "data" / "sales")
    found = {name: Killed(tmp_path_factory.mktemp(name), before, expected) for name in (*LEFT, *CHANGING)}
    for *passed, last in ON_ONE_WAY:
        point, word, prepare = CHANGING.get(last, (last, "", workload_file))
        folder = found[last].folder
        shutil.copytree(tried_layout if last in CHANGING else observed, folder, dirs_exist_ok=True)
        prepare(folder)
        kept = [f"{CHANGING.get(name, (name,))[0]}:{found[name].folder}" for name in passed]
        words = ["maintain", "sales", *word.split(), "-w", str(workload_file(folder))]
        commands.append([" ".join([*kept, point]), *words])
    done = lenient_planopt(json.dumps(commands), cwd=folder, module="planopt_tests.promote.forking_planopt")
    ended = [*map(int, done.stdout.split()), done.returncode]
    assert ended == [EXIT_CODE] * len(commands), (done.stdout, done.stderr)
    return found


@pytest.mark.parametrize("point", list(LEFT))
def test_killed_in_a_trial_or_its_clean_up_the_next_start_is_clean(deaths: dict[str, Killed], point: str) -> None:
    killed = deaths[point]
    clones = killed.folder / "store" / "_clones"
    assert {f.suffix for f in clones.iterdir() if f.name.startswith("lay-")} == LEFT[point]
    Workspace(workload(killed.folder))._hold()
    assert [f.name[:4] for f in clones.iterdir()] == ["run-"]
    assert bytes_of(killed.sales) == killed.before


def test_killed_right_before_the_commit_the_table_is_whole_and_the_next_run_applies_it(
    spark, deaths: dict[str, Killed]
) -> None:
    killed = deaths["before_commit"]
    assert bytes_of(killed.sales) == killed.before
    run = new_run(load_workload(killed.folder / "planopt.yaml"))
    assert actions(run) == []
    assert maintain(run, ["sales"])[0].changed
    assert [(a.status, a.version_after) for a in actions(run)] == [("applied", FILES)]
    assert (files_of(killed.sales), rows(spark, killed.sales)) == (1, killed.expected)


def test_killed_between_the_property_and_the_files_the_action_has_failed_and_can_be_taken_back(
    spark, deaths: dict[str, Killed]
) -> None:
    killed = deaths["between_commits"]
    sales = killed.sales
    assert (files_of(sales), read_table_facts("sales", str(sales)).property(STATISTICS)) == (FILES, "id,shop")
    append(sales)
    expected, run = rows(spark, sales), new_run(workload(killed.folder))
    (result,) = maintain(run, ["sales"])
    assert "its process ended before it rewrote anything" in result.summary
    (action,) = actions(run)
    assert (action.action, action.status, action.error_code) == ("zorder", "failed", "PLN-604")
    assert (action.version_before, action.version_after) == (FILES - 1, FILES)
    assert action.undo == "planopt maintain sales --undo"
    undone = undo_layout(run, "sales", who="ada")
    assert (undone.undoes, undone.status) == (action.id, "undone")
    assert read_table_facts("sales", str(sales)).property(STATISTICS) is None
    assert rows(spark, sales) == expected


def test_what_an_action_had_set_is_put_back_when_its_rewrite_fails(
    spark, tried_layout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> None:
        append(sales)
        raise Py4JError("no disk space left")

    folder = shutil.copytree(tried_layout, tmp_path, dirs_exist_ok=True)
    run = new_run(workload(folder))
    sales, wanted = folder / "data" / "sales", sorted_by_shop(run)
    monkeypatch.setattr(rewriting, "_change", gone)
    with pytest.raises(MaintenanceFailed, match="no disk space left; what it had set on the table was put back"):
        apply_layout(run, wanted, who="ada")
    (action,) = actions(run)
    assert (action.status, action.error_code, action.undo) == ("failed", "PLN-604", "")
    assert (action.version_before, action.version_after) == (FILES - 1, FILES + 2)
    assert read_table_facts("sales", str(sales)).property(STATISTICS) is None
    assert len(rows(spark, sales)) == FILES * 20 + 3


def test_killed_after_an_undo_it_is_neither_lost_nor_done_twice(spark, deaths: dict[str, Killed]) -> None:
    killed = deaths["after_undo"]
    run = new_run(workload(killed.folder))
    (applied,) = actions(run)
    assert (applied.version_before, applied.version_after) == (FILES - 1, FILES + 1)
    undone = undo_layout(run, "sales", who="ada")
    assert (undone.undoes, undone.version_after) == (applied.id, FILES + 2)
    assert DeltaTable(str(killed.sales)).version() == FILES + 2
    assert read_table_facts("sales", str(killed.sales)).property(STATISTICS) is None
    assert (files_of(killed.sales), rows(spark, killed.sales)) == (FILES, killed.expected)
    assert [a.status for a in actions(new_run(workload(killed.folder)))] == ["applied", "undone"]


def test_killed_after_the_commit_the_action_is_neither_lost_nor_done_twice(spark, deaths: dict[str, Killed]) -> None:
    killed = deaths["after_commit"]
    assert files_of(killed.sales) == 1
    run = new_run(workload(killed.folder))
    assert actions(run) == []
    (result,) = maintain(run, ["sales"])
    assert "found in the table's log" in result.summary
    (action,) = actions(run)
    assert (action.status, action.files_before, action.files_after) == ("applied", FILES, 1)
    assert (action.version_before, action.version_after) == (FILES - 1, FILES)
    assert DeltaTable(str(killed.sales)).version() == FILES
    assert rows(spark, killed.sales) == killed.expected


def test_killed_after_the_commit_of_a_property_it_is_found_and_both_actions_can_be_taken_back(
    spark, deaths: dict[str, Killed]
) -> None:
    killed = deaths["after_property"]
    run = new_run(workload(killed.folder))
    assert len(actions(run)) == 1
    (result,) = maintain(run, ["sales"])
    assert "found in the table's log" in result.summary
    assert [(a.action, a.status, a.version_after) for a in actions(run)] == [
        ("compact", "applied", FILES),
        ("properties", "applied", FILES + 1),
    ]
    for undone in reversed(actions(run)):  # the last change goes first
        assert undo_layout(run, "sales", who="ada").undoes == undone.id
    assert read_table_facts("sales", str(killed.sales)).property(PROPERTY) is None
    assert files_of(killed.sales) == FILES
    assert rows(spark, killed.sales) == killed.expected
