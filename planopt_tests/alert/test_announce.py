"""Every destination is told by itself: one that fails stops no other. What is said again has the same id."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from planopt_assets.alert.announce import Announced, Announcer
from planopt_assets.model.alerts import Delivery, Destination, Incident, Message

pytestmark = pytest.mark.fast

WORSE = Incident("regression/q/g1", "regression", "q", "q: its policy got worse", "wall_ns x2")
GATE = Incident("gate/native_scan/r", "gate", "r", "r: check native_scan fails", "not native")
BOTH = (Destination("first", "log"), Destination("second", "log"))


class Kept(dict[str, str]):
    """Records as Dagster's instance keeps them."""

    def get_cursor_values(self, keys: set[str]) -> Mapping[str, str]:
        return {key: self[key] for key in keys if key in self}

    def set_cursor_values(self, pairs: Mapping[str, str]) -> None:
        self.update(pairs)


class Wire:
    """Hands messages over; `broken` destinations take none."""

    def __init__(self, *broken: str) -> None:
        self.broken, self.ids = broken, list[str]()

    def send(self, to: Destination, message: Message) -> Delivery:
        self.ids.append(f"{to.name} {message.id}")
        return Delivery(to.name, 1, "no answer" if to.name in self.broken else "")


def announced(kept: Kept, wire: Wire, *incidents: Incident, now: float = 100.0, left: float = 9.0) -> Announced:
    moments = iter(range(1000))
    return Announcer("w", BOTH, kept).announce(
        incidents, ["q", "r"], clock=lambda: now + next(moments) / 100, until=now + left, transmit=wire.send
    )


def test_a_destination_that_fails_stops_no_other() -> None:
    kept, wire = Kept(), Wire("first")
    assert announced(kept, wire, WORSE) == Announced(1, ("no answer",))
    assert [entry.split()[0] for entry in wire.ids] == ["first", "second"]


def test_each_is_told_once_whatever_became_of_the_other() -> None:
    kept, broken, mended = Kept(), Wire("first"), Wire()
    announced(kept, broken, WORSE)
    announced(kept, mended, WORSE, now=200.0)
    assert [entry.split()[0] for entry in mended.ids] == ["first"]


def test_what_the_time_does_not_reach_is_said_later_also_if_nobody_asks_about_it_again() -> None:
    kept, wire = Kept(), Wire()
    assert announced(kept, wire, WORSE, GATE, left=0.05).sent == 1
    assert Announcer("w", BOTH, kept).open_subjects() == {"q", "r"}
    announced(kept, wire, WORSE, GATE, now=200.0)
    assert sorted(wire.ids) == sorted(
        f"{to.name} w/{incident.id}/100/opened" for to in BOTH for incident in (WORSE, GATE)
    )


def test_one_that_hangs_takes_no_time_of_the_others() -> None:
    kept, wire, now = Kept(), Wire("first"), [100.0]

    def slow(to: Destination, message: Message) -> Delivery:
        now[0] += 30 if to.name == "first" else 0
        return wire.send(to, message)

    def tick() -> list[str]:
        wire.ids.clear()
        now[0] += 30
        announcer = Announcer("w", BOTH, kept)
        announcer.announce([WORSE, GATE], ["q", "r"], clock=lambda: now[0], until=now[0] + 20, transmit=slow)
        return [entry.split()[0] for entry in wire.ids]

    assert tick() == ["first"]
    assert tick() == ["second", "second", "first"]
    assert tick() == ["first"]


def test_killed_while_it_sends_it_says_it_again_by_the_same_id() -> None:
    kept, wire = Kept(), Wire()

    def killed(to: Destination, message: Message) -> Delivery:
        wire.send(to, message)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Announcer("w", BOTH[:1], kept).announce([WORSE], ["q"], clock=lambda: 100.0, until=200.0, transmit=killed)
    announced(kept, wire, WORSE, now=150.0)
    assert wire.ids[0] == wire.ids[1] == "first w/regression/q/g1/100/opened"


def test_it_knows_whom_it_has_told_something_that_is_not_over() -> None:
    kept, wire = Kept(), Wire()
    announced(kept, wire, WORSE, GATE)
    assert Announcer("w", BOTH, kept).open_subjects() == {"q", "r"}
    announced(kept, wire, now=200.0)
    assert Announcer("w", BOTH, kept).open_subjects() == set()
