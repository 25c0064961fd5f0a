"""The veto when a policy is applied: a stored row may say anything, so nothing is applied that could not be proposed.

Whoever can write the store can write any policy into it and make the hashes fit. The knob catalogue is part of the
program, not of the store. So it is asked again wherever a policy leaves the store: in `tuned`, export, sessions and
promotion.
"""

from __future__ import annotations

from planopt_assets.decide.knobs import objections, persons_limits
from planopt_assets.errors import PolicyVetoed
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.workload import Knobs


def objection_to(promotion: Promotion, limits: Knobs) -> str:
    """Why the policy of a generation may not be applied. Empty if it may.

    Automation is bound by all limits of the workload file. A person may pin what the file denies to automation.

    >>> from planopt_assets.promote.transitions import Fix, next_generation
    >>> pinned = next_generation("demo", "q", (), Fix(Policy.of({"spark.sql.ansi.enabled": "false"}), "why", "ada"))
    >>> objection_to(pinned, Knobs())
    'spark.sql.ansi.enabled may change results'
    """
    allowed = persons_limits(promotion.policy, limits) if promotion.fixed else limits
    against = objections(promotion.policy, allowed)
    return against[0] if against else ""


def check_in_force(promotion: Promotion, limits: Knobs) -> None:
    """An error where the policy of a generation may not be applied."""
    if why := objection_to(promotion, limits):
        raise PolicyVetoed(
            f"generation {promotion.generation} is not applied: {why}",
            where=f"query {promotion.query_id}",
            fix=f"take it back with `planopt rollback {promotion.query_id}`; the query runs as original until then",
        )


def check_settings(policy: Policy, limits: Knobs) -> None:
    """An error where a session may not have the settings of a policy, whoever asks: they may change results."""
    settings = Policy.of(dict(policy.settings))
    if against := objections(settings, persons_limits(policy, limits)):
        raise PolicyVetoed(
            against[0], where=policy.id, fix="look at the row that asks for it with `planopt why`: planopt never does"
        )
