"""Every regression gate by name: which table it watches, what it asks, and the answers for a workload's queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.loop import verdict_gates as validated
from planopt_assets.loop.histories import histories
from planopt_assets.model.gate import Gate
from planopt_assets.model.observation import ObservationHistory
from planopt_assets.observe import gates as observed

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Check:
    """One gate; it answers from a query's history of observations or from where the query stands now."""

    asset: str
    description: str
    of_history: Callable[[ObservationHistory], Gate] | None = None
    of_standing: Callable[[Standing], Gate] | None = None
    blocking: bool = False  # what is downstream of a severe failure does not run


CHECKS: dict[str, Check] = {
    "plan_topology_stable": Check(
        "plan_artifacts", "The plan has the shape that was last accepted.", of_history=observed.plan_topology_stable
    ),
    "deterministic": Check(
        "plan_artifacts", "Planned twice on the same inputs, everything is the same.", of_history=observed.deterministic
    ),
    "estimates_sane": Check(
        "plan_nodes", "No join was planned on a wrong estimate.", of_history=observed.estimates_sane
    ),
    "pushdown_effective": Check(
        "scan_outcomes", "Every scan skipped what its predicates allow.", of_history=observed.pushdown_effective
    ),
    "native_scan": Check(
        "scan_outcomes",
        "Every table was read by the native Delta scan at its pinned version.",
        of_history=observed.native_scan,
    ),
    "protocol_compatible": Check(
        "input_tables", "The engine knows every feature of the tables.", of_history=observed.protocol_compatible
    ),
    "contract_kept": Check(
        "input_tables", "Schemas and constraints are what they were.", of_history=observed.contract_kept
    ),
    "results_equal": Check(
        "verdicts",
        "Every candidate returned exactly what the query returns.",
        of_standing=validated.results_equal,
        blocking=True,
    ),
    "not_regressed": Check(
        "active_policies",
        "The policy in force is proven and no newer trial found it worse.",
        of_standing=validated.not_regressed,
        blocking=True,
    ),
}


def evaluate(
    query_ids: Sequence[str],
    snapshot: Snapshot,
    standings: Mapping[str, Standing],
    names: Sequence[str] = tuple(CHECKS),
) -> dict[str, dict[str, Gate]]:
    """Gates by name and query, from stored rows alone."""
    asked = {name: CHECKS[name] for name in names}
    found = _histories(snapshot, query_ids) if any(c.of_history for c in asked.values()) else {}
    return {name: {q: _answer(check, q, found, standings) for q in query_ids} for name, check in asked.items()}


def _histories(snapshot: Snapshot, query_ids: Sequence[str]) -> dict[str, ObservationHistory]:
    """Read once for all gates that are asked about the same queries."""
    return snapshot.once(f"histories of {sorted(query_ids)}", lambda: histories(snapshot, query_ids))


def _answer(
    check: Check, query: str, found: Mapping[str, ObservationHistory], standings: Mapping[str, Standing]
) -> Gate:
    if check.of_history is not None:
        answer = check.of_history(found[query])
    else:
        assert check.of_standing is not None
        answer = check.of_standing(standings[query])
    # What was seen before the table went away says nothing about the query of today.
    missing = standings[query].missing if answer.passed else None
    return answer if missing is None else Gate.without_evidence(str(missing))
