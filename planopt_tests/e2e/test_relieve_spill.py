"""Texts that compress well: merged by their size in the shuffle they do not fit into memory, in smaller parts they do.

`pages` has 36,000 texts of 20 kB, 720 MB in memory and 21 MB in a shuffle. Adaptive execution sees the 21 MB and reads
them in two partitions, one for each core. Half of Spark's memory is held, as by cached tables: a task has 260 MB to
sort 360 MB in, and spills.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.workload import Query
from planopt_tests.e2e.one_rule import RUNS_PER_DAY, Tried, try_rule, write_table

pytestmark = pytest.mark.e2e

PAGES, TEXTS, LENGTH, UNLIKE = 36_000, 40, 20_000, 500
HELD = 520_000_000  # a little less than what cached data may keep of the suite's 2 GB
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
NUMBERED = "SELECT site, id, text, row_number() OVER (PARTITION BY site ORDER BY id) AS place FROM pages"
QUERIES = [
    Query("all", sql=NUMBERED, runs_per_day=RUNS_PER_DAY),
    Query("few", sql=f"{NUMBERED} WHERE id < 2000", runs_per_day=RUNS_PER_DAY),
]


@pytest.fixture(scope="module")
def little_memory(spark: SparkSession) -> Iterator[None]:
    jvm = spark._jvm
    assert jvm is not None
    manager = jvm.org.apache.spark.SparkEnv.get().memoryManager()
    block, heap = jvm.org.apache.spark.storage.RDDBlockId(0, 0), jvm.org.apache.spark.memory.MemoryMode.ON_HEAP
    assert manager.acquireStorageMemory(block, HELD, heap)
    yield
    manager.releaseStorageMemory(HELD, heap)


@pytest.fixture(scope="module")
def tried(spark: SparkSession, little_memory: None, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    folder, draw, ids = tmp_path_factory.mktemp("spill"), np.random.default_rng(7), np.arange(PAGES)
    texts = pa.array([draw.bytes(UNLIKE // 2).hex().ljust(LENGTH, ".") for _ in range(TEXTS)])
    pages = {"site": pa.array(ids * 31 % 5_000), "id": pa.array(ids), "text": texts.take(pa.array(ids % TEXTS))}
    write_table(folder, "pages", pages, files=2)
    return try_rule(folder, "relieve_spill", QUERIES, allow=(ADVISORY,))


def test_smaller_partitions_are_accepted_and_nothing_is_spilled(tried: Tried) -> None:
    assert [name for name, _ in tried.proposed("all").settings] == [ADVISORY]
    tried.accepted("all")
    before, after = tried.counter("all", "memory_spill_bytes")
    assert min(before) > 100_000_000
    assert max(after) == 0


def test_where_all_fits_nothing_is_proposed(tried: Tried) -> None:
    assert "nothing was spilled" in tried.left_alone("few")
