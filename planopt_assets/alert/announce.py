"""Tells every destination what it is owed about some queries and tables. A destination that fails stops no other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from planopt_assets.alert.sending import send
from planopt_assets.automate.messages import Told, forgotten, owed, read_record, without_unheard, write_record
from planopt_assets.model.alerts import Delivery, Destination, Incident, Message

Send = Callable[[Destination, Message], Delivery]


class Records(Protocol):
    """Keeps one text per key, beyond the process. Dagster's instance does."""

    def get_cursor_values(self, keys: set[str]) -> Mapping[str, str]: ...

    def set_cursor_values(self, pairs: Mapping[str, str]) -> None: ...


@dataclass(frozen=True, slots=True)
class Announced:
    """What was said in one go."""

    sent: int
    failed: tuple[str, ...]  # one line per destination that did not take a message


class Announcer:
    """The messages of one workload, and the records of what each destination was told."""

    def __init__(self, workload: str, destinations: Sequence[Destination], records: Records) -> None:
        self._workload, self._destinations, self._records = workload, destinations, records

    def open_subjects(self) -> set[str]:
        """What a destination was told about, and not yet that it is over, or what it has not heard of yet."""
        told = [one for destination in self._destinations for one in self._told(destination).values()]
        return {one.incident.subject for one in told if not one.settled}

    def announce(
        self,
        incidents: Collection[Incident],
        asked_about: Collection[str],
        *,
        clock: Callable[[], float],
        until: float,
        transmit: Send = send,
    ) -> Announced:
        """Say what is owed. It is kept before it is sent, and again after it: what is not said now is said later.

        A destination that fails is left alone until the next tick. Those that failed before come last, so that one that
        hangs does not use up the time of the others.
        """
        sent, failed = 0, list[str]()
        records = {one: without_unheard(self._told(one), incidents, asked_about) for one in self._destinations}
        due = {one: owed(told, incidents, asked_about, clock()) for one, told in records.items()}
        for destination, told in records.items():
            told.update({one.incident_id: one for one in due[destination]})
            self._keep(destination, told)
        for destination in sorted(records, key=lambda one: any(told.failing for told in records[one].values())):
            told = records[destination]
            for one in sorted(due[destination], key=lambda told: told.failures):
                if clock() >= until:
                    break
                done = transmit(destination, one.message(self._workload, datetime.fromtimestamp(clock(), UTC)))
                told[one.incident_id] = one.after(done.error, clock())
                self._keep(destination, told)
                if not done.sent:
                    failed.append(done.error)
                    break
                sent += 1
            self._keep(destination, forgotten(told, incidents, asked_about))
        return Announced(sent, tuple(failed))

    def _told(self, destination: Destination) -> dict[str, Told]:
        key = self._key(destination)
        return read_record(self._records.get_cursor_values({key}).get(key))

    def _keep(self, destination: Destination, told: Mapping[str, Told]) -> None:
        self._records.set_cursor_values({self._key(destination): write_record(told)})

    def _key(self, destination: Destination) -> str:
        return f"planopt/alerts/{self._workload}/{destination.name}"
