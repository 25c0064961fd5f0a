"""A person takes a changed plan as the new normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import NothingToAccept

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run


def accept_topology(run: Run, query_id: str, reason: str) -> str:
    """Record that the newest observation's plan is the one to keep; returns the observation's id."""
    from planopt_assets.loop.histories import histories

    last = histories(run.reader, [query_id])[query_id].last
    if last is None or not last.captured:
        raise NothingToAccept(
            "there is no captured plan of this query",
            where=f"query {query_id}",
            fix=f"run `planopt run {query_id}` first",
        )
    observation = str(last.artifacts[0]["observation_id"])
    row = {
        "query_id": query_id,
        "observation_id": observation,
        "topology_hashes": list(last.topologies),
        "reason": reason,
    }
    run.append("accept", {"accepted_topologies": [row]})
    return observation
