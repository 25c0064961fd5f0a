"""How much the driver may hold of what a query broadcasts. It holds all broadcasts of one execution at once."""

from __future__ import annotations

from planopt_assets.decide.knobs import size_in_bytes
from planopt_assets.decide.row_prices import MIB
from planopt_assets.decide.setting_in_force import in_force
from planopt_assets.model.evidence import Evidence

LARGEST = 64 * MIB  # all broadcasts of one execution together, in the planner's bytes
DRIVER_MEMORY = "1g"  # Spark's default, if it was not recorded
PART_OF_DRIVER = 16  # the driver holds a broadcast several times: collected, built, cut into blocks


def held_bytes(evidence: Evidence) -> int:
    """Bytes that the driver holds for the broadcasts of one execution already: the planner's own, and a policy's."""
    built = [
        [j.side(j.build) for j in e.joins if j.build is not None and j.planned_strategy.startswith("Broadcast")]
        for e in evidence.executions
    ]
    return max((sum(side.bytes or side.estimated_bytes or 0 for side in sides) for sides in built), default=0)


def room_for_broadcasts(evidence: Evidence) -> int:
    """Bytes that may be broadcast beside them."""
    memory = size_in_bytes(in_force(evidence, "driver_memory") or DRIVER_MEMORY)
    return max(0, min(LARGEST, memory // PART_OF_DRIVER) - held_bytes(evidence))
