"""A warning for settings whose best value depends on the number of cores."""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.model.policy import Policy
from planopt_assets.model.setting import BY_CORES


def by_cores(*policies: Policy) -> tuple[str, ...]:
    """The settings of these policies that depend on the number of cores.

    >>> by_cores(Policy.of({"spark.sql.shuffle.partitions": "2", "spark.sql.files.openCostInBytes": "1"}))
    ('spark.sql.shuffle.partitions',)
    """
    used = {name for policy in policies for name, _ in policy.settings}
    return tuple(name for name in BY_CORES if name in used)


def remark(names: Sequence[str]) -> str:
    """A warning before a policy is used on another cluster. Empty if nothing depends on the cores.

    >>> remark(("spark.sql.shuffle.partitions",))
    'spark.sql.shuffle.partitions depends on the number of cores: measure it again on a cluster with another number'
    """
    if not names:
        return ""
    verb = "depends" if len(names) == 1 else "depend"
    return f"{', '.join(names)} {verb} on the number of cores: measure it again on a cluster with another number"
