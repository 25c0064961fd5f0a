"""Which parts of a policy must show in the plan, and which take effect only at run time."""

from __future__ import annotations

from planopt_assets.decide.catalogue import CATALOGUE
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
