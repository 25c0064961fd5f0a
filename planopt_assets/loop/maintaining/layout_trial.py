"""A layout tried on a clone: rewritten there, raced against the table as it is, charged for, and judged."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from planopt_assets.delta.own_commits import FileChange
from planopt_assets.engine.delta.clones import Clones
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.engine.delta.partial_clone import cut_down
from planopt_assets.engine.delta.pins import pinned
from planopt_assets.engine.delta.rewriting import rewrite
from planopt_assets.engine.execution.block_cpu import with_cpu
from planopt_assets.errors import LayoutNotTried
from planopt_assets.loop.maintain_step import STAGE
from planopt_assets.loop.maintaining.layout_experiment import LayoutExperiment, Measured, Subject
from planopt_assets.loop.maintaining.measured_reads import measured_read
from planopt_assets.loop.maintaining.readers import Asked, Readers, readers_word
from planopt_assets.loop.maintaining.remembering import memory, readers
from planopt_assets.loop.same_results import unmeasured
from planopt_assets.maintain.index import index_reads_less
from planopt_assets.maintain.pay_back import break_even_days, pays_back, regrowth_days
from planopt_assets.maintain.permission import locked_out
from planopt_assets.model.arm import Arm
from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.layout_verdict import LayoutTrial, LayoutVerdict
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.store.codecs.maintaining import READINESS
from planopt_assets.store.codecs.observing import DETAILS, EXECUTIONS
from planopt_assets.store.crash_points import reached
from planopt_assets.validate.judge import JUDGE_VERSION, METRIC

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.maintain.subset import Subset
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.verdict import Judgement


@dataclass(frozen=True, slots=True)
class Tried:
    """What a trial left: a verdict on each proposal, and every execution behind them."""

    verdicts: tuple[LayoutVerdict, ...]
    trials: tuple[LayoutTrial, ...]

    @property
    def accepted(self) -> bool:
        """Whether all of the layouts are: together, or not at all."""
        return all(v.accepted for v in self.verdicts)


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
    subset: Subset | None  # None: all of the table


def try_layouts(run: Run, proposals: Sequence[LayoutProposal]) -> Tried:
    """Clone the tables, lay the clones out, and judge all queries that read one of them, on all clones together.

    Layouts of several tables are tried at once, because one experiment costs as much as another. They are accepted
    together or not at all: if one does not pay for its own rewrite, nobody knows what the others do without it.
    """
    tables = [_pinned(run, proposal) for proposal in proposals]
    everybody = readers(run)
    asked = everybody.of(t.name for t in tables)
    if not asked:
        raise LayoutNotTried(
            "no query that was ever observed reads it",
            where=f"table {tables[0].name}",
            fix="run the loop first: `planopt run`",
        )
    error = min(memory(run, p.table).error_left(p).available for p in proposals)
    rules = run.rules.within(min(run.rules.error, error))
    with ExitStack() as stack:
        made = [_rewritten(run, stack, p, t) for p, t in zip(proposals, tables, strict=True)]
        if out := next((one for one in made if one.locked_out), None):
            told = unmeasured("reject", f"{out.proposal.table}: {out.locked_out}")
            return Tried(_verdicts(run, made, _Shown(told, everybody, available=error)), ())
        reached("after_layout_rewritten")
        experiment = LayoutExperiment(
            run.workspace,
            [_subject(run, one, made) for one in sorted(asked, key=lambda one: one.query_id)],
            trial_prefix=run.event_id("tri", "layout", _key(proposals)),
            run_deadline=run.deadline,
            rules=rules,
            tell=lambda words: run.progress(STAGE, proposals[0].table, words),
        )
        judgement = experiment.run()
        reached("after_layout_trials")
    trials = tuple(_trials(run, proposals[0], experiment))
    shown = _Shown(judgement, everybody, tuple(experiment.queries), trials, error, experiment.error_spent)
    return Tried(_verdicts(run, made, shown), trials)


def _key(proposals: Sequence[LayoutProposal]) -> str:
    """Part of ids: a layout alone and the same one among others are two trials."""
    if len(proposals) == 1:
        return proposals[0].id[4:]
    return content_id("lay", sorted(p.id for p in proposals))[4:]


def _verdicts(run: Run, made: Sequence[_Rewritten], shown: _Shown) -> tuple[LayoutVerdict, ...]:
    return all_or_none([_verdict(run, one, made, shown) for one in made])


def all_or_none(found: Sequence[LayoutVerdict]) -> tuple[LayoutVerdict, ...]:
    """Verdicts on layouts that were tried together: none is accepted if one does not pay for itself."""
    if all(v.accepted for v in found) or not any(v.accepted for v in found):
        return tuple(found)
    out = ", ".join(v.table for v in found if not v.accepted)
    words = f"accepted only together with {out}, which is not: to be tried without it"
    return tuple(replace(v, outcome="inconclusive", reason=f"{words}: {v.reason}") if v.accepted else v for v in found)


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


def _newest(table: PinnedTable) -> PinnedTable:
    return pinned(table.name, table.location, read_table_facts(table.name, table.location))


def _rewritten(run: Run, stack: ExitStack, proposal: LayoutProposal, table: PinnedTable) -> _Rewritten:
    """A clone that lives as long as the stack, rewritten; what that took is what applying will take."""
    if words := run.no_trials:
        raise LayoutNotTried(words, where=f"table {table.name}", fix="the next run tries it")
    clones, spark = Clones(run.workload.store), run.workspace.spark
    limit, seed = run.workload.maintenance.trial_bytes, run.workload.seed
    name = run.event_id("lay", table.name, proposal.id[4:])
    clone, before = stack.enter_context(clones.cloned(spark, table, name)), table
    if subset := cut_down(spark, clone.location, limit, seed):
        part = stack.enter_context(clones.cloned(spark, table, f"{name}-before"))
        cut_down(spark, part.location, limit, seed)
        before = _newest(part)
    cpu, started = run.workspace.instruments.cpu, time.perf_counter_ns()
    (change, _), spent = with_cpu(spark, cpu, lambda: rewrite(spark, clone.location, proposal, name))
    took = time.perf_counter_ns() - started
    old, new = (read_table_facts(table.name, place).protocol for place in (table.location, clone.location))
    out = locked_out(old, new, run.workload.table(table.name).features)
    return _Rewritten(proposal, before, _newest(clone), change, spent, took, out, subset)


def _subject(run: Run, asked: Asked, made: Sequence[_Rewritten]) -> Subject:
    policy = asked.policy
    before = after = Arm(policy, run.workspace.tables)
    for one in made:
        before, after = before.reading(one.before), after.reading(one.after)
    observed = [a.observation_id for a in asked.artifacts]
    details = {d.observation_id: d for d in run.snapshot.read(DETAILS, observation_id=observed)}
    walls = {e.id: e.counters.wall_ns / 1e9 for e in run.snapshot.read(EXECUTIONS, execution_id=observed)}
    digests = [details[o].digest for o in observed]
    # Of some files only, or of another version, it returns something else than was observed.
    part = any(one.subset for one in made) or not asked.standing.captured
    return Subject(
        run.workload.query(asked.query_id),
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


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the experiment came to."""

    judgement: Judgement
    everybody: Readers
    queries: tuple[Measured, ...] = ()
    trials: tuple[LayoutTrial, ...] = ()
    available: float = 0.0  # of the error budget
    spent: float = 0.0


