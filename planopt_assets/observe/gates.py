"""What observing must not find, as pure answers over a query's history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from planopt_assets.model.bundle import differing
from planopt_assets.model.gate import NEVER_RAN, Compared, Gate
from planopt_assets.model.observation import Observation, ObservationHistory, PlanArtifact
from planopt_assets.model.table_record import TableRecord
from planopt_assets.observe.plans.diff import plan_diff
from planopt_assets.observe.plans.stored_plan import read_plan
from planopt_assets.observe.tables.contract import contract_drift

MISLED = 10.0
"""A join input reckoned this many times too large or too small, across the broadcast threshold, is worth a look."""
_WITHIN = f"an estimate wrong by {MISLED:.0f} times or more, on the other side of the broadcast threshold"
_ALL_EQUAL = "every part equal"
_NONE = "none allowed"
_SAME_SHAPE = "the same operators, join strategies and exchanges"


def _of_captured(gate: Callable[[ObservationHistory, Observation], Gate]) -> Callable[[ObservationHistory], Gate]:
    """A gate that has something to say only where the newest observation succeeded."""

    @wraps(gate)
    def asked(history: ObservationHistory) -> Gate:
        if history.last is None:
            return Gate.without_evidence(NEVER_RAN)
        if not history.last.captured:
            return _without_plan(history.last)
        return gate(history, history.last)

    return asked


def _without_plan(last: Observation) -> Gate:
    """A refusal is an answer: nothing of the query runs. A failure is none."""
    missed = next((a for a in last.artifacts if a.status == "failed"), None)
    if missed is not None:
        return Gate.without_evidence(f"the query failed ({missed.error_code})")
    missed = next(a for a in last.artifacts if not a.captured)
    return Gate(True, False, f"nothing to look at: the query was {missed.status} ({missed.error_code})")


def _of_bundle(gate: Callable[[ObservationHistory, Observation], Gate]) -> Callable[[ObservationHistory], Gate]:
    """A gate over what only schema version 2 records."""

    @wraps(gate)
    def asked(history: ObservationHistory, last: Observation) -> Gate:
        if any(a.bundle_hash is None for a in last.artifacts):
            return Gate.without_evidence("an older planopt observed it and did not record this")
        return gate(history, last)

    return _of_captured(asked)


@_of_captured
def plan_topology_stable(history: ObservationHistory, last: Observation) -> Gate:
    """Is the shape of the plan the one that was last accepted?

    A change on the same inputs, settings and engine (`canonical`) is an error until a person accepts it. Where inputs
    or settings moved (`stable`) it is a warning, where the engine did (`best_effort`) a remark; both then become the
    accepted shape.
    """
    accepted = _accepted(history)
    if accepted is None or accepted is last:
        compared = Compared("no plan yet", _shape(last), _SAME_SHAPE)
        words = "first observation: its plan is the one to keep" if accepted is None else "accepted"
        return Gate(True, False, words, compared=compared)
    compared = Compared(_shape(accepted), _shape(last), _SAME_SHAPE)
    if accepted.topologies == last.topologies:
        if accepted.final_topologies == last.final_topologies:
            return Gate(True, False, "same plan as accepted, before and after execution", compared=compared)
        diff = _diff(history, accepted, last, "final")
        words = "same plan; only what adaptive execution made of it differs (best_effort)"
        return Gate(True, False, words, diff, compared=compared)
    tier = determinism_tier(accepted, last)
    words = {
        "canonical": "the plan changed though inputs, settings and engine did not (canonical); "
        f"accept it with `planopt accept {last.query_id}`",
        "stable": "the plan changed after inputs or settings did (stable)",
        "best_effort": "the plan changed with the engine (best_effort)",
    }[tier]
    diff = _diff(history, accepted, last, "initial")
    return Gate(tier == "best_effort", tier == "canonical", words, diff, compared=compared)


def _shape(observation: Observation) -> str:
    return f"plan shape {', '.join(t or 'unknown' for t in observation.topologies)}"


def determinism_tier(before: Observation, after: Observation) -> str:
    """How surely two observations should have had the same plan: `canonical`, `stable` or `best_effort`."""
    pairs = list(zip(before.artifacts, after.artifacts, strict=False))
    if any(None in _engine(a) or _engine(a) != _engine(b) for a, b in pairs):
        return "best_effort"
    return "canonical" if all(_given(a) == _given(b) and _same_heads(a, b) for a, b in pairs) else "stable"


def _engine(artifact: PlanArtifact) -> tuple[str | None, ...]:
    return artifact.engine, artifact.extractor, artifact.rulepack_hash


def _given(artifact: PlanArtifact) -> tuple[str | None, ...]:
    return artifact.query_fingerprint, artifact.snapshot_hash, artifact.planning_env_hash


def _same_heads(before: PlanArtifact, after: PlanArtifact) -> bool:
    """Whether both read the same commits: diverged copies have a version each. Unknown ones count as equal."""
    known = {t.name: t.head for t in before.tables}
    return all(None in (t.head, known.get(t.name)) or t.head == known[t.name] for t in after.tables)


def _accepted(history: ObservationHistory) -> Observation | None:
    """The observation whose plan counts as normal, from all before the last one; None if there is none before."""
    *earlier, last = [o for o in history.observations if o.captured]
    if last.ids & history.accepted:
        return last
    normal: Observation | None = None
    for observation in earlier:
        if (
            normal is None
            or normal.topologies == observation.topologies
            or observation.ids & history.accepted
            or determinism_tier(normal, observation) != "canonical"
        ):
            normal = observation
    return normal


@_of_bundle
def pushdown_effective(history: ObservationHistory, last: Observation) -> Gate:
    """Did every scan skip what its predicates allow it to skip?"""
    findings = [s for s in last.scans if s.finding]
    shares = [s.pruned_share for s in last.scans if s.pruned_share is not None]
    numbers = {"scans": float(len(last.scans)), "findings": float(len(findings))}
    numbers |= {"least_pruned_share": min(shares)} if shares else {}
    details = _table(("table", "outcome", "why"), [(s.table, s.outcome, s.reason) for s in last.scans])
    compared = Compared("0 scans with avoidable reads", f"{len(findings)} of {len(last.scans)}", _NONE)
    if findings:
        words = f"{findings[0].table}: {findings[0].finding}"
        return Gate(False, False, words, details, numbers, compared=compared)
    words = f"{len(last.scans)} scan(s), nothing avoidable was read"
    return Gate(True, False, words, details, numbers, compared=compared)


@_of_bundle
def native_scan(history: ObservationHistory, last: Observation) -> Gate:
    """Was every registered table read by the vectorised Delta scan, at the version this run had pinned?"""
    pinned = {t.name: t.version for a in last.artifacts for t in a.tables}
    wrong = [
        f"{s.table} was read at version {s.table_version}, pinned is {pinned.get(s.table)}"
        for s in last.scans
        if s.table_version != pinned.get(s.table)
    ]
    wrong += [f"{s.table} was read row by row ({s.file_index})" for s in last.scans if not s.native]
    wrong += [f"{kind} is not a native scan" for a in last.artifacts for kind in a.other_scans]
    compared = Compared(f"{len(last.scans)} native scan(s) at pinned versions", f"{len(wrong)} deviation(s)", _NONE)
    if wrong:
        return Gate(False, True, "; ".join(dict.fromkeys(wrong)), compared=compared)
    return Gate(True, False, f"{len(last.scans)} scan(s), all native and at the pinned version", compared=compared)


@_of_bundle
def deterministic(history: ObservationHistory, last: Observation) -> Gate:
    """Does planning the query again on the same inputs and settings give the same bundle, part by part?"""
    unstable = sorted({part for a in last.artifacts for part in a.unstable_parts})
    if unstable:
        compared = Compared("the first planning", f"other {', '.join(unstable)}", _ALL_EQUAL)
        return Gate(False, True, f"planned twice, and not the same: {', '.join(unstable)}", compared=compared)
    before = next((o for o in reversed(history.observations[:-1]) if _same_inputs(o, last)), None)
    if before is not None:
        pairs = zip(before.artifacts, last.artifacts, strict=True)
        if parts := sorted({part for a, b in pairs for part in differing(a.bundle_parts, b.bundle_parts)}):
            compared = Compared("the observation before", f"other {', '.join(parts)}", _ALL_EQUAL)
            return Gate(False, True, f"not what the same inputs gave before: {', '.join(parts)}", compared=compared)
    bundle = last.artifacts[0].bundle_hash
    words = f"plans, scans and settings are the same each time they are made on the same inputs ({bundle})"
    return Gate(True, False, words, compared=Compared("the first planning", "the same", _ALL_EQUAL))


def _same_inputs(before: Observation, after: Observation) -> bool:
    """Whether the bundles must be the same; what failed or is of an older planopt has no settings recorded."""
    return [_planned_on(a) for a in before.artifacts] == [_planned_on(a) for a in after.artifacts]


def _planned_on(artifact: PlanArtifact) -> tuple[Any, ...]:
    return artifact.binding, artifact.input_fingerprint, artifact.planning_env_hash, artifact.rulepack_hash


def protocol_compatible(history: ObservationHistory) -> Gate:
    """Does this engine know every feature of the tables that the query reads?"""
    if history.last is None:
        return Gate.without_evidence(NEVER_RAN)
    if not any(a.captured or a.error_code == "PLN-212" for a in history.last.artifacts):
        return _without_plan(history.last)
    tables = {t.table: t for t in history.last.tables}.values()
    unreadable = [
        f"{t.table} needs {', '.join(t.unknown_reader_features)}" for t in tables if t.unknown_reader_features
    ]
    compared = Compared("0 tables that cannot be read", f"{len(unreadable)} of {len(tables)}", _NONE)
    if unreadable:
        return Gate(False, True, "; ".join(unreadable), compared=compared)
    unwritable = [f"{t.table} ({', '.join(t.unknown_writer_features)})" for t in tables if t.unknown_writer_features]
    words = f"{len(tables)} table(s) readable"
    words = f"{words}; no maintenance for {'; '.join(unwritable)}" if unwritable else words
    return Gate(True, False, words, compared=compared)


def contract_kept(history: ObservationHistory) -> Gate:
    """Do the tables still have the schema and the constraints that they had when last looked at?"""
    if history.last is None:
        return Gate.without_evidence(NEVER_RAN)
    then = _contract([t for o in history.observations[:-1] for t in o.tables])
    now = _contract(history.last.tables)
    both = then.keys() & now.keys()
    if not both:
        looked = history.last.captured or now
        return Gate(True, False, "nothing to compare with yet") if looked else _without_plan(history.last)
    if history.last.ids & history.accepted:
        return Gate(True, False, "accepted as it is now")
    drifts = contract_drift({t: then[t] for t in both}, {t: now[t] for t in both})
    breaking = [d for d in drifts if d.severity == "breaking"]
    details = _table(("table", "severity", "what"), [(d.table, d.severity, d.words) for d in drifts])
    numbers = {"drifts": float(len(drifts)), "breaking": float(len(breaking))}
    compared = Compared("0 breaking changes", f"{len(breaking)} breaking of {len(drifts)} change(s)", _NONE)
    if breaking:
        return Gate(False, True, f"{breaking[0].table}: {breaking[0].words}", details, numbers, compared=compared)
    words = f"{len(drifts)} compatible change(s): {drifts[0].words}" if drifts else f"{len(both)} table(s) unchanged"
    return Gate(True, False, words, details, numbers, compared=compared)


@_of_bundle
def estimates_sane(history: ObservationHistory, last: Observation) -> Gate:
    """Did an estimate put a join input on the wrong side of the broadcast threshold?"""
    factors = [a.worst_error_factor for a in last.artifacts if a.worst_error_factor is not None]
    numbers = {"worst_error_factor": max(factors)} if factors else {}
    misled = [m for a in last.artifacts for m in a.misled_joins if m.factor >= MISLED]
    details = _table(
        ("operator", "estimated bytes", "actual bytes", "factor"),
        [(m.kind, f"{m.estimated:,}", f"{m.actual:,}", f"{m.factor:,.0f}") for m in misled],
    )
    if misled:
        worst = max(misled, key=lambda m: m.factor)
        words = (
            f"a join input was reckoned at {worst.estimated:,} bytes and had {worst.actual:,}: "
            "broadcast or not was decided wrongly"
        )
        compared = Compared(f"{worst.estimated:,} bytes estimated", f"{worst.actual:,} bytes", _WITHIN)
        return Gate(False, False, words, details, numbers, compared=compared)
    compared = Compared("0 joins misled by an estimate", "0", _WITHIN)
    return Gate(True, False, "no join was planned on a wrong estimate", details, numbers, compared=compared)


def _contract(tables: Sequence[TableRecord]) -> dict[str, Any]:
    """What was last seen of each table."""
    return {name: part for t in tables for name, part in t.contract.items()}


def _diff(history: ObservationHistory, before: Observation, after: Observation, phase: str) -> str:
    """The first binding whose plans differ; a plan that was too large to keep cannot be shown."""
    for a, b in zip(before.artifacts, after.artifacts, strict=False):
        old, new = history.plan_of(a.observation_id), history.plan_of(b.observation_id)
        if old is None or new is None:
            return "The plan is too large to be kept: there is nothing to compare."
        if text := plan_diff(read_plan(old, phase), read_plan(new, phase), {}, {}):
            return f"```diff\n{text}\n```"
    return ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(str(c).replace('|', chr(92) + '|') for c in row)} |" for row in rows)])
