"""Tables and queries for proposals, made by hand: 5 M rows in 64 files, and samples whose shape is known."""

from __future__ import annotations

import random
from typing import Any

from planopt_assets.maintain.growth import Growth
from planopt_assets.maintain.predicates import AllOf, range_test
from planopt_assets.maintain.subject import Subject
from planopt_assets.maintain.table_use import QueryUse, ScanUse
from planopt_assets.model.data_file import DataFile
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.model.table_sample import TableSample

FILES, ROWS, SAMPLED = 64, 5_000_000, 16_000
COLUMNS = ("customer", "region", "status", "day", "amount")


def facts(**changes: Any) -> TableFacts:
    columns = tuple(Column(name, "string" if name == "status" else "long") for name in COLUMNS)
    known: dict[str, Any] = {"statistics_columns": COLUMNS, **changes}
    return TableFacts("events", "/events", "t-1", 7, Protocol(1, 2), columns, **known)


def use(query_id: str, *predicates: str, runs: float = 24.0, times: int = 1) -> QueryUse:
    scan = ScanUse(AllOf(tuple(map(range_test, predicates))), 7, None, None, FILES)
    return QueryUse(query_id, runs, f"obs-{query_id}", (scan,) * times)


def subject(*uses: QueryUse, sorted_by_day: bool = True, **changes: Any) -> Subject:
    """`customer` is random, `region` follows it, `status` says nothing, `day` is the order of arrival."""
    chance = random.Random(7)
    per_file = SAMPLED // FILES
    values: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    files, origin = [], []
    for place in range(FILES):
        customers = [chance.randrange(100_000) for _ in range(per_file)]
        rows: dict[str, list[Any]] = {
            "customer": customers,
            "region": [c // 1000 + chance.randrange(5) for c in customers],
            "status": ["done" if chance.random() < 0.99 else "open" for _ in customers],
            "day": [place if sorted_by_day else chance.randrange(FILES) for _ in customers],
            "amount": [chance.randrange(1000) for _ in customers],
        }
        for name, found in rows.items():
            values[name] += found
        origin += [f"f{place:02d}"] * per_file
        least, greatest = ({n: end(v) for n, v in rows.items()} for end in (min, max))
        files.append(DataFile(f"f{place:02d}", 1_900_000, ROWS // FILES, least=least, greatest=greatest))
    known: dict[str, Any] = {"facts": facts(), "grown": Growth(), "cores": 2, **changes}
    return Subject(files=tuple(files), sample=TableSample(values, origin), uses=uses, **known)
