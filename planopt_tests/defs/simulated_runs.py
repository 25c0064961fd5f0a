"""Runs of a simulated day: Dagster's daemon launches them, and the day says when each one ends and how."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.launcher import LaunchRunContext, RunLauncher
from dagster._serdes import ConfigurableClass
from dagster._serdes.config_class import ConfigurableClassData

LAUNCHED: list[str] = []
"""Ids of the runs that were launched and have not ended. A launcher is made by Dagster, so they are kept here."""


class SimulatedLauncher(RunLauncher, ConfigurableClass):
    """Starts nothing: a run is at work until the day ends it."""

    def __init__(self, inst_data: ConfigurableClassData | None = None) -> None:
        self._inst_data = inst_data
        super().__init__()

    @property
    def inst_data(self) -> ConfigurableClassData | None:
        return self._inst_data

    @classmethod
    def config_type(cls) -> Mapping[str, Any]:
        return {}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> SimulatedLauncher:
        return cls(inst_data)

    def launch_run(self, context: LaunchRunContext) -> None:
        LAUNCHED.append(context.dagster_run.run_id)

    def terminate(self, run_id: str) -> bool:
        return False


def queries_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    (op,) = run.run_config["ops"].values()
    return list(op["config"]["queries"])


def end_run(instance: dg.DagsterInstance, run_id: str, *, success: bool) -> None:
    from dagster._core.events import DagsterEvent, DagsterEventType

    run = instance.get_run_by_id(run_id)
    assert run is not None
    kind = DagsterEventType.RUN_SUCCESS if success else DagsterEventType.RUN_FAILURE
    instance.report_dagster_event(DagsterEvent(kind.value, run.job_name), run_id=run_id)
