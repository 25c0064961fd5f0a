"""The arms of the benchmark, each made once and remembered: what it reads, its policies, and what making it took.

Loading with auto compaction, OPTIMIZE and the whole loop take minutes to hours. An arm that is made is a file in
`arms/` of the benchmark's folder, and the next call takes it from there. The loop itself goes on where it was stopped.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from benchmarks.arms_knobs import next_of_grid, next_of_three, shares
from benchmarks.arms_tables import Charge, charged, copied, loaded_with_remedies, optimized
from benchmarks.arms_tuner import Next, executions_of, tuned_by
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.loop.stages.decide import decide_queries
from planopt_assets.loop.stages.maintain import maintain
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.loop.stages.readiness import readiness
from planopt_assets.loop.stages.replan import replan
from planopt_assets.loop.stages.validate import validate
from planopt_assets.model.arm import Arm, Tables
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Workload
from planopt_assets.store.codecs.maintaining import ACTIONS
from planopt_assets.store.snapshot import Snapshot

Say = Callable[[str, str, str], None]
_LOOP = (observe, decide_queries, replan, validate, promote)
_EIGHT = {"spark.sql.shuffle.partitions": "8"}
_TUNED = {
    **_EIGHT,
    "spark.sql.autoBroadcastJoinThreshold": str(64 << 20),
    "spark.sql.files.maxPartitionBytes": str(64 << 20),
}
_FOR_ALL = {"partitions_8": _EIGHT, "global_tuning": _TUNED, "optimize_8": _EIGHT}


@dataclass(frozen=True)
class Competitor:
    """One arm: the tables it reads, a policy for each query, and what making it took."""

    name: str
    tables: Mapping[str, Path]
    policies: Mapping[str, Policy] = field(default_factory=dict)  # by query; without one: original
    charge: Charge = field(default_factory=Charge)

    def arm(self, query: str) -> Arm:
        return Arm(self.policies.get(query, ORIGINAL), self._pinned)

    @cached_property
    def _pinned(self) -> Tables:
        pins = Pins()
        return tuple(pins.pin(name, str(path)) for name, path in sorted(self.tables.items()))

    def to_json(self) -> str:
        return json.dumps(
            {
                "tables": {name: str(path) for name, path in self.tables.items()},
                "policies": {query: policy.to_json() for query, policy in self.policies.items()},
                "charge": asdict(self.charge),
            },
            indent=1,
        )

    @staticmethod
    def from_json(name: str, text: str) -> Competitor:
        found = json.loads(text)
        return Competitor(
            name,
            {table: Path(path) for table, path in found["tables"].items()},
            {query: Policy.from_json(policy) for query, policy in found["policies"].items()},
            Charge(**found["charge"]),
        )


def competitors(workload: Workload, folder: Path, names: Sequence[str], say: Say) -> list[Competitor]:
    """Every arm that was asked for, made ready; the tables as appended are never written to."""
    (folder / "arms").mkdir(parents=True, exist_ok=True)
    return [_kept(workload, folder, name, say) for name in names]


def _kept(workload: Workload, folder: Path, name: str, say: Say) -> Competitor:
    kept = folder / "arms" / f"{name}.json"
    if kept.exists():
        return Competitor.from_json(name, kept.read_text())
    say("arms", name, "is made")
    made = _made(workload, folder, name, say)
    kept.write_text(made.to_json())
    say("arms", name, f"took {made.charge.wall_s:.0f} s")
    return made


def _made(workload: Workload, folder: Path, name: str, say: Say) -> Competitor:
    base = {t.name: Path(str(t.path)) for t in workload.tables}
    policies = {q.id: Policy.of(_FOR_ALL[name]) for q in workload.queries} if name in _FOR_ALL else {}
    if name == "auto_compaction":
        own, more = loaded_with_remedies(Workspace(workload).spark, base, folder / name, say)
        return Competitor(name, own, {}, more)
    if name == "optimize":
        own = copied(base, folder / name)
        return Competitor(name, own, {}, optimized(Workspace(workload).spark, own))
    if name == "optimize_8":
        same = _kept(workload, folder, "optimize", say)
        return Competitor(name, same.tables, policies, same.charge)
    if name == "planopt_settings":
        return _tuned(name, replace(workload, store=_settings_store(folder)), say)
    if name in ("three_knobs", "grid"):
        found, charge = tuned_by(name, workload, folder / "arms", _choice(workload, folder, name, say), say)
        return Competitor(name, base, found, charge)
    if name == "planopt_layout":
        own = {table: folder / "layout" / table for table in base}
        if not all(path.exists() for path in own.values()):  # else a run that was stopped goes on
            shutil.rmtree(folder / "layout-store", ignore_errors=True)
            own = copied(base, folder / "layout")
        tables = tuple(replace(t, path=str(own[t.name]), maintain="auto") for t in workload.tables)
        return _tuned(name, replace(workload, store=str(folder / "layout-store"), tables=tables), say)
    return Competitor(name, base, policies)


def _settings_store(folder: Path) -> str:
    return str(folder / "settings-store")


def _choice(workload: Workload, folder: Path, name: str, say: Say) -> Next:
    """What a tuner runs next. `three_knobs` has as many executions as planopt took, so planopt comes first."""
    if name == "grid":
        return lambda query, ran: next_of_grid(ran)
    _kept(workload, folder, "planopt_settings", say)
    spent = executions_of(Snapshot(_settings_store(folder), workload.name, only_read=True))
    runs = shares(spent, {q.id: len(q.bindings) for q in workload.queries})
    return lambda query, ran: next_of_three(ran, runs[query.id])


def _tuned(name: str, workload: Workload, say: Say) -> Competitor:
    """The whole loop, as `planopt run` goes through it; layouts first where the workload allows them.

    What a run that was stopped has spent is in a file beside its store, and is charged too.
    """
    chosen, tables = [q.id for q in workload.queries], [t.name for t in workload.tables]
    spent = Path(f"{workload.store}.spent.json")
    with charged(spent) as charge:
        if any(t.maintain == "auto" for t in workload.tables):
            run = Run(Workspace(workload), str(uuid.uuid4()), progress=say)
            observe(run, chosen)
            readiness(run, tables)
            maintain(run, tables)
            run.workspace.close()
        run = Run(Workspace(workload), str(uuid.uuid4()), progress=say)
        for stage in _LOOP:
            stage(run, chosen)
        run.workspace.close()
    snapshot = run.store.newest()
    charge.bytes_rewritten = sum(a.bytes_rewritten or 0 for a in snapshot.read(ACTIONS) if a.applied)
    charge.executions = executions_of(snapshot)
    standings = read_standings(workload, run.workspace.pins)
    policies = {q: s.active.policy for q, s in standings.items() if s.active}
    return Competitor(name, {t.name: Path(str(t.path)) for t in workload.tables}, policies, charge)
