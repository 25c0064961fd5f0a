"""CPU of the program: tasks, driver and Python workers, and nothing of the JVM's own threads."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from planopt_assets.engine.execution.program_cpu import CpuReading, ProgramCpu

SECOND = 1_000_000_000


@pytest.mark.fast
@pytest.mark.parametrize(
    ("before", "after", "seconds"),
    [
        pytest.param(CpuReading({"1": 5}, {}), CpuReading({"1": 8}, {}), 3, id="a thread went on"),
        pytest.param(CpuReading({"1": 5}, {}), CpuReading({"1": 5, "2": 1}, {}), 1, id="a thread is new"),
        pytest.param(CpuReading({"1": 5, "2": 9}, {}), CpuReading({"1": 6}, {}), 1, id="a thread has ended"),
        pytest.param(CpuReading({}, {7: 30}), CpuReading({}, {7: 32, 8: 1}), 3, id="a worker went on, one is new"),
        pytest.param(CpuReading({}, {7: 30}, 4), CpuReading({}, {}, 35), 1, id="a worker has ended, as Linux tells it"),
        pytest.param(
            CpuReading({}, {7: 30, 8: 1}), CpuReading({}, {8: 2}), 1, id="a worker has ended, and nobody tells"
        ),
    ],
)
def test_only_what_was_used_between_two_readings_counts(before: CpuReading, after: CpuReading, seconds: int) -> None:
    assert before.until(after) == seconds


@pytest.mark.spark
def test_two_readings_tell_what_ran_between_them(spark: SparkSession) -> None:
    cpu = ProgramCpu(spark)
    start = cpu.read()
    spark.range(20_000_000).select(F.bit_xor(F.xxhash64("id"))).collect()
    used = cpu.since(start)
    idle = cpu.since(cpu.read())
    assert used > 10 * idle >= 0


@pytest.mark.spark
def test_the_compiler_and_the_collector_of_the_jvm_are_not_in_it(spark: SparkSession) -> None:
    cpu = ProgramCpu(spark)
    start, process = cpu.read(), cpu._process.cpu_times()
    spark._jvm.System.gc()  # type: ignore[union-attr]
    times = cpu._process.cpu_times()
    collecting = (times.user + times.system - process.user - process.system) * SECOND
    assert collecting > 0
    assert cpu.since(start) < collecting / 2


@pytest.mark.spark
def test_python_workers_are_in_it(spark: SparkSession) -> None:
    @F.udf("long", useArrow=False)
    def busy(number: int) -> int:
        return sum(range(300)) + number

    cpu = ProgramCpu(spark)
    start = cpu.read()
    spark.range(20_000).select(F.sum(busy("id"))).collect()
    now = cpu.read()
    assert CpuReading({}, start.workers, start.ended_workers_ns).until(now) > 0
