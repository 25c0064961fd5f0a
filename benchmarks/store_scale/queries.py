"""The queries of the generated workload, and what became of each of them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.store_scale.sources import DIMENSIONS, FACT, SOURCES, Source
from planopt_assets.model.policy import Policy

Fate = Literal["accept", "reject", "inconclusive", "no_change"]
FATES: tuple[Fate, ...] = ("accept", "reject", "accept", "no_change", "accept", "inconclusive")
"""In turn: half of the queries have a policy in force, a sixth was never worth a trial."""

RETRY_AFTER_NIGHTS: dict[Fate, int] = {"accept": 91, "reject": 31, "inconclusive": 8}
"""As decide does it: a verdict is remembered for 90, 30 or 7 days, and trials end after the observation has begun."""

WORKLOAD = "store_scale"
RUNS_PER_DAY = 24.0
_PARTITIONS = ("2", "4", "8", "16")


@dataclass(frozen=True, slots=True)
class Spec:
    """One query: its text, the tables it joins, and its fate."""

    id: str
    sql: str
    joined: tuple[Source, ...]  # dimensions; the fact table is always read
    since: str
    fate: Fate
    policy: Policy  # that is proposed

    @property
    def sources(self) -> tuple[Source, ...]:
        """In the order of the workload file, as planopt stores them."""
        return tuple(s for s in SOURCES if s in (FACT, *self.joined))

    def columns_of(self, source: Source) -> tuple[str, ...]:
        """The columns of a table that the query needs."""
        if source is FACT:
            return ("sold_on", FACT.group, "quantity", "price", "discount", *(d.key for d in self.joined))
        return (source.key, source.group)

    @property
    def canonical_sql(self) -> str:
        return re.sub(r"(\w+)\.(\w+)", r"`\1`.`\2`", " ".join(self.sql.split()))

    @property
    def groups(self) -> tuple[str, ...]:
        return (FACT.group, *(d.group for d in self.joined))

    def tried_on(self, night: int) -> int | None:
        """The last night with trials, up to this one; None where there never are any."""
        return None if self.fate == "no_change" else night - night % RETRY_AFTER_NIGHTS[self.fate]


def specs(count: int, seed: int) -> tuple[Spec, ...]:
    return tuple(_spec(number, seed) for number in range(count))


def _spec(number: int, seed: int) -> Spec:
    draw = random.Random(f"{seed}/query/{number}")
    joined = tuple(DIMENSIONS[(number + place) % len(DIMENSIONS)] for place in range((number + number // 2) % 4))
    since = f"20{draw.randint(20, 25)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
    return Spec(
        f"q{number:04}",
        _sql(joined, since),
        joined,
        since,
        FATES[number % len(FATES)],
        Policy.of({"spark.sql.shuffle.partitions": draw.choice(_PARTITIONS)}),
    )


def _sql(joined: tuple[Source, ...], since: str) -> str:
    groups = ", ".join([f"sales.{FACT.group}", *(f"{d.name}.{d.group}" for d in joined)])
    joins = "".join(f"\nJOIN {d.name} ON {d.name}.{d.key} = sales.{d.key}" for d in joined)
    return (
        f"SELECT {groups},\n"
        "  sum(sales.price * (1 - sales.discount)) AS revenue,\n"
        "  sum(sales.quantity) AS units,\n"
        "  avg(sales.discount) AS average_discount,\n"
        "  max(sales.price) AS highest_price,\n"
        "  count(*) AS lines\n"
        f"FROM sales{joins}\n"
        f"WHERE sales.sold_on >= DATE '{since}'\n"
        f"GROUP BY {groups}\n"
        "ORDER BY revenue DESC\n"
    )


def write_workload(folder: Path, queries: tuple[Spec, ...], seed: int) -> Path:
    """The workload file and a file for each query, as a team would have them."""
    texts = folder / "queries"
    texts.mkdir(parents=True)
    for query in queries:
        (texts / f"{query.id}.sql").write_text(query.sql, encoding="utf-8")
    lines = [
        "version: 1",
        f"name: {WORKLOAD}",
        "store: .planopt/store",
        "mode: auto",
        "debug_sample: 0  # EXPLAIN texts are many rows, and no command here reads them",
        f"seed: {seed}",
        "tables:",
        *(f"  {source.name}: data/{source.name}" for source in SOURCES),
        "queries:",
        *(f"  - {{id: {q.id}, sql_file: queries/{q.id}.sql, runs_per_day: {RUNS_PER_DAY:g}}}" for q in queries),
    ]
    file = folder / "planopt.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
