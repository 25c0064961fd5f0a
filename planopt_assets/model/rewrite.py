"""A rewrite: another text of the same query, made by a file of `replan/rewrites`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from planopt_assets.model.part import Dependence, Part, texts


@dataclass(frozen=True, slots=True)
class RewriteSpec:
    """What is known of a rewrite beside its text: the file of its name in `replan/rewrites` makes that."""

    name: str
    whatever_the_size: bool = False  # it helps whatever the size of the tables
    by_types: bool = False  # it goes by the types of the tables, which only a session can tell
    functions: tuple[str, ...] = ()  # what it writes into a text, and means as Spark does


REWRITES = (
    RewriteSpec("cnf", whatever_the_size=True),  # it gives scans a predicate they can use
    RewriteSpec("aggregate_before_join", by_types=True, functions=("coalesce", "count", "max", "min", "sum")),
)
"""All rewrites that a rule may propose."""


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
    def spec(self) -> RewriteSpec | None:
        """None: no rewrite of this planopt has the name."""
        return next((spec for spec in REWRITES if spec.name == self.name), None)

    @property
    def depends_on(self) -> Dependence:
        """
        >>> Rewrite("cnf").depends_on.sizes, Rewrite("aggregate_before_join").depends_on.sizes
        ('none', 'all')
        """
        return Dependence("none" if self.spec and self.spec.whatever_the_size else "all")

    @classmethod
    def read(cls, stored: Any) -> tuple[Rewrite, ...]:
        return tuple(cls(name) for name in texts(stored))
