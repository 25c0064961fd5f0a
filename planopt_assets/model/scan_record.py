"""One scan of an observation as it is stored: what it could skip, what it skipped, and why not more."""

from __future__ import annotations

from dataclasses import dataclass, field

from planopt_assets.model.scan import ConjunctOutcome, Funnel, Outcome, ScanFacts, ScanOutcome


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """A row of `scan_outcomes`."""

    observation_id: str
    query_id: str
    binding: int
    scan: int  # among the scans of the plan, depth first
    table: str
    table_version: int
    native: bool
    file_index: str
    outcome: Outcome
    reason: str
    table_class: str | None = None
    finding: str | None = None  # the avoidable cause and what to do about it
    conjuncts: tuple[ConjunctOutcome, ...] = ()
    families: tuple[str, ...] = ()
    pushed_filters: tuple[str, ...] = ()
    runtime_filters: tuple[str, ...] = ()
    skipping_type: str | None = None
    funnel: Funnel = field(default_factory=Funnel)
    pruned_share: float | None = None  # of the table's bytes
    columns: tuple[str, ...] = ()  # read from the files

    @staticmethod
    def of(query_id: str, observation_id: str, binding: int, facts: ScanFacts, outcome: ScanOutcome) -> ScanRecord:
        finding = outcome.finding
        return ScanRecord(
            observation_id,
            query_id,
            binding,
            facts.position,
            facts.table,
            facts.version,
            facts.native,
            facts.file_index,
            outcome.outcome,
            outcome.reason,
            table_class=outcome.table_class,
            finding=f"{finding.reason}: {finding.fix}" if finding else None,
            conjuncts=outcome.conjuncts,
            families=outcome.families,
            pushed_filters=facts.pushed_filters,
            runtime_filters=outcome.runtime_filters,
            skipping_type=facts.skipping_type,
            funnel=facts.funnel,
            pruned_share=outcome.pruned_share,
            columns=facts.columns,
        )
