"""The Delta tables of the generated workload: real ones with a commit per night, small enough to write in milliseconds.

The rows of the store speak of larger tables: `rows`, `files` and `bytes` are what was observed on the first night. They
grow by a hundredth of that every night, so that verdicts on the first night stay comparable for 90 nights.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.model.inputs import PinnedTable

_ROWS_PER_COMMIT = 20
_MONEY = "decimal(15,2)"
_ARROW = {"long": pa.int64(), "string": pa.string(), "date": pa.date32(), _MONEY: pa.decimal128(15, 2)}
_VALUES: dict[str, Any] = {"long": 7, "string": "seven", "date": date(2026, 1, 7), _MONEY: Decimal("7.00")}
_SQL = {"long": "BIGINT", "string": "STRING", "date": "DATE", _MONEY: "DECIMAL(15,2)"}


@dataclass(frozen=True, slots=True)
class Source:
    """One table; `key` joins it to the fact table, and queries group by `group`."""

    name: str
    key: str
    group: str
    types: tuple[tuple[str, str], ...]  # column, Delta type
    rows: int
    files: int
    bytes: int

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.types)

    def pinned(self, folder: Path, seed: int, night: int) -> PinnedTable:
        """The table as that night's run read it: one commit a night, so the version is the night."""
        location = str(folder / "data" / self.name)
        head = LogFiles(self.name, location).head(night)
        return PinnedTable(self.name, location, self.table_id(seed), night, head)

    def table_id(self, seed: int) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{seed}/{self.name}"))

    @property
    def contract(self) -> dict[str, Any]:
        columns = [{"name": name, "nullable": False, "type": kind} for name, kind in self.types]
        return {self.name: {"columns": columns, "constraints": [], "defaults": {}, "partitioned_by": []}}

    @property
    def ddl(self) -> str:
        columns = ",\n".join(f"  `{name}` {_SQL[kind]} NOT NULL" for name, kind in self.types)
        return f"CREATE TABLE `{self.name}` (\n{columns}\n)\nUSING delta;"

    @property
    def arrow(self) -> pa.Table:
        fields = [pa.field(name, _ARROW[kind], nullable=False) for name, kind in self.types]
        return pa.Table.from_pylist(
            [{name: _VALUES[kind] for name, kind in self.types}] * _ROWS_PER_COMMIT, schema=pa.schema(fields)
        )


def _types(**columns: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, kind) for kind, names in columns.items() for name in names.split())


def _source(name: str, key: str, group: str, size: tuple[int, int, int], *, money: str, **columns: str) -> Source:
    return Source(name, key, group, (*_types(**columns), *((column, _MONEY) for column in money.split())), *size)


FACT = _source(
    "sales",
    "",
    "channel",
    (600_572, 120, 26_809_482),
    long="sale_id line_number customer_id product_id store_id",
    string="channel status campaign ship_mode note",
    date="sold_on shipped_on",
    money="quantity price discount tax",
)
DIMENSIONS = (
    _source(
        "customers",
        "customer_id",
        "segment",
        (15_000, 20, 1_204_113),
        long="customer_id nation_id",
        string="customer_name segment address phone note",
        money="balance",
    ),
    _source(
        "products",
        "product_id",
        "brand",
        (20_000, 20, 899_281),
        long="product_id size_in_cm",
        string="product_name maker brand category container note",
        money="list_price",
    ),
    _source(
        "stores",
        "store_id",
        "region",
        (1_000, 4, 102_976),
        long="store_id nation_id",
        string="store_name region address phone note",
        date="opened_on",
        money="rent",
    ),
)
SOURCES = (FACT, *DIMENSIONS)


def grown(value: int, night: int) -> int:
    """
    >>> grown(600_572, 0), grown(600_572, 9)
    (600572, 654623)
    """
    return value + value * night // 100


def write_sources(folder: Path, nights: int, seed: int) -> None:
    """Every table with one commit per night."""
    from deltalake import write_deltalake

    for source in SOURCES:
        path = folder / "data" / source.name
        for night in range(nights):
            write_deltalake(str(path), source.arrow, mode="append")
            _without_chance(path, night, source.table_id(seed))


def _without_chance(table: Path, night: int, table_id: str) -> None:
    """delta-rs draws ids and names of files; input fingerprints depend on them, and should depend on the seed alone."""
    commit = table / "_delta_log" / f"{night:020}.json"
    actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"] |= {"id": table_id, "createdTime": 0}
        if "add" in action:
            file = (table / action["add"]["path"]).rename(table / f"night-{night}.parquet")
            statistics = json.dumps(json.loads(action["add"]["stats"]), sort_keys=True)
            action["add"] |= {"path": file.name, "modificationTime": 0, "stats": statistics}
    kept = [action for action in actions if "commitInfo" not in action]
    commit.write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
