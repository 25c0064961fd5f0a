"""An instance that would let two timed trials run at once is told of; planopt's own settings are right."""

from pathlib import Path

import dagster as dg
import pytest
from ruamel.yaml import YAML

from planopt_assets.defs import names
from planopt_assets.defs.one_slot import WORDS, warn_without_one_slot
from planopt_tests.fresh_python import ROOT

pytestmark = pytest.mark.fast

SHIPPED = YAML(typ="safe").load(ROOT / "dagster.yaml")["concurrency"]
TWO = {"pools": {"granularity": "op", "default_limit": 2}}


def warnings_of(tmp_path: Path, concurrency: dict[str, object] | None) -> list[str]:
    """What a step in the pool logs, on an instance with these settings."""

    @dg.op(pool=names.POOL)
    def trial(context: dg.OpExecutionContext) -> None:
        warn_without_one_slot(context)

    @dg.job(executor_def=dg.in_process_executor)
    def loop() -> None:
        trial()

    overrides = {"concurrency": concurrency} if concurrency else {}
    with dg.instance_for_test(overrides=overrides, temp_dir=str(tmp_path)) as instance:
        run = loop.execute_in_process(instance=instance)
        logged = instance.all_logs(run.run_id)
    return [one.user_message for one in logged if one.level == 30]


def test_the_settings_that_planopt_ships_give_one_slot(tmp_path: Path) -> None:
    assert warnings_of(tmp_path, SHIPPED) == []


@pytest.mark.parametrize("concurrency", [None, TWO], ids=["no limit", "two slots"])
def test_an_instance_without_one_slot_is_told_of_with_the_fix(
    tmp_path: Path, concurrency: dict[str, object] | None
) -> None:
    assert warnings_of(tmp_path, concurrency) == [WORDS]
