"""Which settings may be recorded: an allowlist of names and of value formats. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planopt_assets.model.redaction import is_secret_name

WITHHELD = "(withheld)"

_PLAN_SHAPING = (
    # of the Parquet reader, which gets every session setting
    "parquet.filter.",
    "spark.sql.adaptive.",
    "spark.sql.ansi.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.bucketing.",
    "spark.sql.caseSensitive",
    "spark.sql.cbo.",
    "spark.sql.codegen.",
    "spark.sql.constraintPropagation.",
    "spark.sql.crossJoin.",
    "spark.sql.decimalOperations.",
    "spark.sql.execution.",
    "spark.sql.files.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.join.",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.legacy.",
    "spark.sql.limit.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.maxBroadcastTableSize",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.",
    "spark.sql.parquet.",
    "spark.sql.planChangeValidation",
    "spark.sql.planner.",
    "spark.sql.requireAllClusterKeysForCoPartition",
    "spark.sql.session.timeZone",
    "spark.sql.shuffle.",
    "spark.sql.shuffledHashJoinFactor",
    "spark.sql.sources.bucketing.",
    "spark.sql.sources.v2.bucketing.",
    "spark.sql.statistics.",
    "spark.sql.subquery.",
    "spark.sql.timestampType",
    "spark.sql.window.",
    "spark.databricks.delta.deletionVectors.useMetadataRowIndex",
    "spark.databricks.delta.generatedColumn.",
    "spark.databricks.delta.optimizeMetadataQuery.",
    "spark.databricks.delta.snapshotPartitions",
    "spark.databricks.delta.stalenessLimit",
    "spark.databricks.delta.stats.",
    # row-wise and Arrow UDFs: batch sizes and time-outs
    "spark.python.",
)
# The words that Spark's and Delta's settings with fixed choices allow. Any other word could be a password.
_WORDS = (
    "ansi|strict|legacy|exception|corrected|last_win|static|dynamic|auto|enabled|disabled|all|none|row|dict"
    "|fallback|codegen_only|no_codegen|trace|debug|info|warn|error"
    "|uncompressed|snappy|gzip|lzo|brotli|lz4|lz4_raw|zlib|zstd"
    "|int96|timestamp_micros|timestamp_millis|timestamp_ltz|timestamp_ntz"
    "|utf8|base64|basic|hex|hex_discrete|infer_and_save|infer_only|never_infer"
    "|memory_only|memory_only_ser|memory_and_disk|memory_and_disk_ser|disk_only"
)
_UNITS = "[kmgtp]i?b?|b|ns|us|ms|s|min|m|h|d|days?|hours?|minutes?|seconds?"
_CLASS = r"(?:org\.apache\.|io\.delta\.)[\w.$]+"
_AREAS = "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Etc|Europe|Indian|Pacific"
# Numbers, sizes, times, these words, Spark's own classes and time zones: no credential has such a form.
_HARMLESS = re.compile(
    rf"|true|false|-?\d{{1,19}}(\.\d{{1,19}})?(e[+-]?\d{{1,3}})?|-?\d{{1,19}} ?({_UNITS})"
    rf"|({_WORDS})(,({_WORDS}))*|<undefined>|<default>|<value of spark\.[\w.]+>|{_CLASS}(,{_CLASS})*"
    rf"|z|(utc|gmt)?([+-]\d\d?(:\d\d)?)?|({_AREAS})(/[A-Za-z][\w+-]{{1,20}}){{1,2}}",
    re.IGNORECASE | re.ASCII,
)


def is_plan_shaping(name: str) -> bool:
    """
    >>> is_plan_shaping("spark.sql.adaptive.enabled"), is_plan_shaping("spark.hadoop.fs.s3a.secret.key")
    (True, False)
    """
    return name.startswith(_PLAN_SHAPING) and not is_secret_name(name)


def shown(value: str) -> str:
    """A value as it may be recorded: withheld where it looks like nothing a setting of Spark has.

    >>> shown("64MB"), shown("hunter2!")
    ('64MB', '(withheld)')
    """
    return value if _HARMLESS.fullmatch(value) else WITHHELD


def recordable(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The plan-shaping settings among these, sorted. A value with an unknown format is withheld.

    >>> recordable({"spark.sql.adaptive.enabled": "true", "spark.sql.optimizer.excludedRules": "hunter2!"})
    (('spark.sql.adaptive.enabled', 'true'), ('spark.sql.optimizer.excludedRules', '(withheld)'))
    """
    return tuple((name, shown(value)) for name, value in sorted(settings.items()) if is_plan_shaping(name))
