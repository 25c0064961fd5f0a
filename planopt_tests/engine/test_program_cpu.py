"""CPU of the program: tasks, driver and Python workers, and nothing of the JVM's own threads."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from planopt_assets.engine.program_cpu import ProgramCpu

pytestmark = pytest.mark.spark

SECOND = 1_000_000_000


def test_two_readings_tell_what_ran_between_them(spark: SparkSession) -> None:
    cpu = ProgramCpu(spark)
    start = cpu.read()
    spark.range(20_000_000).select(F.bit_xor(F.xxhash64("id"))).collect()
    used = cpu.since(start)
    idle = cpu.since(cpu.read())
    assert used > 10 * idle >= 0


def test_a_thread_that_came_after_the_first_reading_counts_from_its_beginning(spark: SparkSession) -> None:
    cpu = ProgramCpu(spark)
    start = cpu.read()
    later = cpu.read()
    assert cpu.since(later) <= cpu.since(start)
    assert set(start.threads) & set(later.threads)


def test_the_compiler_and_the_collector_of_the_jvm_are_not_in_it(spark: SparkSession) -> None:
    cpu = ProgramCpu(spark)
    program = sum(cpu.read().threads.values())
    times = cpu._process.cpu_times()
    assert program < (times.user + times.system) * SECOND


def test_python_workers_are_in_it(spark: SparkSession) -> None:
    @F.udf("long", useArrow=False)
    def busy(number: int) -> int:
        return sum(range(300)) + number

    cpu = ProgramCpu(spark)
    start = cpu.read()
    spark.range(20_000).select(F.sum(busy("id"))).collect()
    assert cpu.read().workers_ns > start.workers_ns
