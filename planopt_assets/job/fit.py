"""Does the evidence of the policy in force fit this session and these parameter values? What does not is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.redaction import HIDDEN, redact_all

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.user_session import SparkSession
    from planopt_assets.job.in_force import InForce
    from planopt_assets.model.conditions import Conditions


@dataclass(frozen=True, slots=True)
class Fit:
    """What is applied to a run, and why that is not the whole policy in force; empty if it is."""

    policy: Policy
    reason: str = ""
    control: bool = False  # drawn to run as original, where the whole policy would have been applied


def fitting_policy(found: InForce, spark: SparkSession, parameters: Mapping[str, Any] | None) -> Fit:
    """The part of the policy in force that was proven for this session, and why the rest is not applied.

    A part that depends on cores or memory is left out alone. All parts depend on the engine, on the settings that shape
    plans and on the parameter values. A person's pin rests on no evidence: it is applied as it is.

    A run that was drawn is a control only where the whole policy fits: elsewhere it would have run as original anyway,
    maybe on fewer rows, and would be compared with runs that it has nothing in common with.
    """
    if found.reason and not found.control:
        return Fit(ORIGINAL, found.reason)
    fit = _fit(found, spark, parameters)
    return Fit(ORIGINAL, found.reason, control=True) if found.control and not fit.reason else fit


def _fit(found: InForce, spark: SparkSession, parameters: Mapping[str, Any] | None) -> Fit:
    if not found.proven:
        return Fit(found.policy)
    if why := _untried(found, parameters):
        return Fit(ORIGINAL, why)
    from planopt_assets.engine.user_job.session_facts import session_circumstances

    factor = found.workload.similar_within if found.workload else 1.0
    names = {name for conditions in found.proven for name, _ in conditions.proven.settings}
    now = session_circumstances(spark, sorted(names))
    alike = [conditions for conditions in found.proven if not conditions.unlike(now)]
    if not alike:
        return Fit(ORIGINAL, f"its evidence does not fit: {found.proven[0].unlike(now)}")
    left_out = min((conditions.left_out(now, factor) for conditions in alike), key=len)
    kept = Policy(tuple(part for part in found.policy.parts if part.label not in left_out))
    return Fit(kept, f"its evidence does not fit: {'; '.join(left_out.values())}" if left_out else "")


def _untried(found: InForce, parameters: Mapping[str, Any] | None) -> str:
    """Why these parameter values were never tried. Empty if they were, or if the workload says that any will do."""
    if found.query is not None and found.query.any_values:
        return ""
    tried = [text for conditions in found.proven for text in _values(conditions)]
    if not tried or (parameters is None and all(json.loads(text) == {} for text in tried)):
        return ""
    if parameters is None:
        return "its parameter values are not known: give them as `args`"
    given = _plain(parameters)
    declared = found.query is not None and any(_plain(dict(b)) == given for b in found.query.bindings)
    shown = redact_all(given)  # as the store has it, where a secret value is hidden
    if (declared or shown == given) and HIDDEN not in given.values() and any(json.loads(t) == shown for t in tried):
        return ""
    return "it was never tried with these parameter values: declare them, or set `any_values` for the query"


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(dict(parameters), default=str))
    return plain


def _values(conditions: Conditions) -> tuple[str, ...]:
    return conditions.proven.parameters or ()
