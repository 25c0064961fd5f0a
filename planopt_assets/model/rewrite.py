"""A rewrite: another text of the same query, made by a file of `replan/rewrites`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from planopt_assets.model.part import Dependence, Part, texts


@dataclass(frozen=True, slots=True)
class Rewrite(Part):
    """Known by its name; rewrites are applied in turn, so their order counts."""

    kind: ClassVar[str] = "rewrites"
    whatever_the_size: ClassVar[tuple[str, ...]] = ("cnf",)  # rewrites that help whatever the size of the tables
    needs_text: ClassVar[bool] = True

    name: str

    @property
    def label(self) -> str:
        return self.name

    @property
    def depends_on(self) -> Dependence:
        """`cnf` only on the text: it gives scans a predicate they can use. Others on the sizes of all tables."""
        return Dependence("none" if self.name in self.whatever_the_size else "all")

    @classmethod
    def read(cls, stored: Any) -> tuple[Rewrite, ...]:
        return tuple(cls(name) for name in texts(stored))
