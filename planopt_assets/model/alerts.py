"""Alerts: where they go, what they are about, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

DestinationKind = Literal["log", "file", "webhook", "slack", "smtp"]
Security = Literal["starttls", "tls", "none"]
IncidentKind = Literal["regression", "gate", "table"]
Event = Literal["opened", "over"]


@dataclass(frozen=True, slots=True)
class Destination:
    """One entry of `alerts:`. Passwords and secret URLs are named by an environment variable, and never held here."""

    name: str
    kind: DestinationKind
    path: str = ""  # file
    url: str = ""  # webhook, slack
    url_env: str = ""
    host: str = ""  # smtp
    port: int | None = None
    security: Security = "starttls"
    sender: str = ""
    to: tuple[str, ...] = ()
    user: str = ""
    password_env: str = ""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something about one query or table that a person should know. It is open until its id is not found any more.

    The id of a regression has the generation that got worse: before and after the revert it is the same incident.
    """

    id: str  # `regression/q3/g2`, `gate/native_scan/q3`, `table/sales`
    kind: IncidentKind
    query_id: str  # empty for a table
    title: str
    text: str
    table: str = ""
    ended: bool = False  # it is over, and found all the same: who has not heard of it yet hears of it and of its end

    @property
    def subject(self) -> str:
        return table_subject(self.table) if self.table else self.query_id


def table_subject(table: str) -> str:
    """A table beside queries, whose ids have no slash."""
    return f"table/{table}"


@dataclass(frozen=True, slots=True)
class Message:
    """One event of an incident. Sent again after a crash it has the same id, so that a receiver can drop it."""

    workload: str
    incident: Incident
    event: Event
    episode: int  # when it was first seen, in seconds since 1970: one that comes back is another
    at: datetime

    @property
    def id(self) -> str:
        return f"{self.workload}/{self.incident.id}/{self.episode}/{self.event}"

    @property
    def title(self) -> str:
        return self.incident.title if self.event == "opened" else f"Over: {self.incident.title}"

    def facts(self) -> dict[str, str | int]:
        """The JSON that webhooks and files get; `format` changes if a field changes its meaning."""
        return {
            "format": 1,
            "id": self.id,
            "workload": self.workload,
            "query": self.incident.query_id,
            "table": self.incident.table,
            "kind": self.incident.kind,
            "incident": self.incident.id,
            "event": self.event,
            "title": self.title,
            "text": self.incident.text,
            "at": self.at.isoformat(timespec="seconds"),
        }


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one message at one destination."""

    destination: str
    tries: int
    error: str = ""

    @property
    def sent(self) -> bool:
        return not self.error