def _verdict(run: Run, made: _Rewritten, everything: Sequence[_Rewritten], shown: _Shown) -> LayoutVerdict:
    """The judge's word, with the rewrite charged: a gain that never pays for it is no gain."""
    together, whole = [m.proposal for m in everything], not any(m.subset for m in everything)
    proposal, judgement, queries = made.proposal, shown.judgement, shown.queries
    change = made.change if proposal.rewrites else None  # statistics name the same files again, and write none
    metric = METRIC[run.workload.objective]
    own = {one.query_id: one for one in shown.everybody.of([proposal.table])}
    reading = [one for one in queries if one.subject.query.id in own]
    measured = tuple(measured_read(proposal, together, one, metric, whole=whole) for one in reading)
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
        reason = f"tried on {made.subset.describe()}: {reason}"
    reason += shown.everybody.not_asked()
    errors = [e for m in measured if (e := m.prediction_error) is not None]
    inputs = [own[one.subject.query.id].standing.input_fingerprint for one in reading]
    return LayoutVerdict(
        id=run.event_id("ver", proposal.table, proposal.id[4:], *([_key(together)] if len(together) > 1 else [])),
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
        files_after=None if made.subset else proposal.files_before - _fewer_files(change),
        break_even_days=days,
        prediction_error=median(errors) if errors else None,
        subset=made.subset.describe() if made.subset else "",
        seed=run.workload.seed,
        judge_version=JUDGE_VERSION,
        trial_ids=tuple(t.id for t in shown.trials),
        input_fingerprints=tuple(sorted({s for s in inputs if s})),
        layout_id=proposal.layout_id,
        readers=readers_word(run.workload, shown.everybody, proposal.table),
        bytes_before=proposal.bytes_before,
        together=tuple(sorted(p.layout_id for p in together)) if len(together) > 1 else (),
        error_available=shown.available,
        error_spent=shown.spent,
    )


def _regrowth_days(run: Run, made: _Rewritten) -> float | None:
    """Growth is known of the whole table: a part of it that was tried has its share."""
    known = run.snapshot.read(READINESS, table=made.proposal.table)
    share = made.subset.share if made.subset else 1.0
    return regrowth_days(_fewer_files(made.change), known[-1].files_per_day if known else None, share)


def _fewer_files(change: FileChange | None) -> int:
    return change.files_removed - change.files_added if change else 0
