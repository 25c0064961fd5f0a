"""Why a policy is not put in force, or not taken back: PLN-4xx."""

from __future__ import annotations

from planopt_assets.errors.base import PlanoptError


class PromotionRefused(PlanoptError):
    """There is no accepted verdict for exactly this candidate on these inputs."""

    code = "PLN-401"


class PromotionConflict(PlanoptError):
    """Somebody else changed the active policy first."""

    code = "PLN-402"


class ChainBroken(PlanoptError):
    """The promotions of a query do not chain: a row was changed or is missing."""

    code = "PLN-403"


class VerdictStale(PlanoptError):
    """The verdict was given on other inputs, or a newer one of the same candidate speaks."""

    code = "PLN-404"


class PolicyFixed(PlanoptError):
    """A person pinned the policy, and automation does not override a person."""

    code = "PLN-405"


class VerdictSpent(PlanoptError):
    """The policy of this verdict was in force and was taken back since."""

    code = "PLN-406"


class NothingToChange(PlanoptError):
    """The policy asked for is in force already, or there is nothing to take back."""

    code = "PLN-407"


class PinRefused(PlanoptError):
    """A policy that may not be pinned: a setting outside the catalogue or its bounds, or a result that differs."""

    code = "PLN-408"
