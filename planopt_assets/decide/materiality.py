"""Is a change worth a trial? Asked before anything runs. The same evidence always gets the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planopt_assets.decide.answer import Answer
from planopt_assets.decide.critical_path import gain_bound
from planopt_assets.decide.prices import SCANNED, modelled_cpu_ns, modelled_execution_cpu_ns, query_cpu_ns
from planopt_assets.model.decision import Decision
from planopt_assets.model.evidence import Evidence, ObservedExecution

HORIZON_DAYS = 30  # how long a policy is expected to stay in force
EXPECTED_EXECUTIONS = 10  # of both sides: a first run and three pairs are 7; what is not settled then takes more
FLOOR_SHARE = 0.02  # of the query's cost, for each proposal: a smaller one is not even worth riding along
TRIAL_SHARE = 0.03  # the same for all of them together: the judge accepts no smaller gain (`Rules.min_gain`)
INSENSITIVE_CPU_NS = 20_000_000  # of work per binding, beside planning and start: there is nothing to save
PLANNED_WITHIN = 3  # times the price of planning and start: what is measured above that is work, modelled or not

Arithmetic = dict[str, int | float | str]


@dataclass(frozen=True, slots=True)
class _Weighed:
    """The saving and the query's whole cost, in the unit of the objective."""

    unit: str
    saving_ns: int
    whole_ns: int


def immaterial(answer: Answer, evidence: Evidence) -> tuple[str | None, Arithmetic]:
    """The reason why a proposal is not worth a trial (None: it is), with the arithmetic.

    Worked: a rule expects to save 0.24 s, in stages that cost 0.9 s. 0.24 s x 24 runs x 30 days = 173 s. The trial is
    10 executions of a 1.5 s query = 15 s. Worth it.

    Worked, objective `latency`: on 2 cores the same saving is 0.12 s wall clock, because the cores share it. That is
    86 s in 30 days. The trial is 10 executions of 0.8 s wall clock = 8 s. Worth it.
    """
    cpu = query_cpu_ns(evidence)
    bound = gain_bound(evidence, answer.nodes)
    saving = min(answer.saved_cpu_ns, bound.cpu_ns, cpu)  # a change cannot save more than the stages it touches cost
    counted = _Weighed("CPU", saving, cpu)
    if evidence.objective == "latency":
        shared = max(answer.saved_wall_ns, saving // evidence.cores)
        counted = _Weighed("by the clock", min(shared, bound.wall_ns), bound.modelled_wall_ns)
    horizon_saving = counted.saving_ns * evidence.runs_per_day * HORIZON_DAYS
    trial_cost = EXPECTED_EXECUTIONS * counted.whole_ns
    arithmetic: Arithmetic = {
        "saving_cpu_ns_per_run": saving,
        "bound_cpu_ns": bound.cpu_ns,
        "bound_wall_ns": bound.wall_ns,
        "query_cpu_ns": cpu,
        "modelled_cpu_ns": modelled_cpu_ns(evidence),
        "modelled_wall_ns": bound.modelled_wall_ns,
        "runs_per_day": evidence.runs_per_day,
        "horizon_days": HORIZON_DAYS,
        "floor_share": FLOOR_SHARE,
    }
    clock = "wall" if evidence.objective == "latency" else "cpu"
    arithmetic |= {
        f"saving_{clock}_ns_per_run": counted.saving_ns,
        f"saving_{clock}_ns_over_horizon": round(horizon_saving),
        f"trial_cost_{clock}_ns": trial_cost,
    }
    if words := insensitive(evidence):
        return words, arithmetic
    if evidence.objective == "latency" and bound.wall_ns < FLOOR_SHARE * bound.modelled_wall_ns:
        words = f"can save at most {bound.wall_ns / 1e6:.0f} ms of about {bound.modelled_wall_ns / 1e6:.0f} ms"
        return f"{words} by the clock, below {FLOOR_SHARE:.0%}: it is not on the critical path", arithmetic
    if counted.saving_ns < FLOOR_SHARE * counted.whole_ns:
        words = f"would save {counted.saving_ns / 1e6:.0f} ms of about {counted.whole_ns / 1e6:.0f} ms {counted.unit}"
        return f"{words}, below {FLOOR_SHARE:.0%}", arithmetic
    if horizon_saving <= trial_cost:
        words = f"would save {horizon_saving / 1e9:.1f} s {counted.unit} in {HORIZON_DAYS} days"
        return f"{words}, the trial costs {trial_cost / 1e9:.1f} s", arithmetic
    return None, arithmetic


def too_little_together(proposed: Sequence[Decision]) -> str:
    """Why all proposals for a query together are not worth a trial. Empty if they are.

    They are tried as one combination, so a small one rides along with a larger one at no cost.

    Worked: page statistics that skip nothing cost 24 ms of 1,170 ms. That is 2 %. If nothing else is proposed, a trial
    would most likely end without an accept. Beside fewer partitions, which save 200 ms, they are tried. Prices are low
    ends, so a gain of twice that can be missed. Objective `bytes` is not asked: it is judged by bytes, not by CPU.
    """
    if not proposed:
        return ""
    clock, whole_ns = proposed[0].by_clock, proposed[0].run_ns
    saving_ns = sum(d.gain_ns for d in proposed)
    if saving_ns >= TRIAL_SHARE * whole_ns:
        return ""
    words = f"would save {saving_ns / 1e6:.0f} ms of about {whole_ns / 1e6:.0f} ms {'by the clock' if clock else 'CPU'}"
    return f"{words}, below {TRIAL_SHARE:.0%}"


def insensitive(evidence: Evidence) -> str | None:
    """The reason why no policy can show a gain on this query, or None: most of a clock would be planning.

    Worked: 25 rows from one file in 2 tasks: 100 ms to plan and start, 12 ms of work. There is nothing to save, also if
    it took 140 ms: planning is not the same for every query. If it took 8 s, as with a regular expression, which
    the model does not know, its work is 7.9 s.
    """
    bindings = len(evidence.executions)
    work_ns = sum(_work_ns(e, evidence.prices.query_ns) for e in evidence.executions)
    if work_ns >= INSENSITIVE_CPU_NS * bindings:
        return None
    cpu = work_ns + evidence.prices.query_ns * bindings
    work = work_ns / 1e6
    return f"insensitive: its work is about {work:.0f} ms of {cpu / 1e6:.0f} ms CPU, the rest is planning and start"


def _work_ns(execution: ObservedExecution, planning_ns: int) -> int:
    """CPU beside planning and start: as modelled, or as measured where that is more than planning can take.

    Every row counts 1 us here, since functions in a query make rows dear, and the model knows nothing of them.
    """
    measured = execution.counters.cpu_ns or 0
    told = measured - planning_ns if measured > PLANNED_WITHIN * planning_ns else 0
    return max(told, modelled_execution_cpu_ns(execution, SCANNED) - SCANNED.query_ns)
