"""Evidence to and from stored rows: what decide sees is exactly what the store holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from planopt_assets.model.counters import Counters
from planopt_assets.model.evidence import Evidence, Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import (
    Aggregation,
    Exchange,
    Join,
    JoinInput,
    PythonFunction,
    Scan,
    Signals,
    Spill,
    Stage,
)
from planopt_assets.model.trial import Digest, FloatSummary
from planopt_assets.model.workload import Objective

_CLASSES: dict[str, type[Any]] = {
    "exchanges": Exchange,
    "scans": Scan,
    "joins": Join,
    "aggregations": Aggregation,
    "spills": Spill,
    "stages": Stage,
    "functions": PythonFunction,
}


def signals_json(signals: Signals) -> str:
    return json.dumps(asdict(signals), sort_keys=True)


def signals_from_json(text: str) -> Signals:
    """Rows of an older planopt lack what it did not look at: that has the default, which is nothing known.

    >>> signals_from_json('{"exchanges": [{"node": 2, "partitions": 200, "bytes_written": 9}], "scans": []}').joins
    ()
    """
    content = json.loads(text)
    return Signals(**{name: tuple(_signal(kind, s) for s in content.get(name, ())) for name, kind in _CLASSES.items()})


def _signal(kind: type[Any], content: Mapping[str, Any]) -> Any:
    """JSON knows lists but no tuples, and the inputs of a join are objects of their own."""
    return kind(**{name: _value(value) for name, value in content.items()})


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _signal(JoinInput, value)
    return tuple(value) if isinstance(value, list) else value


def digest_json(digest: Digest) -> str:
    known = {name: value for name, value in asdict(digest).items() if value is not None}
    return json.dumps(known, sort_keys=True)


def digest_from_json(text: str) -> Digest:
    content = json.loads(text)
    floats = tuple(FloatSummary(**f) for f in content["floats"])
    return Digest(content["rows"], content["exact"], content["bits"], floats, content.get("sequence"))


def evidence_from_rows(
    artifacts: Sequence[Mapping[str, Any]],
    counters: Sequence[Mapping[str, Any]],
    runs_per_day: float,
    objective: Objective = "cpu",
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
        objective=objective,
    )


def _execution(artifact: Mapping[str, Any], counters: Mapping[str, Any]) -> Execution:
    signals = signals_from_json(artifact["signals"])
    return Execution(
        observation_id=artifact["observation_id"],
        counters=Counters(**{name: counters[name] for name in Counters.names()}),
        effective_rules=None if artifact.get("effective_rules") is None else tuple(artifact["effective_rules"]),
        **{f.name: getattr(signals, f.name) for f in fields(signals)},
    )
