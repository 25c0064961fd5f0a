"""A run that failed has answered: it is not repeated, also on an instance that retries runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from planopt_assets.defs import names
from planopt_assets.defs.project import planopt_definitions
from planopt_tests.conftest import write_workload_file

pytestmark = pytest.mark.fast

RETRIES = {"run_retries": {"enabled": True, "max_retries": 3, "retry_on_asset_or_op_failure": True}}


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test(overrides=RETRIES) as made:
        yield made


def will_retry(instance: dg.DagsterInstance, job: dg.JobDefinition, config: dict[str, object] | None = None) -> str:
    result = job.execute_in_process(config, instance=instance, raise_on_error=False)
    assert not result.success
    found = instance.get_run_by_id(result.run_id)
    assert found is not None
    return found.tags["dagster/will_retry"]


def test_the_instance_of_this_test_does_retry(instance: dg.DagsterInstance) -> None:
    @dg.op
    def fails() -> None:
        raise dg.Failure("no")

    @dg.job(executor_def=dg.in_process_executor)
    def others() -> None:
        fails()

    assert will_retry(instance, others) == "true"


@pytest.mark.parametrize("job", [names.OPTIMIZE_SELECTED_JOB, names.REVALIDATE_JOB])
def test_a_failed_run_of_planopt_is_not_repeated(instance: dg.DagsterInstance, tmp_path: Path, job: str) -> None:
    (tmp_path / "data" / "sales").mkdir(parents=True)
    file = write_workload_file(tmp_path, '  - {id: a, sql: "SELECT 1"}')
    made = planopt_definitions(file)
    config = names.Names().run_config(["a_query_that_is_not_there"], job=job)
    assert will_retry(instance, made.resolve_job_def(job), config) == "false"
