"""A rewrite: another text of the same query, made by a file of `replan/rewrites`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from planopt_assets.model.part import Dependence, Part, texts


@dataclass(frozen=True, slots=True)
class Rewrite(Part):
    """Known by its name; rewrites are applied in turn, so their order counts."""

    kind: ClassVar[str] = "rewrites"
    needs_text: ClassVar[bool] = True

    name: str

    @property
    def label(self) -> str:
        return self.name

    @property
    def depends_on(self) -> Dependence:
        """On the text alone: it gives scans a predicate they can use, whatever their size."""
        return Dependence("none")

    @classmethod
    def read(cls, stored: Any) -> tuple[Rewrite, ...]:
        return tuple(cls(name) for name in texts(stored))
