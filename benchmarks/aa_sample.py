"""Recorded A/A executions: the same query, twice a round, under two policies that mean the same."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from planopt_assets.model.counters import Counters
from planopt_assets.model.policy import Policy

# What Spark does anyway, said aloud: another policy id, another session, the same plan.
TWIN = Policy.of({"spark.sql.shuffle.partitions": "200"})


@dataclass(frozen=True, slots=True)
class Ran:
    """One measured execution: what it cost, and the shape its plan ended with."""

    counters: Counters
    topology: str


@dataclass(frozen=True, slots=True)
class RecordedPair:
    """The query as it is and its twin, run one after the other in a drawn order."""

    baseline: Ran
    twin: Ran


Sample = Mapping[str, Sequence[RecordedPair]]  # by query, rounds in the order they ran


def resampled(pairs: Sequence[RecordedPair], draw: random.Random, block: int = 3) -> Iterator[RecordedPair]:
    """Each recorded pair once, in the order they ran, from a random one on; in some blocks the two sides are exchanged.

    No pair comes twice: an experiment made of a few pairs repeated would look surer than any real one. Blocks of
    neighbours are exchanged together, so that what drifts together stays together; and they may be exchanged, because
    both sides are the same query and their order was drawn.
    """
    start, exchanged = draw.randrange(len(pairs)), False
    for step in range(len(pairs)):
        if step % block == 0:
            exchanged = draw.random() < 0.5
        pair = pairs[(start + step) % len(pairs)]
        yield RecordedPair(pair.twin, pair.baseline) if exchanged else pair


def dump(sample: Sample, file: Path) -> None:
    """Column by column, and a column that never changes as one value: small enough to keep."""
    content = {query: _columns([r for p in pairs for r in (p.baseline, p.twin)]) for query, pairs in sample.items()}
    lines = [orjson.dumps(query) + b": " + orjson.dumps(columns) for query, columns in content.items()]
    file.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


def load(file: Path) -> dict[str, list[RecordedPair]]:
    found = {}
    for query, columns in orjson.loads(file.read_bytes()).items():
        count = max(len(v) for v in columns.values() if isinstance(v, list))
        rows = [{k: v[n] if isinstance(v, list) else v for k, v in columns.items()} for n in range(count)]
        ran = [Ran(Counters(**{k: v for k, v in r.items() if k != "topology"}), r["topology"]) for r in rows]
        found[query] = [RecordedPair(b, t) for b, t in zip(ran[::2], ran[1::2], strict=True)]
    return found


def _columns(ran: Sequence[Ran]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {name: [getattr(r.counters, name) for r in ran] for name in Counters.names()}
    columns["topology"] = [r.topology for r in ran]
    return {k: v[0] if len(set(v)) == 1 else v for k, v in columns.items() if set(v) != {None}}
