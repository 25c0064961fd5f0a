"""A scan and its outcome as one row of the store."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from planopt_assets.model.scan import ScanFacts, ScanOutcome

_STEPS = ("total", "partition", "scanned", "read", "matched")


def outcome_row(facts: ScanFacts, outcome: ScanOutcome) -> dict[str, Any]:
    """The columns of `scan_outcomes` that belong to the scan itself."""
    sizes = {f"{step}_{part}": n for step in _STEPS for part, n in asdict(getattr(facts.funnel, step)).items()}
    return {
        "scan": facts.position,
        "table": facts.table,
        "table_version": facts.version,
        "table_class": outcome.table_class,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "finding": f"{outcome.finding.reason}: {outcome.finding.fix}" if outcome.finding else None,
        "conjuncts": json.dumps([asdict(c) for c in outcome.conjuncts], sort_keys=True),
        "families": list(outcome.families),
        "runtime_filters": list(outcome.runtime_filters),
        "pushed_filters": list(facts.pushed_filters),
        "skipping_type": facts.skipping_type,
        "file_index": facts.file_index,
        "native": facts.native,
        "columns": list(facts.columns),
        "pruned_share": outcome.pruned_share,
        **sizes,
    }
