"""Conditions: where a policy was proven, and what each of its parts depends on there.

Evidence holds where it was found. `shuffle.partitions=2` was proven on 10 MiB and two cores. On 2 GiB, or on 64 cores,
nobody knows whether it is any good, so it is not applied there until it was tried there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")
Pairs = tuple[tuple[str, str], ...]

SMALL = 4 << 20
"""Bytes of a table below which its size does not matter to a plan: smaller ones count as this size.

Spark itself counts every file as at least this much when it makes splits (`spark.sql.files.openCostInBytes`). Twice as
much is still below what it broadcasts unasked (10 MiB), and an eighth of the partition it aims at (64 MiB).
"""


@dataclass(frozen=True, slots=True)
class TableState:
    """A table, as the head of its log says it is."""

    name: str
    table_id: str
    bytes: int | None  # None: unknown, so it is not compared
    location: str | None = None  # only of a table that is known by its name in a catalog


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a query runs on. What is unknown (None, or not among the pairs) is not compared."""

    engine: str | None = None  # `delta 4.4.0, java 17, spark 4.2.0`
    cores: int | None = None
    memory: tuple[tuple[str, int], ...] = ()  # bytes of driver and executors
    tables: tuple[TableState, ...] = ()
    settings: Pairs = ()  # effective values of what shapes plans
    parameters: tuple[str, ...] | None = None  # each declared binding, as JSON

    @property
    def sizes(self) -> dict[str, int | None]:
        return {t.name: t.bytes for t in self.tables}


@dataclass(frozen=True, slots=True)
class Condition:
    """What one part of a policy depends on."""

    part: str  # its label
    tables: tuple[str, ...] = ()  # those whose size counts
    cores: bool = False
    memory: bool = False


