"""A layout tried on a clone: rewritten there, raced against the table as it is, charged for, and judged."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from planopt_assets.delta.own_commits import FileChange
from planopt_assets.engine.delta.clones import Clones
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.partial_clone import cut_down
from planopt_assets.engine.delta.pins import pinned
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.errors import LayoutNotTried
from planopt_assets.loop.maintaining.layout_experiment import LayoutExperiment, Measured, Subject
from planopt_assets.loop.maintaining.measured_reads import measured_read
from planopt_assets.loop.same_results import unmeasured
from planopt_assets.maintain.index import index_reads_less
from planopt_assets.maintain.pay_back import break_even_days, pays_back
from planopt_assets.maintain.permission import locked_out
from planopt_assets.model.arm import Arm
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.layout_verdict import LayoutTrial, LayoutVerdict
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store.codecs.maintaining import READINESS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.crash_points import reached
from planopt_assets.validate.judge import JUDGE_VERSION, METRIC

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.verdict import Judgement


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial left: a verdict on each proposal, and every execution behind them."""

    verdicts: tuple[LayoutVerdict, ...]
    trials: tuple[LayoutTrial, ...]

    @property
    def accepted(self) -> bool:
        """Whether any of the layouts was."""
        return any(v.accepted for v in self.verdicts)


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """The clone with the new layout, and what making it took."""

    proposal: LayoutProposal
    before: PinnedTable  # the table itself, or a clone of the same files if only some of them are tried
    after: PinnedTable
    change: FileChange | None
    cpu_ns: int
    wall_ns: int
    locked_out: str
    subset: str


def try_layouts(run: Run, proposals: Sequence[LayoutProposal]) -> Tried:
    """Clone the tables, lay the clones out, and judge all queries that read one of them, on all clones together.

    Layouts of several tables are tried at once, because one experiment costs as much as another. They are accepted
    together or not at all; each must pay for its own rewrite.
    """
    tables = [_pinned(run, proposal) for proposal in proposals]
    names = {t.name for t in tables}
    readers = [s for s in run.standings().values() if s.captured and names & _tables(s)]
    if not readers:
        raise LayoutNotTried(
            "no query that was observed on these inputs reads it",
            where=f"table {tables[0].name}",
            fix="run the loop first: `planopt run`",
        )
    with ExitStack() as stack:
        made = [_rewritten(run, stack, p, t) for p, t in zip(proposals, tables, strict=True)]
        if out := next((one for one in made if one.locked_out), None):
            reason = f"{out.proposal.table}: {out.locked_out}"
            return Tried(tuple(_verdict(run, one, proposals, unmeasured("reject", reason), []) for one in made), ())
        reached("after_layout_rewritten")
        experiment = LayoutExperiment(
            run.workspace,
            [_subject(run, s, made) for s in sorted(readers, key=lambda s: s.query_id)],
            trial_prefix=run.event_id("tri", "layout", proposals[0].id[4:]),
            run_deadline=run.deadline,
            rules=run.rules,
        )
        judgement = experiment.run()
        reached("after_layout_trials")
    trials = tuple(_trials(run, proposals[0], experiment))
    return Tried(tuple(_verdict(run, one, proposals, judgement, experiment.queries, trials) for one in made), trials)


def _pinned(run: Run, proposal: LayoutProposal) -> PinnedTable:
    found = next((t for t in run.workspace.tables if t.name == proposal.table), None)
    if found is None or (found.table_id, found.version) != (proposal.table_id, proposal.version):
        now = f"version {found.version} of {found.table_id}" if found else "not readable"
        raise LayoutNotTried(
            f"the proposal is for version {proposal.version} of {proposal.table_id}, and the table is {now}",
            where=f"table {proposal.table}",
            fix="run the loop again: `planopt run` makes proposals for the table as it is",
        )
    return found


def _tables(standing: Standing) -> set[str]:
    return {t.name for a in standing.artifacts for t in a.tables}


def _newest(table: PinnedTable) -> PinnedTable:
    return pinned(table.name, table.location, read_table_facts(table.name, table.location))


def _rewritten(run: Run, stack: ExitStack, proposal: LayoutProposal, table: PinnedTable) -> _Rewritten:
    """A clone that lives as long as the stack, rewritten; what that took is what applying will take."""
    clones, spark = Clones(run.workload.store), run.workspace.spark
    limit, seed = run.workload.maintenance.trial_bytes, run.workload.seed
    name = run.event_id("lay", table.name, proposal.id[4:])
    clone, before = stack.enter_context(clones.cloned(spark, table, name)), table
    if subset := cut_down(spark, clone.location, limit, seed):
        part = stack.enter_context(clones.cloned(spark, table, f"{name}-before"))
        cut_down(spark, part.location, limit, seed)
        before = _newest(part)
    cpu, started = run.workspace.instruments.cpu, time.perf_counter_ns()
    read = cpu.read()
    change, _ = rewrite(spark, clone.location, proposal, name)
    took, spent = time.perf_counter_ns() - started, cpu.since(read)
    old, new = (read_table_facts(table.name, place).protocol for place in (table.location, clone.location))
    out = locked_out(old, new, run.workload.table(table.name).features)
    return _Rewritten(proposal, before, _newest(clone), change, spent, took, out, subset)


