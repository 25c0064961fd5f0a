"""CPU of a block: on a cluster the executors' part is not in the driver's process, and is charged all the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.execution.block_cpu import with_cpu
from planopt_assets.engine.execution.program_cpu import ProgramCpu

pytestmark = pytest.mark.spark


def test_jobs_that_a_block_starts_in_other_threads_are_charged(spark) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work() -> int:
        with ThreadPoolExecutor(2) as pool:
            return sum(
                pool.map(lambda n: len(spark.range(n).selectExpr("sum(id % 7)").collect()), (2_000_000, 3_000_000))
            )

    here = ProgramCpu(spark)
    elsewhere: Any = SimpleNamespace(read=here.read, since=lambda _: 5, includes_executors=False)  # a driver of 5 ns
    result, spent = with_cpu(spark, elsewhere, work)
    assert result == 2
    assert spent > 1_000_000
    assert with_cpu(spark, elsewhere, lambda: "nothing") == ("nothing", 5)
    assert with_cpu(spark, here, work)[1] > 1_000_000
