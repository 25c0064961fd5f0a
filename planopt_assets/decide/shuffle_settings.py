"""Settings of adaptive execution for shuffles: which knob sets the partitions, and how small reads are merged."""

from __future__ import annotations

from typing import Final

from planopt_assets.decide.setting_in_force import bytes_in_force, in_force, switched_on
from planopt_assets.model.evidence import Evidence

PARTITIONS: Final = "spark.sql.shuffle.partitions"
INITIAL_PARTITIONS: Final = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
ADAPTIVE: Final = "spark.sql.adaptive.enabled"
COALESCE: Final = "spark.sql.adaptive.coalescePartitions.enabled"
PARALLELISM_FIRST: Final = "spark.sql.adaptive.coalescePartitions.parallelismFirst"
ADVISORY: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
MIN_SIZE: Final = "spark.sql.adaptive.coalescePartitions.minPartitionSize"


def adaptive(evidence: Evidence) -> bool:
    return switched_on(evidence, ADAPTIVE) is True


def coalesces(evidence: Evidence) -> bool:
    return adaptive(evidence) and switched_on(evidence, COALESCE) is True


def partitions_knob(evidence: Evidence) -> str:
    """The setting that Spark takes the partition count from: the initial number, if it is set and reads coalesce."""
    initial = in_force(evidence, INITIAL_PARTITIONS)
    return INITIAL_PARTITIONS if initial is not None and coalesces(evidence) else PARTITIONS


def predicted_reads(written: int, cores: int, *, advisory: int, min_size: int, parallelism_first: bool) -> int:
    """Partitions in which adaptive execution reads an even shuffle that was written into at least as many.

    Worked: 64 MiB on 64 cores. One partition per core is 1 MiB, which is the minimum: 64 reads.
    With a minimum of 4 MiB it is 16 reads. By the advisory size alone, without regard to cores, it is one.

    >>> size = dict(advisory=64 * 2**20, min_size=2**20)
    >>> predicted_reads(64 * 2**20, 64, **size, parallelism_first=True)
    64
    """
    wanted = -(-written // cores) if parallelism_first else written
    target = max(min(wanted, advisory), min_size, 1)
    return max(1, -(-written // target))


def size_of(evidence: Evidence, name: str) -> int:
    """A setting in bytes. Call `unrecorded` first: the setting must be known."""
    size = bytes_in_force(evidence, name)
    assert size is not None
    return size


def unrecorded(evidence: Evidence, *names: str) -> str | None:
    """Why a rule that needs these settings cannot tell: older observations did not record all of them."""
    missing = [name for name in names if in_force(evidence, name) is None]
    return f"{missing[0]} was not recorded with the observation" if missing else None
