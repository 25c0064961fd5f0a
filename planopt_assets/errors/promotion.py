"""Errors of promotion, rollback and pins: PLN-4xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError
from planopt_assets.errors.engine import PolicyNotApplied


class PromotionRefused(PlanoptError):
    """No accepted verdict exists for exactly this candidate on these inputs."""

    code = "PLN-401"


class PromotionConflict(PlanoptError):
    """Another run or person changed the active policy first."""

    code = "PLN-402"


class ChainBroken(PlanoptError):
    """The promotions of a query are not what was written: a row was changed, cannot be read, or is lost."""

    code = "PLN-403"


class VerdictStale(PlanoptError):
    """The verdict was given on other inputs, or the candidate has a newer verdict."""

    code = "PLN-404"


class PolicyFixed(PlanoptError):
    """A person pinned the policy, so automation may not change it."""

    code = "PLN-405"


class VerdictSpent(PlanoptError):
    """The policy of this verdict was in force and was later reverted or expired."""

    code = "PLN-406"


class NothingToChange(PlanoptError):
    """The policy is already in force, or there is nothing to roll back."""

    code = "PLN-407"


class PinRefused(PlanoptError):
    """The policy may not be pinned: a setting is outside the catalogue or its bounds, or the result differs."""

    code = "PLN-408"


class PolicyVetoed(PolicyNotApplied):
    """A stored policy has a part that planopt may not apply, so the query runs as original."""

    code = "PLN-409"


class NothingForAll(PlanoptError):
    """No setting helped most queries of the workload, so there is no policy for all to try; or no trial may run now."""

    code = "PLN-410"