def _subject(run: Run, standing: Standing, made: Sequence[_Rewritten]) -> Subject:
    policy = standing.active.policy if standing.active and not standing.vetoed else ORIGINAL
    before = after = Arm(policy, run.workspace.tables)
    for one in made:
        before, after = before.reading(one.before), after.reading(one.after)
    observed = [a.observation_id for a in sorted(standing.artifacts, key=lambda a: a.binding)]
    details = {d.observation_id: d for d in run.snapshot.read(DETAILS, observation_id=observed)}
    walls = {e.id: e.counters.wall_ns / 1e9 for e in run.snapshot.read(EXECUTIONS, execution_id=observed)}
    digests = [details[o].digest for o in observed]
    part = any(one.subset for one in made)
    return Subject(
        run.workload.query(standing.query_id),
        before,
        after,
        after.under(ORIGINAL) if policy != ORIGINAL else None,
        () if part else tuple(d for d in digests if d is not None),
        () if part else tuple(walls[o] for o in observed),
        any(s.plan_dependent for o in observed if (s := details[o].signals) is not None),
    )


def _trials(run: Run, proposal: LayoutProposal, experiment: LayoutExperiment) -> Iterator[LayoutTrial]:
    for one in experiment.queries:
        for query_id, arm, trial in experiment.trials():
            if query_id == one.subject.query.id:
                yield LayoutTrial(
                    id=trial.id,
                    proposal_id=proposal.id,
                    table=proposal.table,
                    query_id=query_id,
                    policy_id=arm.policy.id,
                    layout=arm.tables == one.subject.after.tables,
                    round=trial.round,
                    position=trial.position,
                    binding=trial.binding,
                    warm_up=trial.warm_up,
                    status=trial.status,
                    error=trial.error,
                    counters=trial.counters,
                    digest=trial.digest,
                    topology_hash=trial.topology_hash,
                    seed=run.workload.seed,
                )


def _verdict(
    run: Run,
    made: _Rewritten,
    together: Sequence[LayoutProposal],
    judgement: Judgement,
    queries: Sequence[Measured],
    trials: Sequence[LayoutTrial] = (),
) -> LayoutVerdict:
    """The judge's word, with the rewrite charged: a gain that never pays for it is no gain."""
    proposal, change = made.proposal, made.change
    metric = METRIC[run.workload.objective]
    reading = [one for one in queries if proposal.table in _names(run, one)]
    measured = tuple(measured_read(proposal, together, one, metric) for one in reading)
    saving = round(sum(m.saving_cpu_ns * m.runs_per_day for m in measured))
    days = break_even_days(made.cpu_ns, saving, _regrowth_days(run, made))
    outcome, reason, criteria = judgement.outcome, judgement.reason, tuple(judgement.criteria)
    if queries:
        paid = pays_back(days, run.workload.maintenance.pay_back_days)
        criteria = (*criteria, paid)
        if outcome == "accept" and not paid.passed:
            outcome, reason = "reject", f"the rewrite pays for itself {paid.note}, it must {paid.threshold}: {reason}"
    if queries and proposal.action == "bloom":
        helps = index_reads_less([one.pairs for one in reading])
        criteria = (*criteria, helps)
        if outcome == "accept" and not helps.passed:
            outcome, reason = "reject", f"the filters leave nothing out: {helps.note}"
    if made.subset:
        reason = f"tried on {made.subset}: {reason}"
    errors = [e for m in measured if (e := m.prediction_error) is not None]
    return LayoutVerdict(
        id=run.event_id("ver", proposal.table, proposal.id[4:]),
        proposal_id=proposal.id,
        table=proposal.table,
        table_id=proposal.table_id,
        version=proposal.version,
        outcome=outcome,
        reason=reason,
        results_equal=judgement.results_equal,
        criteria=criteria,
        measured=measured,
        saving_cpu_ns_per_day=saving,
        rewrite_cpu_ns=made.cpu_ns,
        rewrite_wall_ns=made.wall_ns,
        bytes_rewritten=change.bytes_added if change else 0,
        files_before=proposal.files_before,
        files_after=proposal.files_before + (change.files_added - change.files_removed if change else 0),
        break_even_days=days,
        prediction_error=median(errors) if errors else None,
        subset=made.subset,
        seed=run.workload.seed,
        judge_version=JUDGE_VERSION,
        trial_ids=tuple(t.id for t in trials),
        input_fingerprints=tuple(sorted({s for q in reading if (s := _inputs(run, q))})),
    )


def _names(run: Run, one: Measured) -> set[str]:
    return _tables(run.standings()[one.subject.query.id])


def _inputs(run: Run, one: Measured) -> str | None:
    return run.standings()[one.subject.query.id].input_fingerprint


def _regrowth_days(run: Run, made: _Rewritten) -> float | None:
    """After how many days the table has as many files again; None: it did not lose any, or does not grow."""
    known = run.snapshot.read(READINESS, table=made.proposal.table)
    grows = known[-1].files_per_day if known else None
    fewer = made.change.files_removed - made.change.files_added if made.change else 0
    return fewer / grows if grows and fewer > 0 else None
