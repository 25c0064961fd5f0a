"""A night of the generated history: its run, the times of its stages, and the ids of what happened in it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from planopt_assets.model.workload import Workload

Row = dict[str, Any]
_FIRST = datetime(2026, 1, 1, 2, 0, tzinfo=UTC)
_MINUTES = {"observe": 30, "decide": 31, "replan": 32, "validate": 50, "promote": 51, "production": 480}
_KINDS = {
    "pro": "promotion",
    "ver": "verdict",
    "tri": "trial",
    "can": "candidate",
    "dec": "decision",
    "obs": "observation",
    "exe": "execution",
}


@dataclass(frozen=True, slots=True)
class Night:
    """One run of the loop over all queries, and the user's own jobs of the day after."""

    workload: Workload
    number: int  # from 0

    def at(self, stage: str) -> datetime:
        return _FIRST + timedelta(days=self.number, minutes=_MINUTES[stage])

    @property
    def run_id(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.workload.seed}/night/{self.number}"))

    def event_id(self, kind: str, query_id: str, *parts: str) -> str:
        return "-".join([kind, self.run_id.replace("-", "")[:12], query_id, *parts])

    def observation_id(self, query_id: str) -> str:
        return self.event_id("obs", query_id, "b0")


def edges(query_id: str, stage: str, child: str, parents: Iterable[str]) -> list[Row]:
    """Lineage as planopt stores it: one row per parent."""
    return [
        {
            "query_id": query_id,
            "child_kind": _kind(child),
            "child_id": child,
            "parent_kind": _kind(parent),
            "parent_id": parent,
            "stage": stage,
        }
        for parent in parents
    ]


def _kind(row_id: str) -> str:
    _, versioned, version = row_id.partition("@v")
    if versioned:
        return "column" if "." in version else "table"
    return _KINDS[row_id[:3]]


def plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
