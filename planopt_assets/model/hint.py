"""A join hint: which strategy, and which input of which join it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from planopt_assets.model.part import Dependence, Part, texts

Strategy = Literal["broadcast", "shuffle_hash", "merge"]
STRATEGIES: tuple[Strategy, ...] = ("broadcast", "shuffle_hash", "merge")

_TEXT = re.compile(r"(broadcast|shuffle_hash|merge)\((join\d+\.(?:left|right)(?: \S+)?)\)")


@dataclass(frozen=True, slots=True)
class Hint(Part):
    """Written as text in a policy; `target` is `join<n>.<side>`, then the alias the query gives that input, if any.

    Joins are counted depth first in the analysed plan of the query as its author wrote it, so that a target means the
    same in SQL and in a DataFrame.

    >>> str(Hint("broadcast", "join0.right orders"))
    'broadcast(join0.right orders)'
    >>> Hint.parse("broadcast(join0.right orders)").alias
    'orders'
    """

    kind: ClassVar[str] = "hints"
    needs_text: ClassVar[bool] = True

    strategy: Strategy
    target: str

    def __str__(self) -> str:
        return f"{self.strategy}({self.target})"

    @property
    def label(self) -> str:
        return str(self)

    @property
    def key(self) -> str:
        return self.target

    @property
    def depends_on(self) -> Dependence:
        """A broadcast and a hash table hold one input in memory. A merge join pays by both.

        >>> Hint("broadcast", "join0.right orders").depends_on
        Dependence(sizes='side', cores=False, memory=True)
        """
        return Dependence("join") if self.strategy == "merge" else Dependence("side", memory=True)

    @staticmethod
    def parse(text: str) -> Hint:
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ValueError(f"not a join hint: {text!r}")
        return Hint(found[1], found[2])  # type: ignore[arg-type]  # the pattern allows no other strategy

    @classmethod
    def read(cls, stored: Any) -> tuple[Hint, ...]:
        return tuple(cls.parse(text) for text in texts(stored))

    @property
    def join(self) -> int:
        return int(self.target.split(".")[0].removeprefix("join"))

    @property
    def side(self) -> str:
        return self.target.split(".")[1].split(" ")[0]

    @property
    def alias(self) -> str:
        return self.target.partition(" ")[2]
