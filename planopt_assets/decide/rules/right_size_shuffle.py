"""Write shuffles into as many partitions as their bytes need, not into Spark's fixed default.

Every map task writes one block per partition, and every block costs CPU, an empty one less. Adaptive execution
coalesces only what is *read*; the blocks are already written then.

Worked: 5 shuffles with 12 writing tasks in all, 200 partitions planned, largest shuffle 9 MiB, 2 cores.
One partition of at most 64 MiB would hold it, but there is at least one for each core: target 2.
Blocks saved: 12 x (200 - 2) = 2,376. At 0.2 ms of CPU each (the low end of what was measured) that is 0.48 s per run.

No more blocks hold rows than there are rows. Worked: 5 tasks write 24 groups of a few keys into 200 partitions. 24 of
the 1,000 blocks may hold rows, with 2 partitions all 10: 14 x 0.2 ms + 976 empty ones x 0.02 ms = 22 ms per run.

Where tasks spill, larger partitions would spill more: there are at least twice as many as are read today. Worked: TPC-H
q21 sorts 54 MB in 4 tasks, and each spills. 2 partitions would hold the bytes; 8 leave room to read smaller parts.

The setting is `spark.sql.shuffle.partitions`, unless the workload sets the adaptive `initialPartitionNum`. That one
wins if reads are coalesced, and changing the other would have no effect.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.decide.block_prices import EMPTY_BLOCK_NS, blocks_ns, filled_blocks
from planopt_assets.decide.shuffle_settings import partitions_knob
from planopt_assets.model.evidence import Evidence, ObservedExecution

NAME = "right_size_shuffle"

TARGET_BYTES = 64 * 1024 * 1024  # Spark's own advisory size of a shuffle partition
WORTH_A_LOOK = 2  # propose only at most half as many partitions
CUT_WHERE_IT_SPILLS = 2  # so many times the partitions that are read today


def right_size_shuffle(evidence: Evidence) -> Answer:
    """Propose the number of partitions from the largest shuffle of all bindings."""
    knob = partitions_knob(evidence)
    exchanges = [x for e in evidence.executions for x in e.exchanges]
    current = int(evidence.setting(knob))
    resizable = [x for x in exchanges if x.partitions == current]
    if not resizable:
        return no_change("no shuffle takes its partition count from the setting", {"shuffles": len(exchanges)})
    largest = max(x.bytes_written for x in resizable)
    spilling = max((_read(e) for e in evidence.executions if e.spills or e.counters.disk_spill_bytes), default=0)
    target = max(evidence.cores, -(-largest // TARGET_BYTES), CUT_WHERE_IT_SPILLS * spilling)
    writers = sum(e.counters.shuffle_write_tasks for e in evidence.executions)
    saved_blocks = writers * (current - target)
    arithmetic = {
        "shuffles": len(resizable),
        "largest_shuffle_bytes": largest,
        "target_bytes_per_partition": TARGET_BYTES,
        "cores": evidence.cores,
        "partitions_now": current,
        "partitions_target": target,
        "writing_tasks": writers,
        "blocks_saved": saved_blocks,
        "filled_blocks": filled_blocks(writers * current, resizable),
        "cpu_ns_per_block": evidence.prices.saved_block_ns,
        "cpu_ns_per_empty_block": EMPTY_BLOCK_NS,
    }
    if spilling:
        arithmetic["partitions_read_where_it_spills"] = spilling
    if current < target * WORTH_A_LOOK:
        return no_change(f"{current} partitions already fit the largest shuffle ({largest:,} bytes)", arithmetic)
    now, then = (blocks_ns(writers * number, resizable, evidence.prices) for number in (current, target))
    room = f" and leave room where {spilling} spill" if target == CUT_WHERE_IT_SPILLS * spilling else ""
    return propose(
        {knob: str(target)},
        f"the largest shuffle is {largest:,} bytes: {target} partitions hold it{room}, "
        f"{current} only add {saved_blocks:,} small blocks",
        saved_cpu_ns=now - then,
        arithmetic=arithmetic,
    )


def _read(execution: ObservedExecution) -> int:
    """The most partitions that adaptive execution reads of one shuffle."""
    return max((x.read_partitions or 0 for x in execution.exchanges), default=0)
