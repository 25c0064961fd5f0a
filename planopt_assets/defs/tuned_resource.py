"""`tuned` as a resource for a user's own Dagster assets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import PrivateAttr

from planopt_assets.job.tuned_query import TIMEOUT_S, Tuned, tuned

if TYPE_CHECKING:
    from planopt_assets.engine.user_job.user_session import SparkSession


class PlanoptResource(dg.ConfigurableResource[Any]):
    """`tuned` with the workload file given once. Recorded rows have the id of the Dagster run.

        with planopt.tuned(spark, "orders_by_day") as query:
            query.sql().write.format("delta").mode("overwrite").save(target)

    Runs outside a `with` block are recorded when the Dagster run ends.
    """

    workload: str = "planopt.yaml"
    timeout_s: float = TIMEOUT_S
    _run_id: str | None = PrivateAttr(default=None)
    _given: list[Tuned] = PrivateAttr(default_factory=list)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        self._run_id = context.run.run_id if context.run else None

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        while self._given:
            self._given.pop().close()

    def tuned(self, spark: SparkSession, query_id: str) -> Tuned:
        """One query of the workload under its policy in force. The policy is written to the log of the run."""
        query = tuned(spark, query_id, self.workload, timeout_s=self.timeout_s, run_id=self._run_id)
        self._given.append(query)
        policy = query.reason or f"generation {query.generation}, {query.policy.describe()}"
        dg.get_dagster_logger("planopt").info(f"{query_id}: {policy}")
        return query
