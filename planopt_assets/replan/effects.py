"""Which parts of a policy must show in the plan, and which take effect only at run time."""

from __future__ import annotations

from planopt_assets.decide.catalogue import CATALOGUE
from planopt_assets.model.hint import Hint
from planopt_assets.model.part import Part
from planopt_assets.model.policy import Policy

_RUN_TIME_KNOBS = frozenset(knob.name for knob in CATALOGUE if not knob.visible_in_plan)


def visible_parts(policy: Policy) -> tuple[Part, ...]:
    """Parts that must show in the plan.

    >>> [part.label for part in visible_parts(Policy.of({"spark.sql.shuffle.partitions": "8"}, rewrites=["cnf"]))]
    ['spark.sql.shuffle.partitions', 'cnf']
    """
    return tuple(part for part in policy.parts if part.must_show(_RUN_TIME_KNOBS))


def runtime_parts(policy: Policy) -> tuple[Part, ...]:
    """Parts that may take effect only at run time: settings of adaptive execution, readers, batch sizes."""
    return tuple(part for part in policy.parts if not part.must_show(_RUN_TIME_KNOBS))


def idle_hint_words(hint: Hint, joins: list[tuple[str, str]]) -> str:
    """What became of the join that a hint is for. `joins` are the joins that a hint reached, as Spark reports them.

    >>> joins = [("rightHint=(strategy=broadcast)", "SortMergeJoin [a#1], [b#2], FullOuter")]
    >>> idle_hint_words(Hint("broadcast", "join0.right d"), joins)
    'hint not applied: join0.right d stays SortMergeJoin'
    """
    asked = f"{hint.side}Hint=(strategy={hint.strategy})"
    operators = sorted({operator.split(" ")[0] for words, operator in joins if asked in words})
    became = f"stays {' or '.join(operators)}" if operators else "is not a separate join in the plan"
    return f"hint not applied: {hint.target} {became}"
