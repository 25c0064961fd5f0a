"""The knob catalogue: all settings that planopt may ever change, as one table. No other setting is ever proposed.

Defaults are not here: they are read from the running Spark. A setting that this Spark does not know, cannot change in a
session, or holds as another type is an error at start (`engine/sessions/knobs.py`).
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from planopt_assets.model.ids import content_id
from planopt_assets.model.knob import Knob

KIB, MIB, GIB = 1024, 1024**2, 1024**3

_CATALYST = "org.apache.spark.sql.catalyst.optimizer"

# Optimizer rules that only make plans cheaper, so the rows are the same without them. `exclude_rules` prices each one.
EXCLUDABLE_RULES: tuple[str, ...] = (
    f"{_CATALYST}.PushDownLeftSemiAntiJoin",
    f"{_CATALYST}.PushLeftSemiLeftAntiThroughJoin",
)

_SQL, _AQE, _BLOOM = "spark.sql", "spark.sql.adaptive", "spark.sql.optimizer.runtime.bloomFilter"
_DELTA, _READER = "spark.databricks.delta", "parquet.filter"

_at_run_time = partial(Knob, visible_in_plan=False)

CATALOGUE: tuple[Knob, ...] = (
    # Shuffles
    Knob(
        f"{_SQL}.shuffle.partitions",
        "int",
        "partitions every shuffle is written into",
        1,
        20_000,
        measured="200 to 8: executor CPU 93.7 to 74.0 s, wall 71.7 to 60.5 s",
    ),
    Knob(
        f"{_AQE}.coalescePartitions.initialPartitionNum",
        "int",
        "partitions adaptive shuffles are written into, before they are coalesced",
        1,
        20_000,
    ),
    _at_run_time(
        f"{_AQE}.advisoryPartitionSizeInBytes",
        "bytes",
        "size that shuffle partitions are coalesced and split to",
        1 * MIB,
        1 * GIB,
    ),
    _at_run_time(
        f"{_AQE}.coalescePartitions.minPartitionSize",
        "bytes",
        "size below which a shuffle partition is always coalesced",
        1 * KIB,
        256 * MIB,
    ),
    _at_run_time(
        f"{_AQE}.coalescePartitions.parallelismFirst",
        "bool",
        "whether coalescing keeps one partition per core or goes for the advisory size",
    ),
    # Scan tasks
    Knob(f"{_SQL}.files.maxPartitionBytes", "bytes", "largest piece of a file one scan task reads", 1 * MIB, 1 * GIB),
    Knob(
        f"{_SQL}.files.openCostInBytes", "bytes", "what opening one more file counts when files are packed", 0, 64 * MIB
    ),
    Knob(f"{_SQL}.files.minPartitionNum", "int", "scan tasks to aim at, at least", 1, 20_000),
    # Joins
    _at_run_time(
        f"{_SQL}.autoBroadcastJoinThreshold",
        "bytes",
        "largest estimate of a join input that is broadcast; -1: none",
        -1,
        1 * GIB,
        measured="10 to 100 MB with splits of 32 MB: executor CPU 74.0 to 54.3 s, but wall 60.5 to 63.5 s",
    ),
    _at_run_time(
        f"{_AQE}.autoBroadcastJoinThreshold",
        "bytes",
        "largest measured join input that is broadcast while the query runs; -1: none",
        -1,
        1 * GIB,
    ),
    _at_run_time(
        f"{_AQE}.maxShuffledHashJoinLocalMapThreshold",
        "bytes",
        "largest measured partition that is joined by a hash map instead of sorting",
        0,
        1 * GIB,
        measured="0 to 64 MB: executor CPU 57.6 to 52.2 s, wall 46.5 to 44.1 s, on a compacted layout",
    ),
    _at_run_time(f"{_SQL}.join.preferSortMergeJoin", "bool", "whether sorting is preferred where a hash join would do"),
    _at_run_time(f"{_AQE}.skewJoin.enabled", "bool", "whether large shuffle partitions of a join are split"),
    _at_run_time(
        f"{_AQE}.skewJoin.skewedPartitionFactor",
        "float",
        "how many times the median a partition must be to count as skewed",
        1,
        100,
    ),
    _at_run_time(
        f"{_AQE}.skewJoin.skewedPartitionThresholdInBytes",
        "bytes",
        "size below which no partition counts as skewed",
        1 * MIB,
        1 * GIB,
    ),
    _at_run_time(
        f"{_AQE}.forceOptimizeSkewedJoin", "bool", "whether skew is split even at the price of one more shuffle"
    ),
    # Aggregations
    _at_run_time(
        f"{_SQL}.codegen.aggregate.fastHashMap.capacityBit",
        "int",
        "groups the fast map of a partial aggregation holds, as a power of two",
        10,
        20,
    ),
    _at_run_time(
        f"{_SQL}.objectHashAggregate.sortBased.fallbackThreshold",
        "int",
        "groups an object aggregation keeps in memory before it sorts instead",
        1,
        1_000_000,
    ),
    Knob(
        f"{_SQL}.execution.replaceHashWithSortAgg",
        "bool",
        "whether input that is already sorted is aggregated without a hash map",
    ),
    _at_run_time(
        f"{_SQL}.codegen.aggregate.map.twolevel.enabled",
        "bool",
        "whether a small, fast map stands before the hash map of an aggregation",
    ),
    # Runtime filters; Spark 4.2 has bloom filters only, the semi-join reduction of older versions is gone
    Knob(f"{_BLOOM}.enabled", "bool", "whether one input of a shuffled join may filter the other"),
    Knob(
        f"{_BLOOM}.creationSideThreshold",
        "bytes",
        "largest estimate of an input that a filter is built from",
        0,
        1 * GIB,
        measured="10 to 30 MB and the next to 1 MB: executor CPU 57.6 to 50.4 s; q17 3.3 to 1.3 s, q21 slower",
    ),
    Knob(f"{_BLOOM}.applicationSideScanSizeThreshold", "bytes", "smallest scan that is worth a filter", 0, 1024 * GIB),
    Knob(f"{_SQL}.optimizer.runtimeFilter.number.threshold", "int", "runtime filters of one query, at most", 1, 100),
    # The pruning ladder of a Parquet scan
    _at_run_time(f"{_SQL}.parquet.filterPushdown", "bool", "whether predicates reach the Parquet reader at all"),
    _at_run_time(
        f"{_SQL}.parquet.columnarReaderBatchSize", "int", "rows the vectorised reader decodes at a time", 256, 65_536
    ),
    _at_run_time(f"{_READER}.stats.enabled", "bool", "row groups are skipped by minimum and maximum", source="parquet"),
    _at_run_time(
        f"{_READER}.dictionary.enabled", "bool", "row groups are skipped by their dictionaries", source="parquet"
    ),
    _at_run_time(
        f"{_READER}.columnindex.enabled", "bool", "pages are skipped by minimum and maximum", source="parquet"
    ),
    _at_run_time(
        f"{_READER}.bloom.enabled", "bool", "row groups are skipped by stored bloom filters", source="parquet"
    ),
    # Delta scans
    _at_run_time(f"{_DELTA}.stats.skipping", "bool", "whether files are skipped by their statistics", source="delta"),
    Knob(
        f"{_DELTA}.generatedColumn.partitionFilterOptimization.enabled",
        "bool",
        "whether predicates on a column choose partitions generated from it",
        source="delta",
    ),
    _at_run_time(
        f"{_DELTA}.deletionVectors.useMetadataRowIndex",
        "bool",
        "whether files with deletion vectors can be split and filtered by the reader",
        source="delta",
    ),
    # Python functions: rows travel in another form, and values of another type than declared are cast in another way
    Knob(
        f"{_SQL}.execution.arrow.pythonUDF.columnarInput.enabled",
        "bool",
        "whether Arrow functions get columns straight from a scan; Spark 4.2.0 hangs if they do (SPARK-58241)",
    ),
    Knob(f"{_SQL}.execution.pythonUDF.arrow.enabled", "bool", "whether rows reach Python functions as Arrow batches"),
    _at_run_time(f"{_SQL}.execution.arrow.maxRecordsPerBatch", "int", "rows of one Arrow batch", 100, 1_000_000),
    # Exploration
    Knob(
        f"{_SQL}.optimizer.excludedRules",
        "list",
        "optimizer rules that are left out",
        choices=EXCLUDABLE_RULES,
        opt_in=True,
    ),
)

# These settings can change results. planopt may read them. A rule never proposes or pins them.
RESULT_CHANGING: tuple[str, ...] = (
    "spark.sql.ansi.",
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreInvalidPartitionPaths",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.legacy.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.parquet.binaryAsString",
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.inferTimestampNTZ.",
    "spark.sql.parquet.int96AsTimestamp",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.parquet.int96TimestampConversion",
    "spark.sql.parquet.mergeSchema",
    "spark.sql.timestampType",
    "spark.databricks.delta.stalenessLimit",
    "spark.databricks.delta.stats.limitPushdown.",  # which rows a LIMIT keeps
)

# Settings that rules read but never set.
LOOKED_AT: tuple[str, ...] = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.coalescePartitions.enabled")

CATALOGUE_VERSION = content_id("knb", [asdict(k) for k in CATALOGUE])
