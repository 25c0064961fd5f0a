"""A verdict as decide remembers it: what was tried, how it ended, and on what kind of inputs."""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.model.policy import Policy
from planopt_assets.model.verdict import Outcome


@dataclass(frozen=True, slots=True)
class PastVerdict:
    """One stored verdict; `judged_at` is in seconds since 1970, an argument like any other."""

    verdict_id: str
    policy: Policy
    outcome: Outcome
    reason: str
    canonical_fingerprint: str | None  # None: judged before planopt kept it
    context_hash: str | None
    input_bytes: int | None
    judged_at: int
