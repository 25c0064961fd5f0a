"""Make partitions smaller, if operators spilled because a task's data did not fit into memory.

A task held its share of the peak memory. It needed that plus what it spilled. Adaptive execution merges partitions up
to the advisory size, so that is lowered too. Operators fed by a scan get smaller splits instead.

Worked: a sort spilled 1,200 MB in 4 tasks, 300 MB each, while each held 200 MB. 500 / 200 is 2.5: every partition is
cut in 4 (the next power of two, because partitions are uneven). 4 partitions of 64 MiB as written become 16 of 16 MiB.
1,200,000,000 x 1 ns, less 12 more tasks at 5 ms: 1.14 s.
"""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.prices import CPU_PER_TASK_NS
from planopt_assets.decide.row_prices import MIB, SPILL_BYTE_NS
from planopt_assets.decide.setting_in_force import in_force
from planopt_assets.decide.shuffle_settings import ADVISORY, coalesces, partitions_knob, size_of, unrecorded
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Exchange, Scan, Spill, Stage

NAME = "relieve_spill"
MAX_BYTES = "spark.sql.files.maxPartitionBytes"

MOST_CUTS = 16
SMALLEST_READ = 1 * MIB
SMALLEST_SPLIT = 4 * MIB
_PART = {2: "half", 4: "a quarter", 8: "an eighth", 16: "a sixteenth"}
ONE_KEY = 5  # times the median: likely one key, which more partitions cannot divide


@dataclass(frozen=True, slots=True)
class Case:
    """One operator that spilled, its stage, and the shuffles and scans that the stage reads."""

    spill: Spill
    stage: Stage
    exchanges: tuple[Exchange, ...]
    scans: tuple[Scan, ...]
    cuts: int

    @property
    def uneven(self) -> bool:
        return any(
            (x.largest_bytes or 0) >= ONE_KEY * max(1, x.median_bytes or 0) for x in self.exchanges if x.largest_bytes
        )


def relieve_spill(evidence: Evidence) -> Answer:
    """Propose smaller shuffle partitions, or smaller splits, for the operators that spilled."""
    spilled = sum(s.bytes for e in evidence.executions for s in e.spills)
    on_disk = sum(e.counters.disk_spill_bytes for e in evidence.executions)
    facts: dict[str, int | float | str] = {"spilled_bytes": spilled, "disk_spill_bytes": on_disk}
    if not spilled and not on_disk:
        return no_change("nothing was spilled", facts)
    if missing := unrecorded(evidence, ADVISORY, partitions_knob(evidence)):
        return cannot_tell(missing, facts)
    cases = [c for e in evidence.executions for s in e.spills if (c := _case(e, s)) is not None]
    facts["spills_placed"] = len(cases)
    if not cases:
        return cannot_tell(f"{max(spilled, on_disk):,} bytes were spilled, by operators whose input is unknown", facts)
    even = [c for c in cases if not c.uneven]
    if not even:
        words = f"{spilled:,} bytes were spilled where one partition holds {ONE_KEY} times the median"
        return no_change(f"{words}: more partitions would not divide it", facts)
    return _proposal(evidence, even, facts)


def _proposal(evidence: Evidence, cases: list[Case], facts: dict[str, int | float | str]) -> Answer:
    settings: dict[str, str] = {}
    shuffle_fed, scan_fed = [c for c in cases if c.exchanges], [c for c in cases if not c.exchanges]
    reads = [(sum(x.bytes_written for x in c.exchanges), c) for c in shuffle_fed]
    sizes = [max(SMALLEST_READ, written // c.stage.tasks // c.cuts) for written, c in reads]
    knob = partitions_knob(evidence)
    if sizes:
        needed = max(-(-written // size) for (written, _), size in zip(reads, sizes, strict=True))
        if coalesces(evidence) and min(sizes) < size_of(evidence, ADVISORY):
            settings[ADVISORY] = str(min(sizes))
        if needed > int(in_force(evidence, knob) or needed):
            settings[knob] = str(needed)
    splits = [max(SMALLEST_SPLIT, s.bytes // s.splits // c.cuts) for c in scan_fed for s in c.scans if s.splits]
    if splits:
        settings[MAX_BYTES] = str(min(splits))
    spilled = sum(c.spill.bytes for c in cases)
    more_tasks = sum(c.stage.tasks * (c.cuts - 1) for c in cases)
    cuts = max(c.cuts for c in cases)
    facts |= {
        "cuts": cuts,
        "tasks_now": sum(c.stage.tasks for c in cases),
        "tasks_more": more_tasks,
        "cpu_ns_per_byte_spilled": SPILL_BYTE_NS,
        "cpu_ns_per_task": CPU_PER_TASK_NS,
    }
    saved = spilled * SPILL_BYTE_NS - more_tasks * CPU_PER_TASK_NS
    if not settings or saved <= 0:
        return no_change(f"{spilled:,} bytes were spilled, and {more_tasks} more tasks would cost as much", facts)
    kinds = ", ".join(sorted({c.spill.kind for c in cases}))
    return propose(
        settings,
        f"{kinds} spilled {spilled:,} bytes in {facts['tasks_now']} tasks: {_PART[cuts]} of each part would fit",
        saved_cpu_ns=saved,
        arithmetic=facts,
    )


def _case(execution: ObservedExecution, spill: Spill) -> Case | None:
    """The stage of the operator and what it read. None: the stage is unknown, or no shuffle or scan feeds it."""
    stage = next((s for s in execution.stages if spill.node in s.nodes), None)
    if stage is None or stage.tasks == 0:
        return None
    before = {n for s in execution.stages if s.index in stage.feeds for n in s.nodes}
    exchanges = tuple(x for x in execution.exchanges if x.node in before)
    scans = tuple(s for s in execution.scans if s.node in stage.nodes)
    if not exchanges and not scans:
        return None
    return Case(spill, stage, exchanges, scans, _cuts(spill.bytes, execution.counters.peak_memory_bytes, stage.tasks))


def _cuts(spilled: int, peak: int, tasks: int) -> int:
    """Into how many parts a partition must be cut so that each fits: a power of two.

    >>> _cuts(1_200, 800, 4), _cuts(1_200, 0, 4), _cuts(10**6, 1, 1)
    (4, 2, 16)
    """
    held = peak // tasks  # the peak is the sum over the tasks of the stage that held most
    needed = -(-(spilled // tasks + held) // held) if held else 2
    return min(MOST_CUTS, 1 << max(1, (needed - 1).bit_length()))