@dataclass(frozen=True, slots=True)
class Conditions:
    """The circumstances of a proof, and what of them each part of its policy depends on."""

    proven: Circumstances = Circumstances()
    parts: tuple[Condition, ...] = ()

    def suspended_by(self, tables: Sequence[TableState], factor: float) -> str:
        """Why the evidence does not hold for the tables as they are now. Empty if it does.

        >>> side = Condition("broadcast(join0.right d)", ("days",), memory=True)
        >>> proven = Circumstances(tables=(TableState("days", "id-1", 5_000), TableState("sales", "id-2", 9_000_000)))
        >>> now = [TableState("days", "id-1", 80_000_000), TableState("sales", "id-2", 9_100_000)]
        >>> Conditions(proven, (side,)).suspended_by(now, 2.0)
        'broadcast(join0.right d) was proven with 5,000 bytes in days, which has 80,000,000 now (more than x2 apart)'
        """
        then, now = {t.name: t for t in self.proven.tables}, {t.name: t for t in tables}
        for name in sorted(then.keys() & now.keys()):
            if then[name].table_id != now[name].table_id:
                return f"{name} is another table than the one it was proven on"
        for one in self.parts:
            for name in one.tables:
                before, after = self.proven.sizes.get(name), now[name].bytes if name in now else None
                if before is not None and after is not None and not within(*at_least_small(before, after), factor):
                    return (
                        f"{one.part} was proven with {before:,} bytes in {name}, which has {after:,} now "
                        f"(more than x{factor:g} apart)"
                    )
        return ""

    def unlike(self, now: Circumstances) -> str:
        """Why no part was proven for this session: another engine, or settings that shape plans. Empty if it was."""
        then = self.proven
        if None not in (then.engine, now.engine) and then.engine != now.engine:
            return f"it was proven with {then.engine}, and this is {now.engine}"
        current = dict(now.settings)
        for name, value in then.settings:
            if name in current and current[name] != value:
                return f"it was proven with {name}={value}, which is {current[name]} here"
        return ""

    def left_out(self, now: Circumstances, factor: float) -> dict[str, str]:
        """The parts that were not proven for this number of cores or for so little memory, each with the reason.

        >>> shuffle = Condition("spark.sql.shuffle.partitions", cores=True)
        >>> Conditions(Circumstances(cores=2), (shuffle,)).left_out(Circumstances(cores=64), 2.0)
        {'spark.sql.shuffle.partitions': 'spark.sql.shuffle.partitions was proven on 2 cores, here are 64'}
        """
        then, memory = self.proven, dict(now.memory)
        found = {}
        for one in self.parts:
            if one.cores and None not in (then.cores, now.cores) and then.cores != now.cores:
                found[one.part] = f"{one.part} was proven on {then.cores} cores, here are {now.cores}"
            for name, before in then.memory if one.memory else ():
                if name in memory and memory[name] * factor < before:
                    found[one.part] = (
                        f"{one.part} was proven with {before:,} bytes of {name}, here are {memory[name]:,}"
                    )
        return found

    def cover(self, others: Conditions, factor: float) -> bool:
        """Whether evidence of this kind holds in the circumstances of the others, whole."""
        now = others.proven
        known = {c.part: c for c in self.parts} == {c.part: c for c in others.parts}
        same = known and self.proven.parameters == now.parameters
        return same and not (self.suspended_by(now.tables, factor) or self.unlike(now) or self.left_out(now, factor))

    def facts(self) -> dict[str, Any]:
        """As plain data, for `--json`, for the store and for the hash of a promotion."""
        then = self.proven
        return {
            "engine": then.engine,
            "cores": then.cores,
            "memory": dict(then.memory),
            "tables": [asdict(t) for t in then.tables],
            "settings": dict(then.settings),
            "parameters": None if then.parameters is None else list(then.parameters),
            "parts": [{**asdict(c), "tables": list(c.tables)} for c in self.parts],
        }

    @staticmethod
    def of(facts: Mapping[str, Any]) -> Conditions:
        """From plain data; a ValueError or LookupError where it is something else: a row may be damaged."""
        parameters = facts["parameters"]
        proven = Circumstances(
            _known(facts["engine"], str),
            _known(facts["cores"], int),
            tuple(sorted((_is(name, str), _is(size, int)) for name, size in facts["memory"].items())),
            tuple(
                TableState(
                    _is(t["name"], str), _is(t["table_id"], str), _known(t["bytes"], int), _known(t["location"], str)
                )
                for t in facts["tables"]
            ),
            tuple(sorted((_is(name, str), _is(value, str)) for name, value in facts["settings"].items())),
            None if parameters is None else tuple(_is(text, str) for text in parameters),
        )
        parts = (
            Condition(
                _is(c["part"], str),
                tuple(_is(t, str) for t in c["tables"]),
                _is(c["cores"], bool),
                _is(c["memory"], bool),
            )
            for c in facts["parts"]
        )
        return Conditions(proven, tuple(parts))

    def describe(self) -> list[str]:
        """In words, a line for each part.

        >>> Conditions(Circumstances(cores=2), (Condition("shuffle.partitions", ("sales",), cores=True),)).describe()
        ['shuffle.partitions depends on the size of sales, 2 cores']
        """
        sizes = self.proven.sizes
        lines = []
        for one in self.parts:
            named = [
                f"{name} ({size:,} bytes)" if (size := sizes.get(name)) is not None else name for name in one.tables
            ]
            said = [f"the size of {', '.join(named)}"] if named else []
            said += [f"{self.proven.cores} cores"] if one.cores else []
            said += [f"{size:,} bytes of {name}" for name, size in self.proven.memory] if one.memory else []
            lines.append(f"{one.part} depends on {', '.join(said) or 'the query alone'}")
        return lines


def within(one: int, other: int, factor: float) -> bool:
    """Whether two sizes are at most this factor apart.

    >>> within(10, 20, 2), within(10, 21, 2), within(10, 5, 2)
    (True, False, True)
    """
    return max(one, other) <= factor * min(one, other)


def at_least_small(one: int, other: int) -> tuple[int, int]:
    """Two sizes of a table, as far as they matter to a plan.

    >>> at_least_small(3_000, 9_000), at_least_small(3_000, 80_000_000)
    ((4194304, 4194304), (4194304, 80000000))
    """
    return max(one, SMALL), max(other, SMALL)


def _is(value: Any, kind: type[T]) -> T:
    """A value of this kind. True and False are no numbers here."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"not conditions: {value!r} is no {kind.__name__}")
    return value


def _known(value: Any, kind: type[T]) -> T | None:
    return None if value is None else _is(value, kind)
