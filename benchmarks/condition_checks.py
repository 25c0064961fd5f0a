"""`make bench ARGS=conditions`: what it costs `tuned` to ask whether the evidence of a policy holds for the tables.

A store with one promotion, and a query over three Delta tables with so many commits after their last checkpoint. Timed
is what `tuned` does before it touches Spark: the chain is read from the store, and the heads of the three logs are read
and compared with the conditions. Writers that leave no checksum file make planopt add up the sizes in the log. With
`--session`, Spark is started, and the session's part is timed too: engine, cores, memory, settings that shape plans.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NoReturn

from planopt_assets.engine.delta.heads import heads
from planopt_assets.engine.delta.pins import Pins
from planopt_assets.job.in_force import found_in_store
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import GENESIS, Promotion
from planopt_assets.model.workload import Query, Table, Workload
from planopt_assets.promote.dependence import COMPARED, conditions_of
from planopt_assets.promote.suspension import fitting, suspension
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.promotions import chains
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.writer import append

POLICY = Policy.of({"spark.sql.shuffle.partitions": "8"})
NAMES = ("lineitem", "orders", "customer")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=conditions", description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="timed calls for each number")
    parser.add_argument("--session", action="store_true", help="start Spark, and time the session's part too")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    session = _session_ms(options.calls) if options.session else None
    found = [
        measured(commits, options.calls, checksums=checksums) for commits in (1, 10, 100) for checksums in (True, False)
    ]
    if options.json:
        print(json.dumps({"tables": found, "session_ms": session}, indent=2))
        return 0
    if session is not None:
        print(f"the session: {session:.1f} ms for {len(COMPARED)} settings\n")
    print("| commits of each table | checksum files | the chain | the tables | both, 90 % |\n|---|---|---|---|---|")
    for row in found:
        print(
            f"| {row['commits']} | {'yes' if row['checksums'] else 'no'} | {row['chain_ms']:.1f} ms "
            f"| {row['tables_ms']:.1f} ms | {row['both_ms']:.1f} ms, {row['both_90_ms']:.1f} ms |"
        )
    return 0


def measured(commits: int, calls: int, *, checksums: bool) -> dict[str, Any]:
    """Medians in milliseconds, of one process that has loaded everything before."""
    with tempfile.TemporaryDirectory() as folder:
        workload = _workload(Path(folder), commits, checksums=checksums)
        query = workload.queries[0]
        chain = chains(Snapshot(workload.store, workload.name), [query.id]).of(query.id)

        def tables() -> None:
            now = heads(workload.tables, chain, Pins())
            assert not suspension(chain, now, workload.similar_within)
            assert fitting(chain, now, workload.similar_within)

        both = _timed(lambda: found_in_store(workload, query), calls)
        return {
            "commits": commits,
            "checksums": checksums,
            "chain_ms": median(_timed(lambda: chains(Snapshot(workload.store, workload.name), [query.id]), calls)),
            "tables_ms": median(_timed(tables, calls)),
            "both_ms": median(both),
            "both_90_ms": quantiles(both, n=10)[-1],
        }


def _session_ms(calls: int) -> float:
    """The median of what `tuned` asks of a session that has run something before."""
    from planopt_assets.engine.sessions.session import open_session
    from planopt_assets.engine.user_job.session_facts import session_circumstances

    spark = open_session(Workload("bench", Path("planopt.yaml"), "store", (), (), "local[2]"))
    return median(_timed(lambda: session_circumstances(spark, COMPARED), calls))


def _timed(call: Callable[[], object], calls: int) -> list[float]:
    call()
    found = []
    for _ in range(calls):
        started = time.perf_counter()
        call()
        found.append(1000 * (time.perf_counter() - started))
    return found


def _workload(folder: Path, commits: int, *, checksums: bool) -> Workload:
    for name in NAMES:
        _write(folder / name, commits, checksums=checksums)
    tables = tuple(Table(name, str(folder / name)) for name in NAMES)
    query = Query("q", sql="SELECT 1")
    workload = Workload("bench", folder / "planopt.yaml", str(folder / "store"), tables, (query,))
    states = tuple(Pins().state(t.name, str(t.path)) for t in tables)
    _promote(workload, Circumstances(cores=2, tables=states))
    return workload


def _write(folder: Path, commits: int, *, checksums: bool) -> None:
    """Small commits, as nightly loads leave them; Spark notes the size of the table after each."""
    import pyarrow as pa
    from deltalake import write_deltalake

    for number in range(commits):
        write_deltalake(folder, pa.table({"n": pa.array([number], pa.int64())}), mode="append")
    if checksums:
        size = sum(f.stat().st_size for f in folder.glob("*.parquet"))
        noted = {"tableSizeBytes": size, "numFiles": commits}
        (folder / "_delta_log" / f"{commits - 1:020}.crc").write_text(json.dumps(noted))


def _promote(workload: Workload, proven: Circumstances) -> None:
    conditions = conditions_of(POLICY, proven, ())
    made = Promotion(
        workload.name, "q", 1, POLICY, "accepted", "cpu -30%", "ver-1", "can_1", "inp_1", GENESIS, conditions=conditions
    )
    known = {name: value for name, value in asdict(made).items() if name in TABLES["active_policies"].names}
    row = {
        **known,
        "promotion_id": made.id,
        "policy_id": POLICY.id,
        "policy": POLICY.to_json(),
        "conditions": dumped(conditions.facts()),
        "chain_hash": made.chain_hash,
    }
    append(
        _no_spark,
        workload.store,
        workload=workload.name,
        run_id="bench",
        stage="promote",
        rows={"active_policies": [row]},
    )


def _no_spark() -> NoReturn:
    raise AssertionError("a store on a file system needs no Spark")
