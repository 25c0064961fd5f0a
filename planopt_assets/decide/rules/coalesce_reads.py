"""Read small shuffle partitions together, if many tiny ones are read by a task each.

Adaptive execution merges partitions up to the advisory size, but it prefers one partition per core. On many cores that
leaves partitions of 1 MiB, its minimum. A task costs 5 ms whatever it reads.

Worked: 64 MiB on 64 cores are read in 64 partitions of 1 MiB. With a minimum of 4 MiB there are 16: 48 tasks fewer at
5 ms are 0.24 s of CPU. On two cores the same shuffle is read in two partitions, and there is nothing to do.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.row_prices import MIB
from planopt_assets.decide.setting_in_force import switched_on
from planopt_assets.decide.shuffle_settings import (
    ADVISORY,
    MIN_SIZE,
    PARALLELISM_FIRST,
    coalesces,
    predicted_reads,
    size_of,
    unrecorded,
)
from planopt_assets.model.evidence import Evidence

NAME = "coalesce_reads"

TINY = 2 * MIB  # a task that reads less on average is mostly overhead
TARGET = 4 * MIB  # about ten times the work of starting a task
MANY = 8
WORTH_A_LOOK = 2  # at most half as many reads


def coalesce_reads(evidence: Evidence) -> Answer:
    """Propose a higher minimum if a shuffle is read in many partitions of less than 2 MiB."""
    if missing := unrecorded(evidence, ADVISORY, MIN_SIZE, PARALLELISM_FIRST):
        return cannot_tell(missing, {})
    exchanges = [x for e in evidence.executions for x in e.exchanges]
    reads = [(x, x.read_partitions) for x in exchanges if x.read_partitions is not None]
    tiny = [(x, n) for x, n in reads if n >= MANY and x.bytes_written < n * TINY]
    merged = [
        predicted_reads(
            x.bytes_written,
            evidence.cores,
            advisory=size_of(evidence, ADVISORY),
            min_size=max(TARGET, size_of(evidence, MIN_SIZE)),
            parallelism_first=switched_on(evidence, PARALLELISM_FIRST) is True,
        )
        for x, _ in tiny
    ]
    now, then = sum(n for _, n in tiny), sum(merged)
    facts: dict[str, int | float | str] = {
        "shuffles": len(exchanges),
        "shuffles_read_in_tiny_parts": len(tiny),
        "tasks_now": now,
        "tasks_predicted": then,
        "tiny_bytes": TINY,
        "cpu_ns_per_task": evidence.prices.saved_task_ns,
    }
    if not tiny and len(reads) < len(exchanges):
        untold = len(exchanges) - len(reads)
        return cannot_tell(f"the number of partitions read is missing for {untold} shuffles", facts)
    if not tiny:
        return no_change(f"no shuffle is read in {MANY} or more partitions of less than {TINY:,} bytes", facts)
    if not coalesces(evidence):
        return no_change("merging of small reads is switched off in the workload's own settings", facts)
    if now < then * WORTH_A_LOOK:
        return no_change(f"{now} reads of tiny partitions would still be {then}", facts)
    if size_of(evidence, MIN_SIZE) >= TARGET:
        return no_change("the settings already merge small reads; something in the query prevents it", facts)
    return propose(
        {MIN_SIZE: str(TARGET)},
        f"{now} tasks read {sum(x.bytes_written for x, _ in tiny):,} bytes of shuffles; merged, {then} are enough",
        saved_cpu_ns=(now - then) * evidence.prices.saved_task_ns,
        arithmetic=facts,
    )
