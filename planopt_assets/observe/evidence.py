"""Evidence to and from stored rows: what decide sees is exactly what the store holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planopt_assets.model.counters import Counters
from planopt_assets.model.evidence import Evidence, Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import Exchange, Scan
from planopt_assets.model.trial import Digest, FloatSummary


def signals_json(exchanges: Sequence[Exchange], scans: Sequence[Scan]) -> str:
    return json.dumps(
        {"exchanges": [asdict(x) for x in exchanges], "scans": [asdict(s) for s in scans]}, sort_keys=True
    )


def digest_json(digest: Digest) -> str:
    return json.dumps(asdict(digest), sort_keys=True)


def digest_from_json(text: str) -> Digest:
    content = json.loads(text)
    return Digest(
        content["rows"], content["exact"], content["bits"], tuple(FloatSummary(**f) for f in content["floats"])
    )


def evidence_from_rows(
    artifacts: Sequence[Mapping[str, Any]], counters: Sequence[Mapping[str, Any]], runs_per_day: float
) -> Evidence:
    """One observation of all bindings, from `plan_artifacts` and `runtime_counters` rows."""
    by_id = {c["execution_id"]: c for c in counters}
    ordered = sorted(artifacts, key=lambda a: a["binding"])
    first = ordered[0]
    return Evidence(
        query_id=first["query_id"],
        query_fingerprint=first["query_fingerprint"],
        input_fingerprint=first["input_fingerprint"],
        plan_fingerprint=first["plan_fingerprint"],
        policy=ORIGINAL,
        settings=tuple(sorted(json.loads(first["settings"]).items())),
        executions=tuple(_execution(a, by_id[a["observation_id"]]) for a in ordered),
        runs_per_day=runs_per_day,
    )


def _execution(artifact: Mapping[str, Any], counters: Mapping[str, Any]) -> Execution:
    signals = json.loads(artifact["signals"])
    return Execution(
        observation_id=artifact["observation_id"],
        counters=Counters(**{name: counters[name] for name in Counters.names()}),
        exchanges=tuple(Exchange(**x) for x in signals["exchanges"]),
        scans=tuple(Scan(**s) for s in signals["scans"]),
    )
