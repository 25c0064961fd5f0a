"""Is a change worth trying at all? Asked before anything runs, and answered alike every time.

The query's CPU is modelled from counters that do not vary (rows, files, tasks, blocks), not taken from the clock: one
run on a cold or busy machine costs several times its usual CPU, and the same inputs must give the same decision. The
prices are at the lower end of what was measured, as those of the rules are, so their ratio is fair.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer
from planopt_assets.model.counters import Counters
from planopt_assets.model.evidence import Evidence

HORIZON_DAYS = 30  # a policy is expected to stand this long
EXPECTED_PAIRS = 10  # executions of both sides a trial takes
FLOOR_SHARE = 0.02  # of the query's CPU; below it no trial can tell the gain from noise

CPU_PER_ROW_NS = 1_000  # reading one row and doing a little with it
CPU_PER_FILE_NS = 2_000_000  # opening one file and reading its footer
CPU_PER_TASK_NS = 5_000_000
CPU_PER_QUERY_NS = 100_000_000  # planning and starting it


def immaterial(answer: Answer, evidence: Evidence) -> tuple[str | None, dict[str, int | float | str]]:
    """The reason a proposal is not worth a trial (or None), with the arithmetic.

    Worked: 0.24 s saved x 24 runs x 30 days = 173 s against a trial of 10 pairs of a 1.5 s query = 30 s: worth it.
    """
    cpu = sum(modelled_cpu_ns(e.counters) for e in evidence.executions)
    saving = min(answer.saved_cpu_ns, cpu)  # nothing can save more than the query costs
    horizon_saving = saving * evidence.runs_per_day * HORIZON_DAYS
    trial_cost = 2 * EXPECTED_PAIRS * cpu
    arithmetic: dict[str, int | float | str] = {
        "saving_cpu_ns_per_run": saving,
        "modelled_cpu_ns": cpu,
        "runs_per_day": evidence.runs_per_day,
        "horizon_days": HORIZON_DAYS,
        "saving_cpu_ns_over_horizon": round(horizon_saving),
        "trial_cost_cpu_ns": trial_cost,
        "floor_share": FLOOR_SHARE,
    }
    if saving < FLOOR_SHARE * cpu:
        return f"would save {saving / 1e6:.0f} ms of about {cpu / 1e6:.0f} ms CPU, below {FLOOR_SHARE:.0%}", arithmetic
    if horizon_saving <= trial_cost:
        words = f"would save {horizon_saving / 1e9:.1f} s CPU in {HORIZON_DAYS} days"
        return f"{words}, the trial costs {trial_cost / 1e9:.1f} s", arithmetic
    return None, arithmetic


def modelled_cpu_ns(counters: Counters) -> int:
    """What an execution costs by its work alone.

    Worked: 765,000 rows, 201 files, 17 tasks: 0.1 + 0.765 + 0.402 + 0.085 = 1.35 s.
    """
    return (
        CPU_PER_QUERY_NS
        + counters.input_rows * CPU_PER_ROW_NS
        + counters.scan_files * CPU_PER_FILE_NS
        + counters.tasks * CPU_PER_TASK_NS
    )
