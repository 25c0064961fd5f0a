"""Which messages a destination is owed, from the incidents that are open and what it was told before. Pure.

A record is kept before a message is sent, and changed after it. So a message that is sent again after a crash has the
same id, and an incident that is open for weeks is told once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from planopt_assets.model.alerts import Event, Incident, IncidentKind, Message

FORMAT = 1
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 3600.0  # doubles with each failure
MOST_FAILURES = 174
"""Six in the first hour, then one an hour for a week: a destination that is down over a long weekend still hears."""


@dataclass(frozen=True, slots=True)
class Told:
    """The last message about one incident to one destination."""

    incident_id: str
    kind: IncidentKind
    query_id: str
    title: str
    text: str
    event: Event
    episode: int  # when the incident was first seen
    sent: bool = False
    failures: int = 0
    failed_at: float = 0.0
    error: str = ""
    table: str = ""

    @property
    def incident(self) -> Incident:
        return Incident(self.incident_id, self.kind, self.query_id, self.title, self.text, self.table)

    @property
    def settled(self) -> bool:
        """Nothing is owed about it any more: its end was told, or will not be."""
        return self.event == "over" and (self.sent or self.given_up)

    @property
    def failing(self) -> bool:
        return not self.sent and self.failures > 0

    @property
    def given_up(self) -> bool:
        return not self.sent and self.failures >= MOST_FAILURES

    def message(self, workload: str, at: datetime) -> Message:
        return Message(workload, self.incident, self.event, self.episode, at)

    def after(self, error: str, now: float) -> Told:
        if not error:
            return replace(self, sent=True, error="")
        return replace(self, failures=self.failures + 1, failed_at=now, error=error)


Record = Mapping[str, Told]
"""What one destination was told, by incident. One whose end was told is forgotten once it is not found any more."""


def read_record(text: str | None) -> dict[str, Told]:
    """Empty for a record that is damaged, or that another planopt wrote: what is open is then told once more."""
    try:
        content: Any = json.loads(text or "{}")
        if content.get("format") == FORMAT:
            return {one["incident_id"]: Told(**one) for one in content["told"]}
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    return {}


def write_record(told: Record) -> str:
    return json.dumps({"format": FORMAT, "told": [asdict(one) for one in told.values()]})


def owed(told: Record, incidents: Collection[Incident], asked_about: Collection[str], now: float) -> list[Told]:
    """The messages to send now, each as the record that is kept for it.

    `incidents` are those open among the subjects that were asked about. Nothing is said about others.
    """
    found = {incident.id: incident for incident in incidents}
    opened = [_opened(told.get(i.id), i, now) for i in incidents]
    gone = [one for one in told.values() if _asked(one, asked_about) and one.incident_id not in found]
    closed = [_over(one, _not_found(one)) for one in gone]
    return [one for one in (*opened, *closed) if one is not None and _may_be_tried(one, now)]


def forgotten(told: Record, incidents: Collection[Incident], asked_about: Collection[str]) -> dict[str, Told]:
    """The record without what is settled. An incident that ended and is still found would else be told again."""
    found = {incident.id for incident in incidents}
    gone = {id_ for id_, one in told.items() if one.settled and id_ not in found and _asked(one, asked_about)}
    return {id_: one for id_, one in told.items() if id_ not in gone}


def without_unheard(told: Record, incidents: Collection[Incident], asked_about: Collection[str]) -> dict[str, Told]:
    """The record without incidents that ended before anybody heard of them."""
    open_ = {incident.id for incident in incidents}
    return {
        id_: one
        for id_, one in told.items()
        if one.event == "over" or one.sent or id_ in open_ or not _asked(one, asked_about)
    }


def _opened(before: Told | None, incident: Incident, now: float) -> Told | None:
    if before is None:
        kind, query, table = incident.kind, incident.query_id, incident.table
        return Told(incident.id, kind, query, incident.title, incident.text, "opened", int(now), table=table)
    if incident.ended and (before.sent or before.event == "over"):
        return _over(before, incident.text)
    if before.event == "over" or before.sent:  # not over after all, before anybody heard that it is
        return None
    return before


def _over(before: Told, text: str) -> Told | None:
    if before.event == "over":
        return None if before.sent else before
    return replace(before, event="over", text=text, sent=False, failures=0, error="") if before.sent else None


def _not_found(before: Told) -> str:
    since = datetime.fromtimestamp(before.episode, UTC).isoformat(timespec="minutes")
    return f"What was told about it since {since} is not found any more. It was: {before.text}"


def _asked(one: Told, asked_about: Collection[str]) -> bool:
    return one.incident.subject in asked_about


def _may_be_tried(one: Told, now: float) -> bool:
    if one.given_up:
        return False
    pause = min(FIRST_PAUSE_S * 2.0 ** (one.failures - 1), LONGEST_PAUSE_S)
    return not one.failures or now - one.failed_at >= pause
