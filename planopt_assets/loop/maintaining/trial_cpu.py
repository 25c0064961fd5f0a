"""What each query took on the table as it is and on the new layout, from the stored trials of a verdict."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from planopt_assets.store.codecs.maintaining import LAYOUT_TRIALS
from planopt_assets.store.codecs.observing import EXECUTIONS

if TYPE_CHECKING:
    from planopt_assets.maintain.markdown import Cpu
    from planopt_assets.model.layout_verdict import LayoutVerdict
    from planopt_assets.store.snapshot import Snapshot


def trial_cpu(snapshot: Snapshot, verdict: LayoutVerdict) -> Cpu:
    """By query: CPU before and after, in nanoseconds, medians over the rounds; all bindings of a round together.

    Warm-ups, tainted executions and those of original beside a policy in force are left out.
    """
    if not verdict.trial_ids:
        return {}
    trials = snapshot.read(LAYOUT_TRIALS, trial_id=verdict.trial_ids)
    counted = [t for t in trials if t.status == "ok" and not t.warm_up]
    in_force = {t.query_id: t.policy_id for t in counted if not t.layout}
    executions = snapshot.read(EXECUTIONS, execution_id=[t.id for t in counted]) if counted else []
    took = {e.id: e.counters.cpu_ns for e in executions}
    rounds: dict[tuple[str, bool], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for trial in counted:
        if trial.policy_id == in_force.get(trial.query_id) and (cpu := took.get(trial.id)) is not None:
            rounds[trial.query_id, trial.layout][trial.round] += cpu
    sides = {side: median(found.values()) for side, found in rounds.items()}
    return {q: (sides[q, False], sides[q, True]) for q in in_force if {(q, False), (q, True)} <= sides.keys()}
