"""A change of a table's layout that is worth a trial: what it costs, what it saves for each query, and when it pays.

The subject is a table, not a query: every query that reads the table is in the calculation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from planopt_assets.model.decision import Arithmetic
from planopt_assets.model.ids import content_id
from planopt_assets.model.stamp import NOT_STORED, Stamp

LayoutAction = Literal["compact", "zorder", "cluster", "statistics", "checkpoint", "properties", "bloom"]
REWRITING: frozenset[LayoutAction] = frozenset({"compact", "zorder", "cluster", "bloom"})
"""Actions that write data files anew. The others write to the log alone."""
PROVEN: frozenset[LayoutAction] = REWRITING | {"statistics"}
"""Actions that change what queries read: tried on a clone first. Of the others a measured query notices nothing."""
EVERYWHERE: Final = {"only_where": ""}
"""Part of every id and row: a layout is one of the whole table. Without it stored ids would stop matching."""


@dataclass(frozen=True, slots=True)
class ExpectedRead:
    """What one run of a query reads of the table, now and under the proposed layout; all its scans together.

    >>> read = ExpectedRead("q1", 24.0, files_before=120, bytes_before=960, files_after=2, bytes_after=96)
    >>> read.gains, read.loses
    (True, False)
    """

    query_id: str
    runs_per_day: float
    files_before: int
    bytes_before: int
    files_after: int
    bytes_after: int
    saving_cpu_ns: int = 0  # of one run; below zero: the query loses

    @property
    def gains(self) -> bool:
        return self.saving_cpu_ns > 0 or (self.saving_cpu_ns == 0 and self._less())

    @property
    def loses(self) -> bool:
        return self.saving_cpu_ns < 0

    def _less(self) -> bool:
        return (self.files_after, self.bytes_after) < (self.files_before, self.bytes_before)


@dataclass(frozen=True, slots=True)
class LayoutProposal:
    """One action on one table at one version, with the numbers that speak for it.

    The id covers the action and the table's version; predictions and prices stay outside, so that the same action on
    the same version has the same id whatever was measured meanwhile.

    >>> proposal = LayoutProposal("orders", "t-1", 7, "compact", target_file_bytes=2**25, reason="60 small files")
    >>> proposal.describe()
    'compact orders into files of 32 MiB'
    """

    table: str
    table_id: str
    version: int
    action: LayoutAction
    columns: tuple[str, ...] = ()  # to cluster or Z-order by, to collect statistics of, to index; in this order
    target_file_bytes: int | None = None
    properties: tuple[tuple[str, str], ...] = ()  # sorted; set for good with this action
    files_before: int = 0
    bytes_before: int = 0
    files_after: int = 0
    bytes_rewritten: int = 0
    expected: tuple[ExpectedRead, ...] = ()  # one per query that reads the table, by query id
    rewrite_cpu_ns: int = 0
    break_even_days: float | None = None  # None: it never pays, or costs nothing
    writers: str = ""  # what it costs those who write to the table
    locks_out: str = ""  # who could no longer read or write the table; empty: nobody, the protocol stays
    reason: str = ""
    arithmetic: Arithmetic = ()
    evidence_ids: tuple[str, ...] = ()  # observations, and the table at its version
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def id(self) -> str:
        return content_id(
            "lay",
            {
                "table": self.table,
                "table_id": self.table_id,
                "version": self.version,
                "action": self.action,
                "columns": list(self.columns),
                "target_file_bytes": self.target_file_bytes,
                "properties": dict(self.properties),
                **EVERYWHERE,
            },
        )

    @property
    def layout_id(self) -> str:
        """The same change of the same table, whatever its version: verdicts are remembered by it.

        >>> now, later = (LayoutProposal("orders", "t-1", version, "compact") for version in (7, 8))
        >>> now.id == later.id, now.layout_id == later.layout_id
        (False, True)
        """
        return content_id(
            "lyt",
            {
                "table_id": self.table_id,
                "action": self.action,
                "columns": list(self.columns),
                "target_file_bytes": self.target_file_bytes,
                **EVERYWHERE,
            },
        )

    @property
    def ref(self) -> str:
        """The table at the version that was looked at."""
        return f"{self.table}@v{self.version}"

    @property
    def rewrites(self) -> bool:
        return self.action in REWRITING

    @property
    def needs_proof(self) -> bool:
        """Whether it is applied only after a trial on a clone was accepted."""
        return self.action in PROVEN

    @property
    def gain(self) -> tuple[str, ...]:
        """Queries that are expected to gain."""
        return tuple(e.query_id for e in self.expected if e.gains)

    @property
    def lose(self) -> tuple[str, ...]:
        """Queries that are expected to lose."""
        return tuple(e.query_id for e in self.expected if e.loses)

    @property
    def saving_cpu_ns_per_day(self) -> float:
        """Of all queries at their declared rates, losers included."""
        return sum(e.saving_cpu_ns * e.runs_per_day for e in self.expected)

    @property
    def rows(self) -> int | None:
        """Of the table, when it was looked at. None: a proposal of an older planopt."""
        found = dict(self.arithmetic).get("rows")
        return None if found is None else int(found)

    def describe(self) -> str:
        by = ", ".join(self.columns)
        into = f" into files of {self.target_file_bytes / 2**20:g} MiB" if self.target_file_bytes else ""
        words = {
            "compact": f"compact {self.table}",
            "zorder": f"Z-order {self.table} by {by}",
            "cluster": f"cluster {self.table} by {by}",
            "statistics": f"collect statistics of {self.table} for {by}",
            "checkpoint": f"write a checkpoint of {self.table}",
            "properties": f"set {', '.join(f'{n} = {v}' for n, v in self.properties)} on {self.table}",
            "bloom": f"index {self.table} by bloom filters on {by}",
        }
        return f"{words[self.action]}{into}"
