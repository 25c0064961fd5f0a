"""Ticks of one sensor as Dagster would evaluate them, with a clock of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from planopt_assets.definitions import defs
from planopt_assets.defs import on_change, regressions
from planopt_tests.defs.fresh_instance import fresh_instance


@dataclass
class Ticks:
    """One sensor over one workload file; `now` is the time of the next tick."""

    instance: dg.DagsterInstance
    sensor: dg.SensorDefinition
    now: float = 1_000_000.0
    cursor: str | None = None
    last: dg.RunRequest | None = None  # that was made

    def tick(self, after: float = 30.0) -> dg.SensorResult:
        """The next tick, so many seconds later."""
        self.now += after
        name = self.sensor.name
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor, sensor_name=name) as context:
            result = self.sensor(context)
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor
        return result

    def requested(self, after: float = 30.0) -> list[str] | None:
        """The queries of the run that the next tick requests. None: it requests none."""
        result = self.tick(after)
        if not result.run_requests:
            return None
        (self.last,) = result.run_requests
        (op,) = self.last.run_config["ops"].values()
        return list(op["config"]["queries"])

    def said(self, after: float = 30.0) -> str:
        result = self.tick(after)
        assert isinstance(result.skip_reason, dg.SkipReason)
        return str(result.skip_reason.skip_message)

    def ran(self, status: dg.DagsterRunStatus) -> None:
        """The run of the last request, as the daemon and the run left it."""
        assert self.last is not None
        tags = {**self.last.tags, "dagster/sensor_name": self.sensor.name, "dagster/run_key": str(self.last.run_key)}
        create_run_for_test(self.instance, str(self.last.job_name), tags=tags, status=status)


@contextmanager
def ticks(file: Path, sensor: str, patch: pytest.MonkeyPatch) -> Iterator[Ticks]:
    patch.setenv("PLANOPT_WORKLOAD", str(file))
    definition = defs().resolve_sensor_def(sensor)
    with fresh_instance() as instance:
        made = Ticks(instance, definition)
        for module in (on_change, regressions):
            patch.setattr(module, "time", lambda: made.now)
        yield made
