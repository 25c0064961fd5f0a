"""What the executions of a generated query cost: larger tables cost more, and each run differs a little."""

from __future__ import annotations

import random
from dataclasses import asdict

from benchmarks.store_scale.nights import Night, Row, plain
from benchmarks.store_scale.queries import Spec
from benchmarks.store_scale.sources import grown
from planopt_assets.model.counters import Counters
from planopt_assets.model.trial import Digest

_NOISE = 0.02  # of a clock, either way
_SCANNED = (
    "table_files",
    "table_bytes",
    "table_rows",
    "partition_files",
    "partition_bytes",
    "read_rows",
    "matched_rows",
)


def counters_row(query: Spec, night: Night, execution: str, purpose: str, policy_id: str, speed: float = 1.0) -> Row:
    """One row of `runtime_counters`; only observations tell what became of their scans, trials are not asked."""
    counted = asdict(_counters(query, night, execution, speed))
    unknown = dict.fromkeys(_SCANNED) if purpose == "trial" else {}
    return {
        "query_id": query.id,
        "execution_id": execution,
        "purpose": purpose,
        "policy_id": policy_id,
        "binding": 0,
        "cores": 2,
        **counted,
        **unknown,
    }


def _counters(query: Spec, night: Night, execution: str, speed: float) -> Counters:
    draw = random.Random(execution)
    files, rows = (grown(sum(getattr(s, n) for s in query.sources), night.number) for n in ("files", "rows"))
    size = table_bytes(query, night.number)
    matched, written = rows * 3 // 4, grown(400_000, night.number)

    def clock(ms: int) -> int:
        return round(grown(ms, night.number) * 1_000_000 * speed * (1 + draw.uniform(-_NOISE, _NOISE)))

    return Counters(
        wall_ns=clock(1_200),
        cpu_ns=clock(1_600),
        planning_wall_ns=clock(300),
        planning_cpu_ns=clock(280),
        planning_jobs=len(query.sources),
        executor_cpu_ns=clock(1_100),
        executor_run_ns=clock(2_000),
        gc_ns=clock(60),
        jobs=2 + len(query.joined),
        stages=3 + len(query.joined),
        tasks=6 + 2 * len(query.joined),
        failed_tasks=0,
        shuffle_write_tasks=4,
        input_rows=rows,
        scan_files=files,
        scan_bytes=size,
        shuffle_write_bytes=written,
        shuffle_write_rows=written // 25,
        shuffle_read_bytes=written,
        fetch_wait_ns=0,
        memory_spill_bytes=0,
        disk_spill_bytes=0,
        peak_memory_bytes=690_180_160,
        result_rows=1_000,
        killed_tasks=0,
        broadcast_bytes=67_000_000 * len(query.joined),
        cache_reads=0,
        table_files=files,
        table_bytes=size,
        table_rows=rows,
        partition_files=files,
        partition_bytes=size,
        read_rows=rows,
        matched_rows=matched,
        shuffle_blocks=800 if speed == 1.0 else 8,
        map_memory_bytes=206_569_376,
        sort_fallback_tasks=0,
        input_bytes=size // 4,
        shuffle_remote_bytes=0,
        task_memory_bytes=115_030_026,
    )


def table_bytes(query: Spec, night: int) -> int:
    """Of all tables the query reads."""
    return grown(sum(s.bytes for s in query.sources), night)


def digest_json(query: Spec, night: Night) -> str:
    """Of the whole result, which is another one every night and the same under every policy."""
    draw = random.Random(f"{query.id}/{night.run_id}")
    sums = f"{draw.getrandbits(70)}/{draw.getrandbits(63)}"
    known = {name: value for name, value in asdict(Digest(1_000, sums, sums)).items() if value is not None}
    return plain(known)
