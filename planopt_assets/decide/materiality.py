"""Is a change worth trying at all? Asked before anything runs."""

from __future__ import annotations

from planopt_assets.decide.answer import Answer
from planopt_assets.model.evidence import Evidence

HORIZON_DAYS = 30  # a policy is expected to stand this long
EXPECTED_PAIRS = 10  # executions of both sides a trial takes
FLOOR_SHARE = 0.02  # of the query's CPU; below it no trial can tell the gain from noise


def immaterial(answer: Answer, evidence: Evidence) -> tuple[str | None, dict[str, int | float | str]]:
    """The reason a proposal is not worth a trial (or None), with the arithmetic.

    Worked: 0.48 s saved x 24 runs x 30 days = 345 s against a trial of 10 pairs of a 3 s query = 60 s: worth it.
    """
    cpu = sum(e.counters.cpu_ns for e in evidence.executions)
    saving = min(answer.saved_cpu_ns, cpu)  # nothing can save more than the query costs
    horizon_saving = saving * evidence.runs_per_day * HORIZON_DAYS
    trial_cost = 2 * EXPECTED_PAIRS * cpu
    arithmetic: dict[str, int | float | str] = {
        "saving_cpu_ns_per_run": saving,
        "observed_cpu_ns": cpu,
        "runs_per_day": evidence.runs_per_day,
        "horizon_days": HORIZON_DAYS,
        "saving_cpu_ns_over_horizon": round(horizon_saving),
        "trial_cost_cpu_ns": trial_cost,
        "floor_share": FLOOR_SHARE,
    }
    if saving < FLOOR_SHARE * cpu:
        return f"would save {saving / 1e6:.0f} ms of {cpu / 1e6:.0f} ms CPU, below {FLOOR_SHARE:.0%}", arithmetic
    if horizon_saving <= trial_cost:
        words = f"would save {horizon_saving / 1e9:.1f} s CPU in {HORIZON_DAYS} days"
        return f"{words}, the trial costs {trial_cost / 1e9:.1f} s", arithmetic
    return None, arithmetic
