"""How much the driver may hold of what a query broadcasts. It holds all broadcasts of one execution at once.

A higher threshold lets in whatever is below it: by the planner, which compares its estimate, or by adaptive execution,
which compares what was measured. So all of that must fit, and what adaptive execution broadcasts today takes room too.

A hint broadcasts its input whatever the threshold is. Worked: a hint names an input of 40 MB, and a threshold lets in
another one of 30 MB. Each fits into 64 MiB, and both together do not. A threshold that lets in the hinted input itself
adds nothing to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from planopt_assets.decide.join_sides import may_broadcast
from planopt_assets.decide.knobs import size_in_bytes
from planopt_assets.decide.row_prices import MIB
from planopt_assets.decide.setting_in_force import in_force
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import SIDES, Join, JoinInput

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
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


def has_room_below(evidence: Evidence, threshold: int, hinted: Collection[str] = ()) -> bool:
    """Whether all that such a threshold would broadcast is known to fit into the driver, beside inputs with a hint."""
    room = room_for_broadcasts(evidence)
    return all(_total(_let_in_or_hinted(e, threshold, hinted)) <= room for e in evidence.executions)


def _let_in_or_hinted(execution: ObservedExecution, threshold: int, hinted: Collection[str]) -> list[JoinInput]:
    """Each input once: the threshold may let in what a hint names."""
    new = let_in(execution, threshold)
    sides = [(j, j.side(side)) for j in execution.joins for side in SIDES]
    named = [(j, side) for j, side in sides if side.target and side.target in hinted]
    return [side for _, side in (*new, *(one for one in named if one not in new))]


def let_in(execution: ObservedExecution, threshold: int) -> list[tuple[Join, JoinInput]]:
    """The inputs that the planner does not broadcast today, and that are broadcast below such a threshold."""
    shuffled = [j for j in execution.joins if not j.planned_strategy.startswith("Broadcast")]
    sides = [(j, j.side(side)) for j in shuffled for side in SIDES if may_broadcast(j.kind, side)]
    return [(j, side) for j, side in sides if min(side.estimated_bytes or 0, side.bytes or 0) <= threshold]


def _total(sides: Iterable[JoinInput]) -> float:
    """Of their bytes. More than any room if one is unknown."""
    return sum(math.inf if side.bytes is None else side.bytes for side in sides)
