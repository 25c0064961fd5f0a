"""Write shuffles into as many partitions as their bytes need, not into Spark's fixed default.

Every map task writes one block per partition, and every block costs CPU, also an empty one. Adaptive execution
coalesces only what is *read*; the blocks are already written then.

Worked: 5 shuffles with 12 writing tasks in all, 200 partitions planned, largest shuffle 9 MiB, 2 cores.
One partition of at most 64 MiB would hold it, but there is at least one for each core: target 2.
Blocks saved: 12 x (200 - 2) = 2,376. At 0.2 ms of CPU each (the low end of what was measured) that is 0.48 s per run.

The setting is `spark.sql.shuffle.partitions`, unless the workload sets the adaptive `initialPartitionNum`. That one
wins if reads are coalesced, and changing the other would have no effect.
"""

from __future__ import annotations

from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.decide.shuffle_settings import partitions_knob
from planopt_assets.model.evidence import Evidence

NAME = "right_size_shuffle"

TARGET_BYTES = 64 * 1024 * 1024  # Spark's own advisory size of a shuffle partition
WORTH_A_LOOK = 2  # propose only at most half as many partitions


def right_size_shuffle(evidence: Evidence) -> Answer:
    """Propose the number of partitions from the largest shuffle of all bindings."""
    knob = partitions_knob(evidence)
    exchanges = [x for e in evidence.executions for x in e.exchanges]
    current = int(evidence.setting(knob))
    resizable = [x for x in exchanges if x.partitions == current]
    if not resizable:
        return no_change("no shuffle takes its partition count from the setting", {"shuffles": len(exchanges)})
    largest = max(x.bytes_written for x in resizable)
    target = max(evidence.cores, -(-largest // TARGET_BYTES))
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
        "cpu_ns_per_block": evidence.prices.saved_block_ns,
    }
    if current < target * WORTH_A_LOOK:
        return no_change(f"{current} partitions already fit the largest shuffle ({largest:,} bytes)", arithmetic)
    return propose(
        {knob: str(target)},
        f"the largest shuffle is {largest:,} bytes: {target} partitions hold it, "
        f"{current} only add {saved_blocks:,} small blocks",
        saved_cpu_ns=saved_blocks * evidence.prices.saved_block_ns,
        arithmetic=arithmetic,
    )
