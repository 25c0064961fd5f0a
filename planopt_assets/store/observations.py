"""Every observation of a query, oldest first, with the scans and tables that belong to it. Never starts Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_assets.store.reader import StoreReader

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


def histories(reader: StoreReader, query_ids: Sequence[str]) -> dict[str, History]:
    """The history of each query; rows are read once for all of them."""
    scans = _grouped(reader.rows("scan_outcomes"), "observation_id")
    tables = _grouped(reader.rows("input_tables"), "observation_id")
    artifacts = _grouped(reader.rows("plan_artifacts"), "query_id")
    accepted = _grouped(reader.rows("accepted_topologies"), "query_id")
    found = {}
    for query_id in query_ids:
        runs = _grouped(artifacts.get(query_id, []), "run_id")
        found[query_id] = History(
            tuple(
                Observation(
                    query_id,
                    run_id,
                    tuple(sorted(rows, key=lambda r: r["binding"])),
                    tuple(s for r in rows for s in scans.get(r["observation_id"], [])),
                    tuple(t for r in rows for t in tables.get(r["observation_id"], [])),
                )
                for run_id, rows in runs.items()
            ),
            frozenset(row["observation_id"] for row in accepted.get(query_id, [])),
        )
    return found


def _grouped(rows: list[Row], column: str) -> dict[str, list[Row]]:
    """In the order of first appearance, which is the order of time."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups
