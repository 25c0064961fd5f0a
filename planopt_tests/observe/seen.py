"""Histories of one query made by hand: observations that still have the plans a history reads from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from planopt_assets.model.observation import Observation, ObservationHistory
from planopt_tests.rows import Row, captured_row, observation, unsuccessful_row


@dataclass(frozen=True, slots=True)
class Seen(Observation):
    """One observation, and its packed plans by observation id."""

    plans: Mapping[str, bytes | None] = field(default_factory=dict, compare=False)


def seen_in(*artifacts: Row, scans: tuple[Row, ...] = (), tables: tuple[Row, ...] = ()) -> Seen:
    """What one run saw, one row a binding."""
    made = observation(*artifacts, scans=scans, tables=tables)
    plans = {row["observation_id"]: row["plan"] for row in artifacts}
    return Seen(*(getattr(made, f.name) for f in fields(made)), plans=plans)


def seen(run: str = "r1", scans: tuple[Row, ...] = (), tables: tuple[Row, ...] = (), **columns: Any) -> Seen:
    """One captured observation with one binding."""
    return seen_in(captured_row(run, **columns), scans=scans, tables=tables)


def unsuccessful(run: str, status: str = "failed", code: str = "PLN-207", tables: tuple[Row, ...] = ()) -> Seen:
    return seen_in(unsuccessful_row(run, status, code), tables=tables)


def history(*observations: Seen, accepted: tuple[str, ...] = ()) -> ObservationHistory:
    """These observations, oldest first; `accepted` names runs."""
    plans = {id_: plan for o in observations for id_, plan in o.plans.items()}
    return ObservationHistory(observations, frozenset(f"obs-{run}-q-b0" for run in accepted), plans.get)
