"""What a sensor knows of each source (a table, the workload file), and when a change of it is due. Pure.

A change is due once the source has settled, or has kept changing for the interval. It is handled once a run for it
succeeded, or nothing needed a run. All else is asked again: a lost cursor repeats questions, and loses no change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

FORMAT = 1
UNREADABLE = "!"  # begins the identity of a source that cannot be read
RunState = Literal["unfinished", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class Source:
    """One source as it was last seen. Times are seconds since 1970."""

    identity: str = ""
    since: float = 0.0  # when this identity was first seen
    pending_since: float = 0.0  # when the oldest change that is not handled was first seen
    handled: str | None = None
    asked: str = ""  # the key of the run that was requested for `asked_for`
    asked_for: str = ""
    asked_at: float | None = None

    @property
    def readable(self) -> bool:
        return not self.identity.startswith(UNREADABLE)

    @property
    def pending(self) -> bool:
        return self.identity not in ("", self.handled) and self.readable


Cursor = Mapping[str, Source]


def read_cursor(text: str | None) -> dict[str, Source]:
    """Empty for a cursor that is lost, or that another planopt wrote: then everything is asked about again."""
    try:
        content: Any = json.loads(text or "{}")
        if content.get("format") == FORMAT:
            return {name: Source(**source) for name, source in content["sources"].items()}
    except (ValueError, TypeError, AttributeError, KeyError):
        pass
    return {}


def write_cursor(sources: Cursor) -> str:
    return json.dumps({"format": FORMAT, "sources": {name: asdict(source) for name, source in sources.items()}})


def look(before: Cursor, identities: Mapping[str, str], now: float) -> dict[str, Source]:
    """Every source as it is now; one that is not declared any more is forgotten."""
    return {name: _seen(before.get(name, Source()), identity, now) for name, identity in identities.items()}


def _seen(before: Source, identity: str, now: float) -> Source:
    if identity == before.identity:
        return before
    first = now if not before.pending else before.pending_since
    return replace(before, identity=identity, since=now, pending_since=first)


def moved(before: Cursor, after: Cursor) -> list[str]:
    """Sources that this look found changed, or for the first time."""
    return [name for name, source in after.items() if source.identity != before.get(name, Source()).identity]


def heard(sources: Cursor, states: Mapping[str, RunState]) -> dict[str, Source]:
    """What became of the runs that were asked for: a success handles what it was asked for, no other end does."""
    found = {}
    for name, source in sources.items():
        state = states.get(source.asked) if source.asked else None
        if source.asked and state == "succeeded":
            found[name] = replace(source, handled=source.asked_for, asked="")
        elif source.asked and state != "unfinished":  # failed, or nobody knows of it
            found[name] = replace(source, asked="")
        else:
            found[name] = source
    return found


def ready(sources: Cursor, now: float, *, settle: float, interval: float) -> list[str]:
    """The sources with a change that is due.

    Worked, with `settle` 60 and `interval` 900: a commit at 0 and none after it is due at 60. With a commit every ten
    seconds it is due at 900. After a run that was asked for at 900, the next is due at 1800 at the earliest.
    """
    return [name for name, source in sources.items() if _is_ready(source, now, settle, interval)]


def _is_ready(source: Source, now: float, settle: float, interval: float) -> bool:
    if not source.pending or source.asked:
        return False
    if source.asked_at is not None and now - source.asked_at < interval:
        return False
    return now - source.since >= settle or now - source.pending_since >= max(interval, settle)


def asked(sources: Cursor, names: list[str], key: str, now: float) -> dict[str, Source]:
    """The same, with a run requested for these sources as they are now. What comes later has to settle by itself."""
    return {
        name: replace(s, asked=key, asked_for=s.identity, asked_at=now, pending_since=now) if name in names else s
        for name, s in sources.items()
    }


def handled(sources: Cursor, names: list[str]) -> dict[str, Source]:
    """The same, with nothing left to do for these sources as they are now."""
    return {name: replace(s, handled=s.identity) if name in names else s for name, s in sources.items()}
