"""Watch lives from the user's own runs: healthy ones keep a policy, dearer ones take it back, unless original is too.

`sales` has 100,000 rows of 37 kinds: grouped, 37 rows are shuffled. Then the table is written anew with as many rows,
but a kind of its own for each. The same query under the same policy now shuffles megabytes, which no growth of its
input explains. Where original was seen to do so too, it is the data; where it was not, the policy goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets import tuned
from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.workload import Workload
from planopt_tests.e2e.auto_loop import WHOLE_LOOP, auto_workload, one_pass
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.e2e

ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Watched:
    """What was in force after each step, and what the user's job left in the store."""

    workload: Workload
    promoted: dict[str, Promotion]
    healthy: dict[str, Promotion]
    dearer: dict[str, Promotion]

    def production(self, query: str) -> list[dict[str, Any]]:
        rows = StoredRows(self.workload.store, self.workload.name).rows("runtime_counters", query_id=query)
        # Spark counts reading Delta's log as an action of the session: `other`, at which watch does not look either.
        return [r for r in rows if r["purpose"] == "production" and r["action"] == "frame"]


def write_sales(folder: Path, kinds: np.ndarray) -> None:
    from deltalake import write_deltalake

    amounts = np.random.default_rng(7).integers(0, 2**62, ROWS)
    table = pa.table({"kind": pa.array(kinds), "amount": pa.array(amounts)})
    write_deltalake(folder / "data" / "sales", table, mode="overwrite")


def users_job(spark: SparkSession, workload: Workload, *queries: str, times: int = 1) -> None:
    for query in queries * times:
        with tuned(spark.newSession(), query, workload) as job:
            job.sql().collect()


@pytest.fixture(scope="module")
def watched(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    folder = tmp_path_factory.mktemp("watch")
    write_sales(folder, np.arange(ROWS) % 37)
    workload = auto_workload(
        folder,
        alone="SELECT kind, max(amount) AS top FROM sales GROUP BY kind",
        with_original="SELECT kind, min(amount) AS least FROM sales GROUP BY kind",
    )
    promoted = one_pass(workload, WHOLE_LOOP)
    users_job(spark, workload, "alone", "with_original")
    healthy = one_pass(workload, [promote])
    write_sales(folder, np.random.default_rng(8).permutation(2**40 + np.arange(ROWS) * 2**20))
    users_job(spark, workload, "alone", "with_original", times=3)  # one run decides nothing
    one_pass(workload, [observe], "with_original")  # original, on the table as it is now
    dearer = one_pass(workload, [promote])
    users_job(spark, workload, "alone")
    return Watched(workload, promoted, healthy, dearer)


@pytest.mark.parametrize("query", ["alone", "with_original"])
def test_healthy_runs_of_the_user_keep_the_policy(watched: Watched, query: str) -> None:
    first = watched.promoted[query]
    assert (first.generation, first.state) == (1, "accepted")
    assert watched.healthy[query] == first
    assert watched.production(query)[0]["policy_id"] == first.policy.id != ORIGINAL.id


def test_a_dearer_run_of_the_user_takes_the_policy_back(watched: Watched) -> None:
    now, (healthy, *_, dearer, _) = watched.dearer["alone"], watched.production("alone")
    assert dearer["input_rows"] == healthy["input_rows"]
    assert dearer["shuffle_write_bytes"] > healthy["shuffle_write_bytes"] + 2**20
    assert (now.generation, now.state, now.policy) == (2, "reverted", ORIGINAL)
    assert now.reason.startswith(f"shuffle_write_bytes {dearer['shuffle_write_bytes']:,} in {dearer['execution_id']}")
    assert dearer["execution_id"] in now.evidence_ids


def test_after_that_the_users_job_runs_as_original(watched: Watched) -> None:
    assert watched.production("alone")[-1]["policy_id"] == ORIGINAL.id


def test_a_run_that_is_dearer_as_original_too_keeps_the_policy(watched: Watched) -> None:
    healthy, *_, dearer = watched.production("with_original")
    assert dearer["shuffle_write_bytes"] > healthy["shuffle_write_bytes"] + 2**20
    assert watched.dearer["with_original"] == watched.promoted["with_original"]
