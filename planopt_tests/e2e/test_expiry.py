"""A column that is added to a table ends what was proven on it; new rows do not.

Both queries have a policy that the loop promoted. `sales` gets a column, `returns` gets rows. At the next look the one
is expired and runs as original, the other stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from planopt_assets.loop.stages.observe import observe
from planopt_assets.loop.stages.promote import promote
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import Promotion
from planopt_tests.e2e.auto_loop import WHOLE_LOOP, auto_workload, one_pass
from planopt_tests.e2e.one_rule import write_table

pytestmark = pytest.mark.e2e


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest generations when the loop had promoted, and after the tables were looked at again."""

    before: dict[str, Promotion]
    after: dict[str, Promotion]


@pytest.fixture(scope="module")
def seen(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("expiry")
    rows = {"kind": pa.array(np.arange(5000) % 37), "amount": pa.array(np.arange(5000))}
    write_table(folder, "sales", rows)
    write_table(folder, "returns", rows)
    workload = auto_workload(
        folder,
        of_sales="SELECT kind, max(amount) AS top FROM sales GROUP BY kind",
        of_returns="SELECT kind, max(amount) AS top FROM returns GROUP BY kind",
    )
    before = one_pass(workload, WHOLE_LOOP)
    spark.sql(f"ALTER TABLE delta.`{folder / 'data' / 'sales'}` ADD COLUMNS (note STRING)")
    write_table(folder, "returns", rows)
    return Seen(before, one_pass(workload, [observe, promote]))


def test_a_new_column_expires_the_policy_and_says_so(seen: Seen) -> None:
    then, now = seen.before["of_sales"], seen.after["of_sales"]
    assert (then.generation, then.state, then.policy == ORIGINAL) == (1, "accepted", False)
    assert (now.generation, now.state, now.policy) == (2, "expired", ORIGINAL)
    assert now.reason == "the schema or constraints of its tables changed"


def test_new_rows_expire_nothing(seen: Seen) -> None:
    assert seen.before["of_returns"].state == "accepted"
    assert seen.after["of_returns"] == seen.before["of_returns"]
