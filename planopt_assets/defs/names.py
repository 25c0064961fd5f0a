"""Names that Dagster's storage keeps. A renamed one loses its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

PARTITIONS = "planopt_queries"
TABLE_PARTITIONS = "planopt_tables"
POOL = "spark"
PRIORITY_TAG = "dagster/priority"  # of a run: expected gain per second of trial, see `loop/priority.py`

OPTIMIZE_JOB = "optimize"  # asset job: one query, a range of queries or all, selected as partitions
LAY_OUT_SELECTED_JOB = "lay_out_selected"  # the same for their tables' layouts alone, before policies
OPTIMIZE_SELECTED_JOB = "optimize_selected"  # any list of queries, given as config, in one run and one JVM
OBSERVE_ONLY_JOB = "observe_only"  # asset job: only look
REVALIDATE_JOB = "revalidate"  # what is in force, measured again against original
TAKE_BACK_JOB = "take_back"  # promote alone, for queries whose policy got worse or expired
UPKEEP_JOB = "upkeep"  # of the store, without Spark
FIRST_OPS = {  # the queries of a run
    OPTIMIZE_SELECTED_JOB: "selected_queries",
    LAY_OUT_SELECTED_JOB: "queries_to_lay_out",
    REVALIDATE_JOB: "queries_to_revalidate",
    TAKE_BACK_JOB: "queries_to_take_back",
}

TABLES_GROUP = "tables"
# In each stage, an asset comes after those it is made from.
ASSETS: dict[str, tuple[str, ...]] = {
    "observe": ("input_tables", "plan_nodes", "runtime_counters", "scan_outcomes", "plan_artifacts"),
    "decide": ("policy_decisions",),
    "replan": ("candidate_plans",),
    "validate": ("trials", "verdicts"),
    "promote": ("active_policies",),
}
STAGES = tuple(ASSETS)
# Stages whose subject is a table: their assets have one partition per registered table.
TABLE_ASSETS: dict[str, tuple[str, ...]] = {
    "readiness": ("table_readiness", "layout_proposals"),
    "maintain": ("layout_verdicts", "maintenance_actions"),
}


@dataclass(frozen=True, slots=True)
class Names:
    """What one workload is called in one Dagster instance. A prefix keeps two workloads of an instance apart.

    >>> Names().table_key("sales").to_user_string(), Names().partitions, Names().named("optimize")
    ('tables/sales', 'planopt_queries', 'optimize')
    >>> shop = Names(("shop",), {"observe": "shop_plans"})
    >>> shop.asset_key("verdicts").to_user_string(), shop.partitions, shop.named("optimize"), shop.group("observe")
    ('shop/verdicts', 'shop_planopt_queries', 'shop_optimize', 'shop_plans')
    """

    prefix: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)  # stage (or `tables`) -> group; others keep their names
    own_tables: Mapping[str, dg.AssetKey] = field(default_factory=dict)  # tables that other assets of the project write

    def asset_key(self, asset: str) -> dg.AssetKey:
        """One of planopt's own tables."""
        return dg.AssetKey([*self.prefix, asset])

    def table_key(self, table: str) -> dg.AssetKey:
        """A source table of the workload file, by the name it has there. Folder `tables`: one may be named `trials`."""
        return self.own_tables.get(table) or dg.AssetKey([*self.prefix, "tables", table])

    def named(self, name: str) -> str:
        """A job, op, sensor, schedule or resource: names that must be unique in a code location."""
        return "_".join([*self.prefix, name])

    def group(self, stage: str) -> str:
        return self.groups.get(stage, stage)

    @property
    def partitions(self) -> str:
        """The set of partitions, one per query. It belongs to the whole instance."""
        return self.named(PARTITIONS)

    @property
    def table_partitions(self) -> str:
        """The set of partitions of what is known about tables, one per registered table."""
        return self.named(TABLE_PARTITIONS)

    @property
    def workspace(self) -> str:
        """The resource that every step needs."""
        return self.named("planopt_workspace")

    @property
    def asset_keys(self) -> list[dg.AssetKey]:
        """All of planopt's own tables, in the order of the loop."""
        return [self.asset_key(asset) for assets in ASSETS.values() for asset in assets]

    def run_config(
        self,
        queries: Sequence[str],
        *,
        job: str = OPTIMIZE_SELECTED_JOB,
        by_person: bool = True,
        budget_s: float | None = None,
    ) -> dict[str, Any]:
        """The configuration of a job for these queries. Without `budget_s` it is the workload's `per_run`."""
        config: dict[str, Any] = {"queries": list(queries)}
        config |= {} if by_person else {"by_person": False}
        config |= {} if budget_s is None else {"budget_s": budget_s}
        return {"ops": {self.named(FIRST_OPS[job]): {"config": config}}}
