"""Every observation of a query, oldest first, with the scans and tables that belong to it. Never starts Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt_assets.model.observation import History, Observation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planopt_assets.store.reader import StoreReader

Row = dict[str, Any]


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
