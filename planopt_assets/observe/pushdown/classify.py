"""Joins three signals of a scan: what its predicates could be used for, what was pushed, and what was skipped."""

from __future__ import annotations

from collections.abc import Mapping

from planopt_assets.model.scan import (
    Conjunct,
    ConjunctOutcome,
    Finding,
    Funnel,
    Level,
    Outcome,
    ScanFacts,
    ScanOutcome,
    Status,
    TableScanInfo,
)
from planopt_assets.observe.pushdown.causes import Cause, cause_of
from planopt_assets.observe.pushdown.eligibility import LEVELS, skips_row_groups, usable
from planopt_assets.observe.pushdown.expressions import key
from planopt_assets.observe.pushdown.families import family, table_class
from planopt_assets.observe.pushdown.pushed import list_with_gaps, was_pushed
from planopt_assets.observe.pushdown.thresholds import Thresholds

SKIPPING = "spark.databricks.delta.stats.skipping"
PARQUET = "spark.sql.parquet.filterPushdown"
SETTINGS = (SKIPPING, PARQUET)
"""Settings that switch push-down off. Both are on by default."""


def classify(
    facts: ScanFacts, offers: TableScanInfo, settings: Mapping[str, str], thresholds: Thresholds
) -> ScanOutcome:
    """The outcome of one scan, with a finding if an avoidable cause made it read too much."""
    judged = tuple(_judge(c, facts, offers, settings) for c in facts.conjuncts if not c.inferred)
    kind = table_class(offers)
    share = pruned_share(facts.funnel)
    outcome = _outcome(judged, facts)
    return ScanOutcome(
        table=facts.table,
        version=facts.version,
        position=facts.position,
        table_class=kind,
        outcome=outcome,
        reason=_reason(outcome, judged, facts),
        conjuncts=judged,
        runtime_filters=facts.runtime_filters,
        pruned_share=share,
        finding=_finding(judged, facts.funnel, kind, share, thresholds),
    )


def pruned_share(funnel: Funnel) -> float | None:
    """Share of the table's bytes that the run did not read. None before the run.

    >>> from planopt_assets.model.scan import Size
    >>> pruned_share(Funnel(total=Size(8, 800), read=Size(2, 200)))
    0.75
    """
    if not funnel.total.bytes or funnel.read.bytes is None:
        return None
    return 1 - funnel.read.bytes / funnel.total.bytes


def _judge(conjunct: Conjunct, facts: ScanFacts, offers: TableScanInfo, settings: Mapping[str, str]) -> ConjunctOutcome:
    predicate = conjunct.expression
    could, used = usable(predicate, offers), _used(conjunct, facts, offers, settings)
    cause = _cause(conjunct, could, used, facts, offers, settings)
    described = family(predicate, offers)
    if cause is None:
        return ConjunctOutcome(conjunct.text, described, conjunct.place, could, used, "pushed", reason=_used_for(used))
    status: Status = "residual" if not cause.fix else "weakened" if _chooses_files(used) else "missed"
    return ConjunctOutcome(
        conjunct.text,
        described,
        conjunct.place,
        could,
        used,
        status,
        cause.name,
        cause.reason,
        cause.fix,
        cause.fixed_family,
    )


def _used(conjunct: Conjunct, facts: ScanFacts, offers: TableScanInfo, settings: Mapping[str, str]) -> Level:
    """What the plan used the predicate for."""
    if conjunct.place == "partition" or _partition_part(conjunct, facts):
        return "partitions"
    if key(conjunct.expression) in facts.skipping_filters:
        return "files"
    pushed = _on(settings, PARQUET) and was_pushed(conjunct.expression, facts.pushed_filters)
    return "row groups" if pushed and skips_row_groups(conjunct.expression, offers) else "nothing"


def _partition_part(conjunct: Conjunct, facts: ScanFacts) -> bool:
    """Spark extracts a partition filter from an OR over mixed columns if every side has one."""
    columns = set(conjunct.expression.columns)
    return conjunct.place == "above" and any(
        c.place == "partition" and not c.inferred and set(c.expression.columns) < columns for c in facts.conjuncts
    )


def _cause(
    conjunct: Conjunct,
    could: Level,
    used: Level,
    facts: ScanFacts,
    offers: TableScanInfo,
    settings: Mapping[str, str],
) -> Cause | None:
    """Why the predicate did less than it could. None: it did all it could."""
    predicate = conjunct.expression
    described = family(predicate, offers)
    if conjunct.place == "join":
        return Cause("join", "Spark made it a join: which rows match is known only at run time")
    if used == "partitions":
        return None
    if used == "files":
        return _weakness(conjunct, facts, offers, settings)
    if could == "files" and not _on(settings, SKIPPING):
        return Cause("skipping_off", "data skipping is switched off", f"set {SKIPPING}=true", described)
    if LEVELS.index(could) > LEVELS.index("row groups"):
        return Cause("not_pushed", "it could be used, but the plan does not use it", "look at the plan", described)
    cause = cause_of(predicate, offers)
    if not cause.fix and could == "row groups" and not _on(settings, PARQUET):
        return _pushdown_off(described)
    return cause


def _weakness(conjunct: Conjunct, facts: ScanFacts, offers: TableScanInfo, settings: Mapping[str, str]) -> Cause | None:
    """What is lost although the predicate prunes files."""
    described = family(conjunct.expression, offers)
    if (gaps := list_with_gaps(conjunct.expression, facts.pushed_filters)) is not None:
        low, high = gaps
        return Cause(
            "in_list_range",
            f"Delta compares files only with the list's range, {low} to {high}",
            "write a short list as comparisons joined by OR, or split a long one where it has gaps",
            "in_list",
        )
    if not _on(settings, PARQUET) and skips_row_groups(conjunct.expression, offers):
        return _pushdown_off(described)
    return None


def _pushdown_off(described: str) -> Cause:
    return Cause(
        "parquet_pushdown_off", "row groups are not skipped: push-down is off", f"set {PARQUET}=true", described
    )


def _outcome(judged: tuple[ConjunctOutcome, ...], facts: ScanFacts) -> Outcome:
    if not judged:
        return "full_pushdown" if _pruned_at_run_time(facts) else "no_predicate"
    avoidable = [c for c in judged if c.status in ("missed", "weakened")]
    if avoidable:
        helped = _pruned_at_run_time(facts) or any(_chooses_files(c.used) for c in judged)
        return "partial_pushdown" if helped else "pushdown_missed"
    return "expected_residual" if any(c.status == "residual" for c in judged) else "full_pushdown"


def _reason(outcome: Outcome, judged: tuple[ConjunctOutcome, ...], facts: ScanFacts) -> str:
    if outcome == "no_predicate":
        return "no predicate on this table" + "".join(f"; {f}, row by row" for f in facts.runtime_filters)
    if not judged:
        return "; ".join(facts.runtime_filters)
    shown = [c for c in judged if c.cause] or list(judged)
    return "; ".join(f"{c.text}: {c.reason}" for c in shown)


def _finding(
    judged: tuple[ConjunctOutcome, ...], funnel: Funnel, kind: str, share: float | None, thresholds: Thresholds
) -> Finding | None:
    """The first avoidable cause with an effect. A scan that had to read most of the table has none."""
    if share is None or not funnel.read.rows or funnel.matched.rows is None:
        return None
    if funnel.matched.rows / funnel.read.rows > thresholds.wanted_share:
        return None
    one_file = funnel.total.files is not None and funnel.total.files <= 1
    for c in judged:
        if c.status not in ("missed", "weakened") or (one_file and c.cause != "parquet_pushdown_off"):
            continue
        if share < thresholds.little(kind, c.fixed_family):
            return Finding(c.text, c.cause, c.reason, c.fix)
    return None


def _pruned_at_run_time(facts: ScanFacts) -> bool:
    return any(text.startswith("dynamic pruning") for text in facts.runtime_filters)


def _chooses_files(level: Level) -> bool:
    return level in ("files", "partitions")


def _used_for(level: Level) -> str:
    return {"partitions": "prunes partitions", "files": "prunes files by their statistics"}.get(level, "")


def _on(settings: Mapping[str, str], name: str) -> bool:
    return settings.get(name, "true").lower() == "true"
