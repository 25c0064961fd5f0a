"""An arm: a policy together with the tables it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.location import plain_path
from planopt_assets.model.policy import Policy

Tables = tuple[PinnedTable, ...]
Session = tuple[tuple[tuple[str, str], ...], Tables]
"""Settings and tables: what a session is made from."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What an experiment races: each registered name stands for one location at one version.

    The usual arm reads the run's pinned tables. One that tries a layout reads a clone under the same name.

    >>> sales = PinnedTable("sales", "/data/sales", "t-1", 3)
    >>> baseline = Arm(Policy(), (sales,))
    >>> clone = baseline.reading(PinnedTable("sales", "/scratch/sales", "t-2", 1))
    >>> clone.policy == baseline.policy, clone.id == baseline.id
    (True, False)
    """

    policy: Policy
    tables: Tables = ()

    @property
    def id(self) -> str:
        """Of policy and tables; a location is a place of this machine, so it is no id to store."""
        read = sorted([t.name, plain_path(t.location), t.version] for t in self.tables)
        return content_id("arm", {"policy": self.policy.content, "tables": read})

    @property
    def session(self) -> Session:
        """The key of its session; arms that differ in hints or rewrites only share one."""
        return self.policy.settings, self.tables

    def under(self, policy: Policy) -> Arm:
        """Another policy over the same tables."""
        return replace(self, policy=policy)

    def reading(self, table: PinnedTable) -> Arm:
        """The same policy, with another place for one of its tables."""
        if table.name not in {t.name for t in self.tables}:
            raise ValueError(f"no table of the arm is called {table.name!r}")
        return replace(self, tables=tuple(table if t.name == table.name else t for t in self.tables))

    def within(self, other: Arm) -> bool:
        """Whether the other one changes all that this one does, over the same tables."""
        return self.tables == other.tables and self.policy.within(other.policy)
