"""Split scans into the right number of tasks: fewer for many small files, more if cores are idle.

Spark packs files into tasks as if opening a file cost as much as reading 4 MiB. With thousands of small files, this
open cost sets the number of tasks, not the data.

Worked, small files: 2,000 files, 200 MiB in all, 2 cores. Each counts 0.1 + 4 MiB, a task holds 128 MiB: 32 files, 63
tasks. At 64 KiB per file a task holds up to (200 + 125) / 2 MiB, capped at 128: 3 tasks. 60 tasks fewer at 5 ms: 0.3 s.

Worked, pieces too small: a session splits at 1 MiB, so 4 GiB make 4,096 tasks. At 128 MiB there are 32, still four for
each of 8 cores: 4,064 tasks fewer at 5 ms: 20 s.

Worked, idle cores: 3 files of 128 MiB on 2 cores are 3 tasks in 2 rounds. In the last round one core waits: a quarter
of the core time. Asked for 8 tasks, four per core, Spark cuts every file in three: 9 tasks in 5 rounds, a tenth idle.
384 MiB at 4 ns a byte are 1.61 s of work: 1.61 / 0.75 - 1.61 / 0.9 = 0.36 s of idle core time saved, less 6 more tasks
at 5 ms: 0.33 s of two cores, 0.16 s wall clock. It saves no CPU, so it is proposed only under objective `latency`. A
file can be cut only between row groups. If it has only one, the trial shows no gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planopt_assets.decide.answer import CLOCK_ONLY, Answer, cannot_tell, no_change, propose
from planopt_assets.decide.prices import CPU_PER_TASK_NS
from planopt_assets.decide.setting_in_force import bytes_in_force, in_force
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import Scan

NAME = "right_size_splits"
OPEN_COST = "spark.sql.files.openCostInBytes"
MAX_BYTES = "spark.sql.files.maxPartitionBytes"
MIN_NUMBER = "spark.sql.files.minPartitionNum"

MIB = 1024 * 1024
LOW_OPEN_COST = 64 * 1024
USUAL_PIECE = 128 * MIB
LARGE_PIECE = 64 * MIB  # a smaller one is likely to be one row group, which cannot be cut
ROUNDS = 4  # tasks per core: enough that the last round matters little
CPU_PER_BYTE_NS = 4  # reading one byte of Parquet: the low end of what was measured


@dataclass(frozen=True, slots=True)
class Cut:
    """One way to split the scans: the setting, the tasks it should give, and the core time it saves, busy or idle."""

    knob: str
    value: int
    tasks: int
    saving_ns: int
    words: str
    idle: bool = False  # saves only idle core time, no CPU


def right_size_splits(evidence: Evidence) -> Answer:
    """Propose the one setting that saves most core time: open cost, largest piece, or minimum number of tasks."""
    open_cost, max_bytes = bytes_in_force(evidence, OPEN_COST), bytes_in_force(evidence, MAX_BYTES)
    if open_cost is None or max_bytes is None:
        return cannot_tell("the settings for packing files were not recorded with the observation", {})
    scans = [s for e in evidence.executions for s in e.scans if s.files and s.splits]
    if not scans:
        return no_change("no scan read any file", {"scans": 0})
    cores, now = evidence.cores, sum(s.splits for s in scans)
    files = sum(s.files for s in scans)
    task_ns = evidence.prices.saved_task_ns
    packed = _packed(scans, open_cost, max_bytes, cores, task_ns)
    cuts = [packed, _larger_pieces(scans, open_cost, max_bytes, cores, task_ns)]
    idle = _more_tasks(scans, open_cost, max_bytes, cores) if in_force(evidence, MIN_NUMBER) is None else None
    if evidence.objective == "latency":
        cuts.append(idle)
    best = max((c for c in cuts if c is not None and c.saving_ns > 0), key=lambda c: c.saving_ns, default=None)
    arithmetic = {
        "scans": len(scans),
        "files": files,
        "bytes": sum(s.bytes for s in scans),
        "open_cost_now": open_cost,
        "open_cost_target": LOW_OPEN_COST,
        "largest_piece_now": max_bytes,
        "tasks_now": now,
        "tasks_predicted": best.tasks if best else _tasks(scans, LOW_OPEN_COST, max_bytes, cores),
        "cpu_ns_per_task": task_ns,
    }
    if best is not None:
        reason = f"{now} scan tasks read {files:,} {best.words}"
        return propose(
            {best.knob: str(best.value)},
            reason,
            saved_cpu_ns=0 if best.idle else best.saving_ns,
            saved_wall_ns=best.saving_ns // cores if best.idle else 0,
            arithmetic=arithmetic,
            nodes=[s.node for s in scans],
        )
    if idle is not None and idle.saving_ns > 0:
        return no_change(
            f"{now} scan tasks leave cores idle at the end: cutting them into {idle.tasks} {CLOCK_ONLY}", arithmetic
        )
    if open_cost <= LOW_OPEN_COST:
        return no_change("the open cost of a file is already low", arithmetic)
    return no_change(f"the {now} scan tasks are as few as the cores and the bytes allow", arithmetic)


def _packed(scans: Sequence[Scan], open_cost: int, max_bytes: int, cores: int, task_ns: int) -> Cut | None:
    """Small files, with a realistic open cost."""
    if open_cost <= LOW_OPEN_COST:
        return None
    then, now = _tasks(scans, LOW_OPEN_COST, max_bytes, cores), sum(s.splits for s in scans)
    words = f"small files; with a lower open cost, {then} tasks are enough"
    return Cut(OPEN_COST, LOW_OPEN_COST, then, (now - then) * task_ns, words)


def _larger_pieces(scans: Sequence[Scan], open_cost: int, max_bytes: int, cores: int, task_ns: int) -> Cut | None:
    """Large files that a session splits far smaller than usual."""
    if max_bytes * 2 > USUAL_PIECE:
        return None
    then, now = _tasks(scans, open_cost, USUAL_PIECE, cores), sum(s.splits for s in scans)
    if then < ROUNDS * cores or now < 2 * then:
        return None
    words = f"files in pieces of {max_bytes:,} bytes; {then} larger ones keep every core busy"
    return Cut(MAX_BYTES, USUAL_PIECE, then, (now - then) * task_ns, words)


def _more_tasks(scans: Sequence[Scan], open_cost: int, max_bytes: int, cores: int) -> Cut | None:
    """Few large tasks that leave cores idle in the last round."""
    wanted = ROUNDS * cores
    large = [
        s for s in scans if s.bytes >= LARGE_PIECE * s.splits and s.splits < wanted and idle_share(s.splits, cores)
    ]
    if not large:
        return None
    then = sum(_cut_into(s, open_cost, max_bytes, wanted) for s in scans)
    more = then - sum(s.splits for s in scans)
    after = sum(_held_ns(s, _cut_into(s, open_cost, max_bytes, wanted), cores) for s in large)
    spared = sum(_held_ns(s, s.splits, cores) for s in large) - after
    words = f"files in few large pieces and leave cores idle at the end; {then} tasks share the work evenly"
    return Cut(MIN_NUMBER, wanted, then, spared - more * CPU_PER_TASK_NS, words, idle=True)


def _cut_into(scan: Scan, open_cost: int, max_bytes: int, wanted: int) -> int:
    """Tasks of a scan if `wanted` is the minimum. Never fewer than today."""
    return max(scan.splits, predicted_splits(scan, open_cost, max_bytes, wanted))


def _held_ns(scan: Scan, tasks: int, cores: int) -> int:
    """Core time until the last task ends, idle cores included."""
    return round(scan.bytes * CPU_PER_BYTE_NS / (1 - idle_share(tasks, cores)))


def idle_share(tasks: int, cores: int) -> float:
    """Idle share of the core time while equal tasks run in rounds.

    >>> idle_share(3, cores=2), idle_share(4, cores=2), idle_share(1, cores=4)
    (0.25, 0.0, 0.75)
    """
    return 1 - tasks / (-(-tasks // cores) * cores)


def _tasks(scans: Sequence[Scan], open_cost: int, max_bytes: int, cores: int) -> int:
    return sum(min(s.splits, predicted_splits(s, open_cost, max_bytes, cores)) for s in scans)


def predicted_splits(scan: Scan, open_cost: int, max_bytes: int, cores: int) -> int:
    """Tasks that Spark makes of equal files. Each file counts its bytes and the open cost; the cores cap the task size.

    A task takes one more file as long as that file's bytes still fit; its open cost may exceed the limit. A file larger
    than a task is split.

    >>> predicted_splits(Scan(0, "t", files=2000, bytes=200 * 2**20, splits=63), 4 * 2**20, 128 * 2**20, cores=2)
    63
    >>> predicted_splits(Scan(0, "t", files=1, bytes=2**30, splits=8), 4 * 2**20, 128 * 2**20, cores=2)
    8
    """
    size = scan.bytes // scan.files
    target = min(max_bytes, max(open_cost, (scan.bytes + scan.files * open_cost) // cores))
    if size > target:
        return int(scan.files * -(-size // max(target, 1)))
    per_task = max(0, target - size) // (size + open_cost) + 1
    return -(-scan.files // per_task)
