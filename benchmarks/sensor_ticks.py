"""`make bench ARGS=sensors`: what one tick of each sensor costs on a store of a thousand queries.

Each sensor ticks in one process, as in Dagster's code server: with a lost cursor, with nothing changed, after a commit
to the table that most queries read, after an edit of the workload file, and after new rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

SENSORS = ("workload_changes", "table_changes", "production_runs", "regressions")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks sensors", description=__doc__)
    parser.add_argument("--queries", type=int, default=1000, help="in the workload file")
    parser.add_argument("--observations", type=int, default=10, help="nightly observations of each query")
    parser.add_argument("--folder", type=Path, default=Path(".planopt/store_scale"), help="where the store goes")
    parser.add_argument("--reuse", action="store_true", help="take the store that is there, write none")
    options = parser.parse_args(arguments)
    folder = options.folder / f"{options.queries}x{options.observations}"
    if not options.reuse:
        from benchmarks.store_scale.generate import generate

        generate(folder, options.queries, options.observations)
    os.environ["PLANOPT_WORKLOAD"] = str(folder.resolve() / "planopt.yaml")
    _measure(folder.resolve() / "planopt.yaml")
    return 0


def _measure(file: Path) -> None:
    import dagster as dg

    from planopt_assets.definitions import defs
    from planopt_assets.defs import on_change

    made = defs()
    cursors: dict[str, str | None] = dict.fromkeys(SENSORS)
    clock = [time.time()]
    on_change.time = lambda: clock[0]  # type: ignore[assignment]  # so that changes have settled
    print(f"{'sensor':<20}{'tick':<34}{'wall s':>8}{'CPU s':>8}  outcome")
    with dg.instance_for_test() as instance:
        for what in ("cursor lost", "settled", "nothing changed"):
            for name in SENSORS:
                _tick(made, instance, name, what, cursors, clock)
        _commit(file)
        for what in ("a table changed", "it settled: all its readers"):
            _tick(made, instance, "table_changes", what, cursors, clock)
        file.write_text(file.read_text() + "# edited\n")
        for what in ("the file changed", "it settled"):
            _tick(made, instance, "workload_changes", what, cursors, clock)
        for name in ("production_runs", "regressions"):
            cursors[name] = None
            for batch in range(1, 6):
                _tick(made, instance, name, f"rows of all queries, tick {batch}", cursors, clock)


def _tick(made, instance, name: str, what: str, cursors: dict[str, str | None], clock: list[float]) -> None:  # type: ignore[no-untyped-def]
    import dagster as dg

    clock[0] += 3600
    wall, cpu = time.perf_counter(), time.process_time()
    with dg.build_sensor_context(instance=instance, cursor=cursors[name], sensor_name=name) as context:
        result = made.resolve_sensor_def(name)(context)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    cursors[name] = result.cursor
    asked = [len(q["config"]["queries"]) for r in result.run_requests or [] for q in r.run_config["ops"].values()]
    said = f"a run of {asked[0]} queries" if asked else str(getattr(result.skip_reason, "skip_message", ""))
    print(f"{name:<20}{what:<34}{wall:>8.2f}{cpu:>8.2f}  {said[:90]}", flush=True)


def _commit(file: Path) -> None:
    """One more version of the table with the most readers."""
    import pyarrow as pa
    from deltalake import DeltaTable, write_deltalake

    from planopt_assets.workload import load_workload

    workload = load_workload(file)
    readers = {t: sum(t.name in (q.sql or "") for q in workload.queries) for t in workload.tables}
    table = DeltaTable(str(max(readers, key=lambda t: readers[t]).path))
    write_deltalake(table, pa.schema(table.schema().to_arrow()).empty_table(), mode="append")
