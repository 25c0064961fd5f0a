"""A day of commits, edits and failures through Dagster's own daemon: each change is handled once, none is lost.

The daemon's sensor loop runs as it is, on a real instance, with a clock of its own: a tick every half hour.
Runs are launched by the daemon and end when the day says so, with the rows that observe would have stored.
"""

from __future__ import annotations

import logging
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import InProcessCodeLocationOrigin
from dagster._core.remote_representation.external import RemoteSensor
from dagster._core.scheduler.instigation import InstigatorState, SensorInstigatorData
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from dagster._core.test_utils import freeze_time
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import InProcessWorkspaceLoadTarget
from dagster._daemon.sensor import execute_sensor_iteration

from planopt_assets.defs import on_change
from planopt_assets.loop.run import read_standings
from planopt_assets.loop.steps import step
from planopt_assets.workload import load_workload
from planopt_tests.defs.fresh_instance import fresh_instance
from planopt_tests.defs.observed import commit, observe_without_spark
from planopt_tests.defs.simulated_runs import LAUNCHED, end_run, queries_of

pytestmark = [
    pytest.mark.e2e,
    # Dagster's own code asks for it when it loads a code location that has schedules.
    pytest.mark.filterwarnings("ignore:Property `ScheduleDefinition.environment_vars` is deprecated"),
    # So does its daemon, when it finds the tick of a daemon that was killed.
    pytest.mark.filterwarnings("ignore:The 'warn' method is deprecated"),
]

FILE = """\
version: 1
name: shop
store: store
mode: observe
tables: {{sales: data/sales, stock: data/stock, calm: data/calm}}
queries:
  - {{id: by_shop, sql: SELECT shop FROM sales}}
  - {{id: both, sql: SELECT s.shop FROM sales s JOIN stock t ON s.shop = t.shop}}
  - {{id: stocked, sql: SELECT amount FROM stock}}
  - {{id: calm, sql: SELECT shop FROM calm}}
  - {{id: edited, sql: '{edited}'}}
automation: {{settle: 60, interval: 900}}
"""
SENSORS = ("table_changes", "workload_changes")
CRASHES = ("TICK_CREATED", "TICK_HELD", "RUN_IDS_RESERVED", "RUN_CREATED", "RUN_LAUNCHED")
"""Where the daemon can be killed: before it asked, before and after it created the run, after it launched it."""
TICK_S = 1800
TICKS = 24 * 3600 // TICK_S
LOG = logging.getLogger("simulated day")
EDITS = {
    8: "SELECT min(shop) AS m FROM stock",
    9: "SELECT count(shop) AS m FROM stock",  # again, before it has settled
    20: "select COUNT(shop) as m from stock -- another spelling",
    30: "SELECT max(shop) AS m FROM stock",  # back to the first
    40: "SELECT sum(shop) AS m FROM stock",
}


@dataclass
class Day:
    """One workload, one instance, one daemon; `now` is the day's clock."""

    folder: Path
    instance: dg.DagsterInstance
    daemon: WorkspaceProcessContext
    now: float = 1_772_323_200.0
    counted: Counter[str] = field(default_factory=Counter)
    handled: list[tuple[str, str]] = field(default_factory=list)  # query, inputs: of every observation
    wasted: list[str] = field(default_factory=list)  # queries that a run was asked for, and that were not due
    before: dict[str, str | None] = field(default_factory=dict)  # the cursors that the last tick started with

    def sensors(self) -> list[RemoteSensor]:
        (entry,) = self.daemon.create_request_context().get_code_location_entries().values()
        assert entry.code_location is not None, entry.load_error
        (repository,) = entry.code_location.get_repositories().values()
        return [s for s in repository.get_sensors() if s.name in SENSORS]

    def iteration(self, **killed: str) -> None:
        """One round of the daemon over all sensors; `table_changes="RUN_CREATED"` kills it there."""
        flags = {name: {point: signal.SIGINT} for name, point in killed.items()}
        for sensor in self.sensors():
            state = self._state(sensor)
            self.before[sensor.name] = getattr(state.instigator_data, "cursor", None) if state else None
        with freeze_time(self.now):
            try:
                list(execute_sensor_iteration(self.daemon, LOG, None, None, debug_crash_flags=flags))
            except KeyboardInterrupt:
                self.counted["daemon killed"] += 1

    def forget_cursor(self, sensor: str) -> None:
        (found,) = [s for s in self.sensors() if s.name == sensor]
        self._with_cursor(found, None)
        self.counted["cursor lost"] += 1

    def replay(self) -> None:
        """Both sensors see again what they saw before their last tick."""
        for sensor in self.sensors():
            self._with_cursor(sensor, self.before.get(sensor.name))
        self.counted["replayed"] += 1
        self.now += 31
        self.iteration()

    def _with_cursor(self, sensor: RemoteSensor, cursor: str | None) -> None:
        state = self._state(sensor)
        if state is not None:
            data = state.instigator_data
            assert isinstance(data, SensorInstigatorData)
            self.instance.update_instigator_state(state.with_data(data._replace(cursor=cursor)))

    def _state(self, sensor: RemoteSensor) -> InstigatorState | None:
        return self.instance.get_instigator_state(sensor.get_remote_origin_id(), sensor.selector_id)

    def commit(self, table: str) -> None:
        commit(self.folder / "data" / table)
        self.counted["commit"] += 1

    def edit(self, sql: str) -> None:
        (self.folder / "planopt.yaml").write_text(FILE.format(edited=sql))
        self.counted["edit"] += 1

    def end_runs(self, *, success: bool = True) -> None:
        """Runs at work end, with what observe would have stored; one that failed stored nothing."""
        while LAUNCHED:
            run_id = LAUNCHED.pop(0)
            self.counted["run" if success else "run that failed"] += 1
            if success:
                self._observe(run_id)
            end_run(self.instance, run_id, success=success)

    def _observe(self, run_id: str) -> None:
        workload, asked = load_workload(self.folder / "planopt.yaml"), queries_of(self.instance, run_id)
        standings = read_standings(workload)
        due = [q for q in asked if step(standings[q], "observe").needed]
        self.wasted += sorted(set(asked) - set(due))
        if due:
            observe_without_spark(workload, due, run_id)
            found = read_standings(workload)
            self.handled += [(q, str(found[q].input_fingerprint)) for q in due]

    def due(self) -> list[str]:
        standings = read_standings(load_workload(self.folder / "planopt.yaml"))
        return [q for q, s in standings.items() if step(s, "observe").needed]


