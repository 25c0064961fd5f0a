"""Every regression gate by name: which table it watches, what it asks, and the answers for a workload's queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
        "plan_artifacts",
        "Spark still plans the query with the same operators, joins and exchanges as the plan that was accepted.",
        of_history=observed.plan_topology_stable,
    ),
    "deterministic": Check(
        "plan_artifacts",
        "Planning the query twice on the same data gives the same plan.",
        of_history=observed.deterministic,
    ),
    "estimates_sane": Check(
        "plan_nodes",
        "No join was chosen because Spark misjudged a table's size by 10 times or more.",
        of_history=observed.estimates_sane,
    ),
    "pushdown_effective": Check(
        "scan_outcomes",
        "Filters reach the files: no scan reads files or columns that its filters could have skipped.",
        of_history=observed.pushdown_effective,
    ),
    "native_scan": Check(
        "scan_outcomes",
        "Every table is read by Spark's fast Delta reader, at the version this run fixed at its start.",
        of_history=observed.native_scan,
    ),
    "protocol_compatible": Check(
        "input_tables",
        "This Spark can read all tables of the query: it knows every Delta feature they use.",
        of_history=observed.protocol_compatible,
    ),
    "contract_kept": Check(
        "input_tables",
        "Columns, types and constraints of the tables are compatible with those of the last run.",
        of_history=observed.contract_kept,
    ),
    "results_equal": Check(
        "verdicts",
        "Every change that was tried returned the same rows as the baseline.",
        of_standing=validated.results_equal,
        blocking=True,
    ),
    "gain_proven": Check(
        "verdicts",
        "The change that was tried is better beyond measuring noise. If not, the query stays as it is.",
        of_standing=validated.gain_proven,
    ),
    "not_regressed": Check(
        "active_policies",
        "What is in force was proven by trials or chosen by a person, and nothing measured since speaks against it.",
        of_standing=validated.not_regressed,
        blocking=True,
    ),
    "conditions_hold": Check(
        "active_policies",
        "What is in force was proven on tables of about the size they have now.",
        of_standing=validated.conditions_hold,
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
    if missing is not None:
        return Gate.without_evidence(str(missing))
    return replace(answer, run_id=_run_of(check, found.get(query), standings[query]))


def _run_of(check: Check, history: ObservationHistory | None, standing: Standing) -> str:
    """The run that stored what was looked at."""
    if check.of_history is not None:
        last = history.last if history else None
        return last.artifacts[0].stamp.run_id if last else ""
    deciding = standing.promoted_by if check.asset == "active_policies" else standing.deciding
    return deciding.stamp.run_id if deciding else ""
