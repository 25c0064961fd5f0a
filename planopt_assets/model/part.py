"""A part of a policy: one thing it changes, which says of itself all that others must know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

if TYPE_CHECKING:
    from planopt_assets.model.signals import Join


@dataclass(frozen=True, slots=True)
class Dependence:
    """What the gain of a part depends on, besides the engine, the settings and the meaning of the tables' names.

    `sizes` says whose: of no table, of those behind the join input it names, behind that join, or of all tables read.
    """

    sizes: Literal["none", "side", "join", "all"] = "all"
    cores: bool = False
    memory: bool = False


class Part(ABC):
    """One change. A new kind is a subclass in `policy.KINDS`, its veto in `decide/knobs.py`, and code that applies it.

    Two parts of one kind with the same key cannot hold together: a knob has one value, a join input one strategy.
    """

    __slots__ = ()

    kind: ClassVar[str]  # where stored policies hold it, for instance `hints`
    needs_text: ClassVar[bool]  # whether it goes into the query itself; else a session is enough
    shows_itself: ClassVar[bool] = False  # whether it must change the plan by itself, whatever the other parts change

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is called in stored rows and reports."""

    @property
    def key(self) -> str:
        """What it is about."""
        return self.label

    @property
    def place(self) -> str:
        """Its order among the parts of its kind; with equal places they stay in the order they were given in."""
        return ""

    @property
    def depends_on(self) -> Dependence:
        """What must be as it was in the trials. A kind that says nothing depends on the sizes of all tables."""
        return Dependence()

    def tables_behind(self, joins: Sequence[Join], every: tuple[str, ...]) -> tuple[str, ...]:
        """The tables whose sizes its gain depends on, of `every` that is read; `joins` are those of its plan."""
        return () if self.depends_on.sizes == "none" else every

    def idle_words(self, joins: Sequence[tuple[str, str]]) -> str:
        """What a part that `shows_itself` is told of if it did not; `joins` are those that a hint reached."""
        return f"{self.label} not applied"

    def describe(self) -> str:
        """In a few words, for tables and logs."""
        return self.label

    def conflicts_with(self, other: Part) -> bool:
        return self.kind == other.kind and self.key == other.key and self != other

    def must_show(self, run_time_knobs: Container[str]) -> bool:
        """Whether it has no effect where the plan stays the same; these knobs may work only while a query runs."""
        return True

    @classmethod
    def stored(cls, parts: Sequence[Self]) -> Any:
        """The parts of this kind of one policy, as plain data."""
        return [part.label for part in parts]

    @classmethod
    @abstractmethod
    def read(cls, stored: Any) -> tuple[Self, ...]:
        """The same back; a ValueError where one of them is not of this kind."""


def texts(stored: Any) -> tuple[str, ...]:
    """Several texts; a ValueError where it is something else: one text is no list of its letters.

    >>> texts(["cnf"])
    ('cnf',)
    """
    if isinstance(stored, str | dict) or not isinstance(stored, Iterable):
        raise ValueError(f"not a list of texts: {stored!r}")
    found = tuple(stored)
    if not all(isinstance(text, str) for text in found):
        raise ValueError(f"not a list of texts: {stored!r}")
    return found
