"""The tables that observe writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.observation import (
    AcceptedTopology,
    ObservedBinding,
    PlanArtifact,
    PlanDependence,
    PlanDetails,
    PlanTrees,
)
from planopt_assets.model.plan import Misjudged
from planopt_assets.model.records import ExplainLine, NodeRecord, SharedContent, TaskRecord
from planopt_assets.model.scan import ConjunctOutcome, Funnel, Size
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.table_layout import Layout, layout_in_ddl
from planopt_assets.model.table_record import ReadLayout, TableRecord
from planopt_assets.store.codecs.codec import Codec, Form, Joined, named, single
from planopt_assets.store.codecs.forms import (
    DIGEST,
    PAIRS,
    PAIRS_IF_ASKED,
    PLAN_DEPENDENT,
    PROTOCOL,
    SIGNALS,
    TABLES_READ,
    TEXTS,
    TEXTS_OR_NONE,
    dumped,
    list_of,
)

ARTIFACTS = Codec(
    "plan_artifacts",
    PlanArtifact,
    tables=TABLES_READ,
    edits=TEXTS,
    bundle_parts=PAIRS_IF_ASKED,
    unstable_parts=TEXTS,
    misled_joins=list_of(Misjudged),
    other_scans=TEXTS,
)
DETAILS = Codec(
    "plan_artifacts",
    PlanDetails,
    settings=PAIRS,
    signals=SIGNALS,
    digest=DIGEST,
    effective_rules=TEXTS_OR_NONE,
    extractors_disagree=TEXTS_OR_NONE,
)
PLAN_DEPENDENCE = Codec("plan_artifacts", PlanDependence, functions=PLAN_DEPENDENT)
TREES = Codec("plan_artifacts", PlanTrees)
OBSERVED = Joined("plan_artifacts", ObservedBinding, artifact=ARTIFACTS, details=DETAILS, trees=TREES)

NODES = Codec(
    "plan_nodes",
    NodeRecord,
    metrics=single(lambda value: dumped(dict(value)), lambda text: tuple(json.loads(text or "{}").items())),
)
EXPLAINS = Codec("explains", ExplainLine)
TASKS = Codec("task_counters", TaskRecord)
SHARED = Codec("provenance", SharedContent)
ACCEPTED = Codec("accepted_topologies", AcceptedTopology, topology_hashes=TEXTS)


# Scans

_STEPS = tuple(f.name for f in fields(Funnel))
_UNITS = tuple(f.name for f in fields(Size))


def _funnel(*sizes: int | None) -> Funnel:
    width = len(_UNITS)
    return Funnel(*(Size(*sizes[at : at + width]) for at in range(0, len(sizes), width)))


SCANS = Codec(
    "scan_outcomes",
    ScanRecord,
    conjuncts=list_of(ConjunctOutcome),
    families=TEXTS,
    pushed_filters=TEXTS,
    runtime_filters=TEXTS,
    columns=TEXTS,
    funnel=Form(
        lambda funnel: [getattr(getattr(funnel, step), unit) for step in _STEPS for unit in _UNITS],
        _funnel,
        tuple(f"{step}_{unit}" for step in _STEPS for unit in _UNITS),
    ),
)


# Tables


@lru_cache(maxsize=4096)
def _layout(stored: str | None, metadata: str | None) -> Layout | None:
    """Since schema version 5 a column of its own; before, it stands in the CREATE statement only.

    Tables keep their layout for many observations: the same text is one object.
    """
    if stored is not None:
        return dict(json.loads(stored))
    return layout_in_ddl(metadata) if metadata else None


_LAYOUT = Form(lambda value: (None if value is None else dumped(value),), _layout, also=("metadata",))


@lru_cache(maxsize=65536)
def _contract(text: str | None) -> Mapping[str, Any]:
    """Tables keep their contract for many observations: the same text is one object."""
    return dict(json.loads(text or "{}"))


INPUT_TABLES = Codec(
    "input_tables",
    TableRecord,
    protocol=PROTOCOL,
    contract=single(lambda value: dumped(dict(value)), _contract),
    layout=_LAYOUT,
    unknown_reader_features=TEXTS,
    unknown_writer_features=TEXTS,
    statistics_columns=TEXTS,
)

LAYOUTS = Codec("input_tables", ReadLayout, layout=_LAYOUT)


# Executions

_COUNTERS = Counters.names()

EXECUTIONS = Codec(
    "runtime_counters",
    Execution,
    id=named("execution_id"),
    source=named("purpose"),
    counters=Form(lambda counters: [getattr(counters, name) for name in _COUNTERS], Counters, _COUNTERS),
    table_sizes=PAIRS,
)
