"""A setting: one knob and its value."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from planopt_assets.model.part import Part


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
