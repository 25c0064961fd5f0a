"""A join hint: which strategy, and which input of which join it names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from planopt_assets.model.part import Dependence, Part, texts

if TYPE_CHECKING:
    from planopt_assets.model.signals import Join

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
    shows_itself: ClassVar[bool] = True

    strategy: Strategy
    target: str

    def __str__(self) -> str:
        return f"{self.strategy}({self.target})"

    @property
    def broadcasts(self) -> bool:
        return self.strategy == "broadcast"

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

    def tables_behind(self, joins: Sequence[Join], every: tuple[str, ...]) -> tuple[str, ...]:
        """Those behind its input, or behind both of its join. If the join is not found in the plan, all of them."""
        whole, behind = self.depends_on.sizes == "join", set[str]()
        for join in joins:
            for side in (join.left, join.right):
                if side.target == self.target:
                    behind.update((*join.left.tables, *join.right.tables) if whole else side.tables)
        return tuple(sorted(behind)) or every

    def idle_words(self, joins: Sequence[tuple[str, str]]) -> str:
        """What became of the join that it is for.

        >>> joins = [("rightHint=(strategy=broadcast)", "SortMergeJoin [a#1], [b#2], FullOuter")]
        >>> Hint("broadcast", "join0.right d").idle_words(joins)
        'hint not applied: join0.right d stays SortMergeJoin'
        """
        asked = f"{self.side}Hint=(strategy={self.strategy})"
        operators = sorted({operator.split(" ")[0] for words, operator in joins if asked in words})
        became = f"stays {' or '.join(operators)}" if operators else "is not a separate join in the plan"
        return f"hint not applied: {self.target} {became}"

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
