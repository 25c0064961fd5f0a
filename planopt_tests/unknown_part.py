"""A kind of part that somebody has added to policies, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from planopt_assets.model.part import Part
from planopt_assets.model.policy import KINDS, Policy


@dataclass(frozen=True, slots=True)
class Property(Part):
    kind: ClassVar[str] = "properties"
    needs_text: ClassVar[bool] = False

    name: str

    @property
    def label(self) -> str:
        return self.name

    @classmethod
    def read(cls, stored: list[str]) -> tuple[Property, ...]:
        return tuple(map(cls, stored))


def policy_with_a_property(monkeypatch: pytest.MonkeyPatch) -> Policy:
    """A stored policy of one setting and one part of the new kind."""
    monkeypatch.setattr("planopt_assets.model.policy.KINDS", (*KINDS, Property))
    return Policy.from_json(
        '{"settings": {"spark.sql.shuffle.partitions": "2"}, "hints": [], "layouts": [], "properties": ["delta.x"]}'
    )