@contextmanager
def day(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Day]:
    for table in ("sales", "stock", "calm"):
        commit(folder / "data" / table)
    (folder / "planopt.yaml").write_text(FILE.format(edited="SELECT max(shop) AS m FROM stock"))
    patch.setenv("PLANOPT_WORKLOAD", str(folder / "planopt.yaml"))
    LAUNCHED.clear()
    launcher = {"module": "planopt_tests.defs.simulated_runs", "class": "SimulatedLauncher"}
    coordinator = {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"}  # launches at once
    target = LoadableTargetOrigin(module_name="planopt_assets.definitions")
    with (
        fresh_instance(overrides={"run_launcher": launcher, "run_coordinator": coordinator}) as instance,
        WorkspaceProcessContext(instance, InProcessWorkspaceLoadTarget(InProcessCodeLocationOrigin(target))) as daemon,
    ):
        made = Day(folder, instance, daemon)
        patch.setattr(on_change, "time", lambda: made.now)
        for storage in (sqlite_run_storage, sqlite_schedule_storage):
            # Dagster opens the instance anew for each tick, and asks each time whether its files are of this release.
            patch.setattr(storage, "check_alembic_revision", lambda *_: ("this", "this"))
        for sensor in made.sensors():
            instance.start_sensor(sensor)
        yield made


def live(day: Day, draw: random.Random) -> None:
    """The day, tick by tick: what happens is drawn, and so is how it goes wrong."""
    for tick in range(TICKS):
        day.now += TICK_S
        busy = 24 <= tick < 28  # two hours in which a stream writes
        if busy or draw.random() < 0.3:
            day.commit("sales")
        if draw.random() < 0.25:
            day.commit("stock")
        if tick in EDITS:
            day.edit(EDITS[tick])
        if LAUNCHED and draw.random() < 0.6:
            day.end_runs(success=draw.random() < 0.8)
        if draw.random() < 0.12:
            day.forget_cursor(draw.choice(SENSORS))
        if draw.random() < 0.4:
            day.iteration(**{draw.choice(SENSORS): draw.choice(CRASHES)})
            day.now += 31  # a new daemon
        day.iteration()
        if draw.random() < 0.15:  # the same tick again, from the cursor it started with
            day.replay()
    for _ in range(8):  # the evening is quiet
        day.now += TICK_S
        day.end_runs()
        day.iteration()


def test_every_change_of_a_day_is_handled_once_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    with day(tmp_path, monkeypatch) as lived:
        live(lived, random.Random(20_260_301))
        counted = dict(lived.counted)
        record_property("counted", counted)
        print(counted, f"observations {len(lived.handled)}", f"not due {lived.wasted}")
        assert lived.due() == []  # none is lost
        assert [pair for pair, times in Counter(lived.handled).items() if times > 1] == []  # none is handled twice
        assert lived.wasted == []  # no run was for nothing
        assert [query for query, _ in lived.handled].count("calm") == 1  # its table never changed
        assert min(counted[what] for what in ("daemon killed", "cursor lost", "replayed", "run that failed")) > 1
        before = counted["run"]
        for _ in range(4):
            lived.now += TICK_S
            lived.iteration()
        assert (LAUNCHED, lived.counted["run"]) == ([], before)  # unchanged tables start nothing
