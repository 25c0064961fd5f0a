"""What a person should be told now: policies that got worse, gates that fail, tables that are away. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from planopt_assets.model.alerts import Incident
from planopt_assets.promote.transitions import Expire

if TYPE_CHECKING:
    from datetime import datetime

    from planopt_assets.errors import TableUnreadable
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.gate import Gate

WATCHED_BY_POLICY = "not_regressed"


def incidents(standings: Iterable[Standing], gates: Mapping[str, Mapping[str, Gate]]) -> list[Incident]:
    """A regression has the same id before and after the revert: it is told once, and ends with the revert."""
    found = []
    for standing in standings:
        query = standing.query_id
        if (worse := _worse(standing)) is not None:
            found.append(worse)
        for name, answers in gates.items():
            gate = answers[query]
            if gate.severe and not gate.passed and not (name == WATCHED_BY_POLICY and standing.due is not None):
                found.append(
                    Incident(f"gate/{name}/{query}", "gate", query, f"{query}: check {name} fails", gate.words)
                )
    return found


def unreadable_table(table: str, error: TableUnreadable, since: datetime) -> Incident:
    """Queries that read it cannot be observed, and no change of it is seen."""
    text = f"{error}. It cannot be read since {since.isoformat(timespec='minutes')} or longer. Nothing starts for it."
    return Incident(f"table/{table}", "table", "", f"{table}: the table cannot be read", text, table)


def _worse(standing: Standing) -> Incident | None:
    """The policy that got worse or expired: still in force, or just taken back by automation."""
    active, query = standing.active, standing.query_id
    if active is None:
        return None
    if standing.due is not None:
        what = "has expired" if isinstance(standing.due, Expire) else "got worse"
        text = f"{standing.due.reason}. Generation {active.generation} ({active.policy.describe()}) will be taken back."
        return Incident(
            f"regression/{query}/g{active.generation}", "regression", query, f"{query}: its policy {what}", text
        )
    if active.state in ("reverted", "expired") and active.who is None:
        what = "has expired" if active.state == "expired" else "got worse"
        worse, now = active.generation - 1, f"generation {active.generation}, {active.policy.describe()}"
        text = f"{active.reason}. Generation {worse} was taken back. In force now: {now}."
        title = f"{query}: its policy {what}"
        return Incident(f"regression/{query}/g{worse}", "regression", query, title, text, ended=True)
    return None
