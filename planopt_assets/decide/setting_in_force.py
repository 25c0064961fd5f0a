"""The value of a setting while the query was observed: the policy's, else the session's."""

from __future__ import annotations

from planopt_assets.decide.knobs import size_in_bytes
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.knob import UNSET


def in_force(evidence: Evidence, name: str) -> str | None:
    """None: it is not set and Spark has no default, or an older observation did not record it."""
    value = dict(evidence.policy.settings).get(name, dict(evidence.settings).get(name))
    return None if value == UNSET else value


def switched_on(evidence: Evidence, name: str) -> bool | None:
    value = in_force(evidence, name)
    return None if value is None else value.lower() == "true"


def bytes_in_force(evidence: Evidence, name: str) -> int | None:
    value = in_force(evidence, name)
    return None if value is None else size_in_bytes(value)
