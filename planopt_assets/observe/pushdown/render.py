"""Scan outcomes as Markdown: predicate, outcome, reason, and what to do."""

from __future__ import annotations

from collections.abc import Iterable

from planopt_assets.model.scan import ConjunctOutcome, ScanOutcome

_HEADER = ["| scan | predicate | outcome | why | what to do |", "|---|---|---|---|---|"]


def markdown(outcomes: Iterable[ScanOutcome]) -> str:
    """One row for each predicate. A scan without predicates has one row."""
    rows = [row for outcome in outcomes for row in _rows(outcome)]
    return "\n".join([*_HEADER, *rows]) if rows else "No registered table was scanned."


def _rows(outcome: ScanOutcome) -> list[str]:
    scan = f"{outcome.position}: {outcome.table}@{outcome.version}{_skipped(outcome)}"
    if not outcome.conjuncts:
        return [_row(scan, "", outcome.outcome, outcome.reason, "")]
    return [
        _row(
            scan if place == 0 else "",
            _code(c.text),
            outcome.outcome if place == 0 else "",
            c.reason,
            _todo(c, outcome),
        )
        for place, c in enumerate(outcome.conjuncts)
    ]


def _skipped(outcome: ScanOutcome) -> str:
    return "" if outcome.pruned_share is None else f", {outcome.pruned_share:.0%} skipped"


def _todo(conjunct: ConjunctOutcome, outcome: ScanOutcome) -> str:
    found = outcome.finding is not None and outcome.finding.predicate == conjunct.text
    return f"**{conjunct.fix}**" if found else conjunct.fix


def _code(text: str) -> str:
    return f"`{text}`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
