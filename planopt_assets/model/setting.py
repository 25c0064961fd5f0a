"""A setting: one knob and its value."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planopt_assets.model.part import Dependence, Part

BY_CORES = (
    "spark.sql.shuffle.partitions",  # right_size_shuffle: at least one partition for each core
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum",  # the same, where it is set
    "spark.sql.adaptive.advisoryPartitionSizeInBytes",  # split_skew: as many pieces as cores
    "spark.sql.files.minPartitionNum",  # right_size_splits: so many tasks that no core is idle
)
"""Settings whose best value depends on the number of cores: a value found on two cores does not fit two hundred."""

BY_MEMORY = (
    "spark.sql.autoBroadcastJoinThreshold",  # broadcast_small_side: built in the driver, held by every executor
    "spark.sql.adaptive.autoBroadcastJoinThreshold",
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold",  # prefer_hash_join: a map for each partition
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold",  # partial_aggregation: groups held in the heap
)
"""Settings that let Spark hold more in memory. They are not part of the catalogue, which is in every fingerprint."""


@dataclass(frozen=True, slots=True)
class Setting(Part):
    """Reaches a query through the session that plans and runs it.

    >>> Setting("spark.sql.shuffle.partitions", "8").describe()
    'shuffle.partitions=8'
    """

    kind: ClassVar[str] = "settings"
    needs_text: ClassVar[bool] = False

    name: str
    value: str

    @property
    def label(self) -> str:
        return self.name

    @property
    def place(self) -> str:
        return self.name

    @property
    def depends_on(self) -> Dependence:
        """
        >>> Setting("spark.sql.shuffle.partitions", "8").depends_on
        Dependence(sizes='all', cores=True, memory=False)
        """
        return Dependence("all", cores=self.name in BY_CORES, memory=self.name in BY_MEMORY)

    def describe(self) -> str:
        return f"{self.name.removeprefix('spark.sql.')}={self.value}"

    def must_show(self, run_time_knobs: Container[str]) -> bool:
        return self.name not in run_time_knobs

    @classmethod
    def stored(cls, parts: Sequence[Setting]) -> dict[str, str]:
        return {part.name: part.value for part in parts}

    @classmethod
    def read(cls, stored: Any) -> tuple[Setting, ...]:
        if not isinstance(stored, Mapping) or not all(isinstance(v, str) for v in stored.values()):
            raise ValueError(f"not settings: {stored!r}")
        return tuple(cls(name, value) for name, value in stored.items())
