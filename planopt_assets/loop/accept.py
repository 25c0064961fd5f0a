"""A person takes a changed plan as the new normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.errors import NothingToAccept
from planopt_assets.loop.histories import histories
from planopt_assets.model.observation import AcceptedTopology
from planopt_assets.store.codecs.observing import ACCEPTED

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run


def accept_topology(run: Run, query_id: str, reason: str) -> str:
    """Record that the newest observation's plan is the one to keep; returns the observation's id."""
    last = histories(run.snapshot, [query_id])[query_id].last
    if last is None or not last.captured:
        raise NothingToAccept(
            "there is no captured plan of this query",
            where=f"query {query_id}",
            fix=f"run `planopt run {query_id}` first",
        )
    observation = last.artifacts[0].observation_id
    accepted = AcceptedTopology(query_id, observation, tuple(t or "" for t in last.topologies), reason)
    run.append("accept", {ACCEPTED: [accepted]})
    return observation
