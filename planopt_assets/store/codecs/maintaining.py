"""The tables about tables: readiness, layout proposals, their trials and verdicts, and what was changed."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, get_args

from planopt_assets.model.layout_proposal import EVERYWHERE, ExpectedRead, LayoutAction, LayoutProposal
from planopt_assets.model.layout_verdict import LayoutTrial, LayoutVerdict, MeasuredRead
from planopt_assets.model.maintenance_action import ActionStatus, MaintenanceAction
from planopt_assets.model.table_readiness import (
    ColumnReadiness,
    Integrity,
    ReadinessFinding,
    SizeClass,
    TableReadiness,
)
from planopt_assets.model.verdict import Criterion, Outcome
from planopt_assets.store.codecs.codec import ELSEWHERE, Codec, named, single
from planopt_assets.store.codecs.forms import DIGEST, PAIRS, PROTOCOL, TEXTS, dumped, list_of


def _column(content: dict[str, Any]) -> ColumnReadiness:
    return ColumnReadiness(**{**content, "used_by": tuple(content["used_by"])})


READINESS = Codec(
    "table_readiness",
    TableReadiness,
    derived={"debt_files": lambda r: r.debt, "ready": lambda r: r.ready},
    required=("table", "table_id", "version", "integrity"),
    choices={"integrity": frozenset(get_args(Integrity))},
    protocol=PROTOCOL,
    unknown_reader_features=TEXTS,
    unknown_writer_features=TEXTS,
    partition_columns=TEXTS,
    clustering_columns=TEXTS,
    sizes=list_of(SizeClass),
    columns=single(
        lambda value: dumped([asdict(c) for c in value]),
        lambda text: tuple(_column(content) for content in json.loads(text or "[]")),
    ),
    read_by=TEXTS,
    findings=list_of(ReadinessFinding),
)

PROPOSALS = Codec(
    "layout_proposals",
    LayoutProposal,
    derived={
        "proposal_id": lambda p: p.id,
        "only_where": lambda _: EVERYWHERE["only_where"],
        "gain": lambda p: list(p.gain),
        "lose": lambda p: list(p.lose),
        "saving_cpu_ns_per_day": lambda p: p.saving_cpu_ns_per_day,
    },
    required=("table", "table_id", "version", "action", "reason"),
    choices={"action": frozenset(get_args(LayoutAction))},
    columns=TEXTS,
    properties=PAIRS,
    expected=list_of(ExpectedRead),
    arithmetic=single(lambda value: json.dumps(dict(value)), lambda text: tuple(json.loads(text or "{}").items())),
    evidence_ids=TEXTS,
)

LAYOUT_TRIALS = Codec(
    "layout_trials",
    LayoutTrial,
    required=("query_id", "table", "trial_id", "proposal_id", "status"),
    id=named("trial_id"),
    digest=DIGEST,
    counters=ELSEWHERE,  # they are an execution's, in `runtime_counters`
)

LAYOUT_VERDICTS = Codec(
    "layout_verdicts",
    LayoutVerdict,
    required=("table", "table_id", "version", "verdict_id", "proposal_id", "outcome", "reason"),
    choices={"outcome": frozenset(get_args(Outcome))},
    id=named("verdict_id"),
    criteria=list_of(Criterion),
    measured=list_of(MeasuredRead),
    trial_ids=TEXTS,
    input_fingerprints=TEXTS,
    together=TEXTS,
)

ACTIONS = Codec(
    "maintenance_actions",
    MaintenanceAction,
    required=("table", "table_id", "action_id", "action", "status", "reason"),
    choices={"status": frozenset(get_args(ActionStatus))},
    id=named("action_id"),
)
