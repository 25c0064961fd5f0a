"""The loop as a Dagster component: `dg scaffold defs planopt_assets.dagster.PlanoptComponent tuning`."""

from typing import Any

import dagster as dg
from pydantic import Field

from planopt_assets.defs.project import planopt_definitions

STARTER = """\
# What planopt should look at. `planopt plan -w planopt.yaml` says what a run would do.
version: 1
name: my_queries
store: .planopt/store
mode: advise # decide and try; a person promotes
tables:
  orders: data/orders # a Delta table beside this file; for one elsewhere, add its folder to `roots`
queries:
  - id: orders_by_day
    sql: SELECT o_orderdate, count(*) AS orders FROM orders GROUP BY o_orderdate
    runs_per_day: 24
"""


class PlanoptScaffolder(dg.Scaffolder[Any]):
    """Writes `defs.yaml` and, if there is none, a workload file to fill in."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        dg.scaffold_component(request, {"workload": "planopt.yaml", "key_prefix": [request.target_path.name]})
        file = request.target_path / "planopt.yaml"
        if not file.exists():
            file.write_text(STARTER, encoding="utf-8")


@dg.scaffold_with(PlanoptScaffolder)
class PlanoptComponent(dg.Component, dg.Model, dg.Resolvable):
    """Tunes recurring Spark SQL on Delta tables: the loop of one workload file as assets, checks and jobs."""

    workload: str = Field(default="planopt.yaml", description="The workload file, relative to this folder.")
    key_prefix: list[str] = Field(default_factory=list, description="Before asset keys and names of jobs.")
    groups: dict[str, str] = Field(default_factory=dict, description="Group names by stage: `observe: query_plans`.")
    owners: list[str] = Field(default_factory=list, description="E-mail addresses, or teams as `team:data`.")
    tables: dict[str, str] = Field(
        default_factory=dict, description="Tables that are assets of this project already: `sales: raw/sales`."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        return planopt_definitions(
            context.path / self.workload,
            key_prefix=self.key_prefix,
            groups=self.groups,
            owners=self.owners,
            tables={name: dg.AssetKey.from_user_string(key) for name, key in self.tables.items()},
        )
