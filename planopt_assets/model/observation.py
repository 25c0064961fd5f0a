"""What one run saw of one query, and all that was ever seen of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Observation:
    """What one run saw of one query: a row of `plan_artifacts` for each binding, and their scans and tables."""

    query_id: str
    run_id: str
    artifacts: tuple[Row, ...]
    scans: tuple[Row, ...] = ()
    tables: tuple[Row, ...] = ()

    @property
    def captured(self) -> bool:
        return all(row["status"] == "captured" for row in self.artifacts)

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(row["observation_id"] for row in self.artifacts)

    @property
    def topologies(self) -> tuple[str, ...]:
        return tuple(row["topology_hash"] for row in self.artifacts)

    @property
    def final_topologies(self) -> tuple[str, ...]:
        return tuple(row["final_topology_hash"] for row in self.artifacts)


@dataclass(frozen=True, slots=True)
class History:
    """All observations of a query, and the ones a person accepted although their plan had changed."""

    observations: tuple[Observation, ...]
    accepted: frozenset[str] = frozenset()  # observation ids

    @property
    def last(self) -> Observation | None:
        return self.observations[-1] if self.observations else None
