"""A second process that appends, and unless it only appends updates and deletes too, until it is told to stop.

It ends with a line that says what must be there.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError


def main(table: str, stop: str, only: str = "") -> None:
    draw = random.Random(7)
    rows = dict.fromkeys(range(100), 0)  # id -> version of the row
    number, done = 100, {"append": 0, "delete": 0, "update": 0, "again": 0}
    while not Path(stop).exists():
        time.sleep(0.3)  # a core is left for the one who applies the layout
        new = {number: 0, number + 1: 0}
        _until_committed(lambda new=new: _append(table, new), done)
        rows, number = rows | new, number + 2
        done["append"] += 1
        if only == "append":
            continue
        chosen = draw.choice(sorted(rows))
        if draw.random() < 0.5:
            _until_committed(lambda one=chosen: DeltaTable(table).delete(f"id = {one}"), done)
            del rows[chosen]
            done["delete"] += 1
        else:
            rows[chosen] += 1
            change = {"version": str(rows[chosen])}
            _until_committed(lambda one=chosen, to=change: DeltaTable(table).update(to, predicate=f"id = {one}"), done)
            done["update"] += 1
    print(json.dumps({"rows": sorted(rows.items()), "done": done}))


def _append(table: str, rows: dict[int, int]) -> None:
    new = pa.table({"id": pa.array(list(rows), pa.int64()), "version": pa.array(list(rows.values()), pa.int64())})
    write_deltalake(table, new, mode="append")


def _until_committed(write: Callable[[], Any], done: dict[str, int]) -> None:
    while True:
        try:
            write()
        except (CommitFailedError, DeltaError) as error:
            if "ommit" not in str(error) and "onflict" not in str(error) and "ransaction" not in str(error):
                raise
            done["again"] += 1
            continue
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
