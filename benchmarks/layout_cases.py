"""Layouts end to end on tables made for it: what is found, proposed, proven and applied, and what that gains.

  fed         appends of 49 files, each from a session of its own: too few for Delta's auto compaction to be sure to act
  selective   lookups in a table without any order; one column is filtered often and useless, one follows another
  full_scans  the same table, read whole: its files may be merged, and are never sorted
  net_gain    files are in the order of days; lookups by customer run often, a report by day runs rarely and may lose
  veto        the same, but the report may lose no more than a tenth

Every case goes the way of `planopt run` in mode `auto`: observe, readiness, trial on a clone, apply. Times are the
medians of the trial, so both sides ran interleaved.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.layout_tables import AT_ONCE, Size, events, fed
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.model.counters import Counters
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction
from planopt_assets.model.workload import Query, Table, Workload
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_TRIALS, LAYOUT_VERDICTS, PROPOSALS
from planopt_assets.store.codecs.observing import EXECUTIONS

TABLE = "events"
DECOYS = "status = 'done' AND region >= 0 AND region <= 12"
POINT = Query(
    "point",
    sql=f"SELECT count(*) AS n, sum(amount) AS amount FROM events WHERE customer = 4711 AND {DECOYS}",
    runs_per_day=200.0,
)
BAND = Query(
    "band",
    sql="SELECT region, count(*) AS n, max(amount) AS most FROM events "
    "WHERE customer >= 100 AND customer < 300 AND status = 'done' GROUP BY region",
    runs_per_day=200.0,
)
DONE = Query(
    "done",
    sql="SELECT region, sum(amount) AS amount FROM events WHERE status = 'done' GROUP BY region",
    runs_per_day=24.0,
)
TOTAL = Query("total", sql="SELECT region, sum(amount) AS amount FROM events GROUP BY region", runs_per_day=24.0)
BY_DAY = Query(
    "by_day",
    sql="SELECT region, sum(amount) AS amount FROM events WHERE day = 12 GROUP BY region",
    runs_per_day=2.0,
)
CASES: dict[str, tuple[Query, ...]] = {
    "fed": (replace(TOTAL, runs_per_day=200.0), replace(DONE, runs_per_day=200.0)),
    "selective": (POINT, BAND, DONE),
    "full_scans": (TOTAL, DONE),
    "net_gain": (POINT, replace(BY_DAY, max_loss=1e9)),
    "veto": (POINT, BY_DAY),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One query on one layout: medians of the trial."""

    files: float
    bytes: float
    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case."""

    case: str
    proposals: tuple[LayoutProposal, ...]
    verdict: LayoutVerdict | None
    action: MaintenanceAction | None  # that wrote the files anew
    sides: dict[str, tuple[Side, Side]]  # by query: as it was, and with the new layout
    words: str

    def facts(self) -> dict[str, Any]:
        verdict, action = self.verdict, self.action
        return {
            "case": self.case,
            "proposed": [p.describe() for p in self.proposals],
            "outcome": verdict.outcome if verdict else None,
            "results_equal": verdict.results_equal if verdict else None,
            "reason": verdict.reason if verdict else self.words,
            "rewrite_cpu_s": verdict.rewrite_cpu_ns / 1e9 if verdict else None,
            "saving_cpu_s_per_day": verdict.saving_cpu_ns_per_day / 1e9 if verdict else None,
            "break_even_days": verdict.break_even_days if verdict else None,
            "prediction_error": verdict.prediction_error if verdict else None,
            "files": [action.files_before, action.files_after] if action else None,
            "bytes": [action.bytes_before, action.bytes_after] if action else None,
            "apply_s": (action.took_ns or 0) / 1e9 if action else None,
            "queries": {query: [asdict(side) for side in both] for query, both in self.sides.items()},
        }


def workload_of(case: str, folder: Path, **changes: Any) -> Workload:
    tables = (Table(TABLE, str(folder / "data" / TABLE), maintain="auto"),)
    known: dict[str, Any] = {"name": "layouts", "file": folder / "planopt.yaml", "store": str(folder / f"store-{case}")}
    return Workload(**{**known, "tables": tables, "queries": CASES[case], "mode": "auto", **changes})


def make_table(case: str, workspace: Workspace, folder: Path, size: Size) -> None:
    """The table of a case, anew: an earlier case may have laid it out."""
    location = folder / "data" / TABLE
    shutil.rmtree(location, ignore_errors=True)
    if case == "fed":
        fed(workspace.spark, location, size)
    else:
        events(location, size, in_order_of_days=case in ("net_gain", "veto"))


def proposed(run: Run) -> tuple[LayoutProposal, ...]:
    """The queries observed, the table looked at: what is proposed."""
    observe(run, [q.id for q in run.workload.queries])
    readiness(run, [TABLE])
    return tuple(run.store.newest().read(PROPOSALS, table=TABLE))


def outcome_of(case: str, run: Run) -> Outcome:
    """The way of `planopt run` in mode `auto`, as far as layouts go."""
    proposals = proposed(run)
    (result,) = maintain(run, [TABLE])
    run.workspace.close()
    stored = run.store.newest()
    verdicts = stored.read(LAYOUT_VERDICTS, table=TABLE)
    rewrites = {p.id for p in proposals if p.rewrites}
    applied = [a for a in stored.read(ACTIONS, table=TABLE) if a.applied and a.proposal_id in rewrites]
    trials = [t for t in stored.read(LAYOUT_TRIALS, table=TABLE) if not t.warm_up]
    executions = stored.read(EXECUTIONS, execution_id=[t.id for t in trials]) if trials else []
    counters = {e.id: e.counters for e in executions}
    sides = {
        q.id: tuple(
            _side([counters[t.id] for t in trials if (t.query_id, t.layout) == (q.id, layout) and t.id in counters])
            for layout in (False, True)
        )
        for q in run.workload.queries
    }
    return Outcome(
        case,
        proposals,
        verdicts[-1] if verdicts else None,
        applied[0] if applied else None,
        {query: (before, after) for query, (before, after) in sides.items() if before and after},
        result.summary,
    )


def _side(known: Sequence[Counters]) -> Side | None:
    if not known:
        return None
    return Side(
        median(c.scan_files or 0 for c in known),
        median(c.scan_bytes or 0 for c in known),
        median(c.cpu_ns or 0 for c in known) / 1e9,
        median(c.wall_ns for c in known) / 1e9,
    )


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 if a case does not end as it must."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks layouts", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=64, help="that the rows come in")
    parser.add_argument("--appends", type=int, default=10, help="of 49 files each, of the table that is fed")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/layouts"), help="where tables and stores go")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    folder, found = options.folder.resolve(), []
    for case in options.cases:
        size = Size(options.rows, options.appends * AT_ONCE if case == "fed" else options.files)
        print(f"{case}: {size.rows:,} rows", file=sys.stderr, flush=True)
        workload = workload_of(case, folder)
        shutil.rmtree(workload.store, ignore_errors=True)
        make_table(case, Workspace(workload), folder, size)
        found.append(outcome_of(case, Run(Workspace(workload), str(uuid.uuid4()), progress=_say)))
    print(json.dumps([o.facts() for o in found], indent=2) if options.json else "\n\n".join(map(text_of, found)))
    wrong = {o.case: why for o in found if (why := shortfall(o))}
    for case, why in wrong.items():
        print(f"{case}: {why}", file=sys.stderr)
    return 1 if wrong else 0


def shortfall(found: Outcome) -> str:
    """What is missing in a case; empty: it ended as it must."""
    if found.verdict is not None and found.verdict.results_equal is not True:
        return "results are not known to be equal"
    rewrite = next((p for p in found.proposals if p.rewrites), None)
    if found.case == "full_scans":
        return f"{rewrite.describe()} is proposed" if rewrite and rewrite.columns else ""
    wanted = {"fed": ("compact", ())}.get(found.case, ("zorder", ("customer",)))
    if rewrite is None or (rewrite.action, rewrite.columns) != wanted:
        return f"{rewrite.describe() if rewrite else 'nothing'} is proposed"
    if found.verdict is None or (found.verdict.outcome == "accept") == (found.case == "veto"):
        return f"the verdict is {found.verdict.outcome if found.verdict else 'missing'}: {found.words}"
    if found.case == "selective":
        fewer = [before.files / max(1, after.files) for q, (before, after) in found.sides.items() if q != "done"]
        return "" if min(fewer) >= 5 else f"files read fall by {min(fewer):.1f} only"
    return ""


def text_of(found: Outcome) -> str:
    facts = found.facts()
    lines = [f"{found.case}: proposed: {'; '.join(facts['proposed']) or 'nothing'}"]
    if found.verdict is not None:
        days = f"{facts['break_even_days']:.2g} days" if facts["break_even_days"] is not None else "never"
        lines.append(
            f"  {facts['outcome']}, results equal: {facts['results_equal']}; the rewrite takes "
            f"{facts['rewrite_cpu_s']:.1f} s CPU, a day saves {facts['saving_cpu_s_per_day']:.0f} s; paid back: {days}"
        )
        lines.append(f"  {facts['reason']}")
    if found.action is not None:
        (files, fewer), (size, smaller) = facts["files"], facts["bytes"]
        lines.append(f"  applied in {facts['apply_s']:.1f} s: {files} -> {fewer} files, {size:,} -> {smaller:,} bytes")
    for query, (before, after) in found.sides.items():
        lines.append(
            f"  {query:<8} files {before.files:.0f} -> {after.files:.0f}, bytes {before.bytes:,.0f} -> "
            f"{after.bytes:,.0f}, CPU {before.cpu_s:.3f} -> {after.cpu_s:.3f} s, "
            f"wall {before.wall_s:.3f} -> {after.wall_s:.3f} s"
        )
    return "\n".join(lines)


def _say(stage: str, query: str, words: str) -> None:
    print(f"{stage}: {query}: {words}", file=sys.stderr, flush=True)
