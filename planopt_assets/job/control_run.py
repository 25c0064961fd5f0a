"""Control runs: a small share of the user's runs goes as original, so that runs under a policy have a comparison.

Only a random choice makes the comparison fair. A job that ran as original for a reason of its own (another session, an
older planopt) may differ from the others in more than the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.model.policy import ORIGINAL
from planopt_assets.observe.bundle import sampled
from planopt_assets.store.control_claims import HOUR_S, claim_control

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Promotion
    from planopt_assets.model.workload import Query, Workload

_HOURS_A_DAY = 24


def is_control(workload: Workload, query: Query, promotion: Promotion | None, run_id: str, now_s: float) -> bool:
    """Whether this run is a control. Nothing is read: a draw by hash, and for one run in twenty the claim of an hour.

    The draw is made from seed, query, generation, run id and hour. All of them are stored with the run, so it can be
    made again. The hour is in it for jobs that give each run the same id. Where the workload file declares more runs
    than one control an hour allows (2,880 a day: one in 120), the share is smaller, so that the choice stays random
    over the hour. A pin has no controls: a person chose it, and watch does not judge it.
    """
    if promotion is None or promotion.fixed or promotion.policy == ORIGINAL:
        return False
    share = min(workload.control_share, _HOURS_A_DAY / query.runs_per_day)
    hour = str(int(now_s // HOUR_S))
    if not sampled(share, "control", str(workload.seed), query.id, promotion.id, run_id, hour):
        return False
    return claim_control(workload.store, workload.name, query.id, now_s)
