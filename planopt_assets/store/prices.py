"""Stored cost models, and the work of stored executions that one may be fitted to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from planopt_assets.model.cost_model import Environment, Prices, Work
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.records import SharedContent
from planopt_assets.model.signals import Signals
from planopt_assets.model.work_units import COUNTED, execution_units
from planopt_assets.store.codecs.damage import decoded
from planopt_assets.store.codecs.forms import signals_from_json
from planopt_assets.store.codecs.observing import SHARED

if TYPE_CHECKING:
    from planopt_assets.store.snapshot import Snapshot, Wanted

KIND = "cost_model_by_unit"  # `cost_model` is that of older versions: each version sees only what it can read
_OURS = ("observe", "trial")
_COUNTED = ("execution_id", "query_id", "policy_id", "binding", "cores", "cpu_ns", *COUNTED)
_SEEN = ("observation_id", "query_id", "input_fingerprint", "binding", "engine")
_TRIED = ("trial_id", "query_id", "input_fingerprint", "policy_id", "binding", "warm_up", "status")
Row = dict[str, Any]
_Plan = tuple[Any, ...]
"""What executions with one plan have in common: query, inputs, policy and binding."""


def stored_prices(snapshot: Snapshot) -> list[Prices]:
    """Of every cost model, oldest first."""
    return [
        decoded(partial(Prices.from_json, one.content), "provenance", "content", one.query_id, None)
        for one in snapshot.read(SHARED, kind=KIND)
    ]


def content_of(prices: Prices, query_id: str) -> SharedContent:
    """A cost model as it is stored, with the query whose decision named it first."""
    return SharedContent(query_id, KIND, prices.id, prices.to_json())


@dataclass(frozen=True, slots=True)
class Held:
    """How many executions of one environment are stored, and of how many queries. No more than these can be fitted."""

    executions: int
    queries: int


def held(snapshot: Snapshot, environment: Environment) -> Held:
    """Upper limits, cheap to read: they have first runs and disturbed ones in them, and need no plan.

    Counters tell the cores, not the engine. What was stored before the first observation by an engine is of another.
    """
    import pyarrow.compute as pc

    seen = snapshot.table("plan_artifacts", ["sequence"], engine=environment.engine)["sequence"]
    if not len(seen):
        return Held(0, 0)
    known = ("cpu_ns", *COUNTED)
    counted = snapshot.table("runtime_counters", ["query_id", "cores", "sequence", *known], purpose=_OURS)
    keep = pc.and_(
        pc.equal(counted["cores"], environment.cores),
        pc.greater_equal(pc.fill_null(counted["sequence"], 0), pc.min(pc.fill_null(seen, 0))),
    )
    for name in known:
        keep = pc.and_(keep, pc.is_valid(counted[name]))
    queries = counted["query_id"].filter(keep)
    return Held(len(queries), pc.count_distinct(queries).as_py())


def held_by(rows: Sequence[Row]) -> Held:
    return Held(len(rows), len({row["query_id"] for row in rows}))


class MeasuredExecutions:
    """Warm executions that planopt ran itself, oldest first, with what the rows about them tell.

    Counters are stored for each execution. The engine and the plan are stored with the observation, the plan of a
    candidate with its first run: each other execution of the same policy on the same inputs has the same ones. Plans
    are large, so only those of the executions that count are read.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._inputs: dict[str, str] = {}  # by execution
        self._engines: dict[str, str | None] = {}  # by inputs
        self._shown_by: dict[_Plan, list[str]] = {}  # observations and first runs that may show a plan, oldest first
        cold = set()
        for row in _rows(snapshot, "plan_artifacts", _SEEN):
            self._engines[row["input_fingerprint"]] = row["engine"]
            self._note(row["observation_id"], row | {"policy_id": ORIGINAL.id}, shows=True)
        for row in _rows(snapshot, "trials", _TRIED):
            self._note(row["trial_id"], row, shows=bool(row["warm_up"]))
            if row["warm_up"] or row["status"] not in (None, "ok"):
                cold.add(row["trial_id"])
        counted = _rows(snapshot, "runtime_counters", _COUNTED, purpose=_OURS)
        self._warm = [row for row in counted if row["execution_id"] not in cold]

    def environments(self) -> list[Environment]:
        """The fewest cores first."""
        return sorted({e for row in self._warm if (e := self._environment(row)) is not None})

    def counted_in(self, environment: Environment) -> list[Row]:
        """Executions in one environment of which all counters are known. Older versions did not store the cores.

        Those of one commit are in the order of their ids, however the store lays out its rows.
        """
        return [
            row
            for row in self._warm
            if self._environment(row) == environment
            and row["cpu_ns"]
            and not any(row[name] is None for name in COUNTED)
        ]

    def work(self, rows: Sequence[Row]) -> list[Work]:
        """What these did. One whose plan nobody looked at, or does not tell all rows, is left out: that is no zero."""
        plans = self._plans({self._plan(row) for row in rows})
        return [
            Work(row["query_id"], row["cpu_ns"], units)
            for row in rows
            if (shown := plans.get(self._plan(row))) is not None and (units := execution_units(row, shown)) is not None
        ]

    def likely_to_tell(self, rows: Sequence[Row]) -> list[Row]:
        """Those of queries whose newest plan tells its rows. Plans are large, so one of each query is read for this."""
        newest = {row["query_id"]: row for row in rows}
        tell = {work.query_id for work in self.work(list(newest.values()))}
        return [row for row in rows if row["query_id"] in tell]

    def _note(self, execution: str, row: Row, *, shows: bool) -> None:
        self._inputs[execution] = row["input_fingerprint"]
        if shows:
            plan = row["query_id"], row["input_fingerprint"], row["policy_id"], row["binding"]
            self._shown_by.setdefault(plan, []).append(execution)

    def _environment(self, row: Row) -> Environment | None:
        engine = self._engines.get(self._inputs.get(row["execution_id"], ""))
        return None if row["cores"] is None or engine is None else Environment(row["cores"], engine)

    def _plan(self, row: Row) -> _Plan:
        return row["query_id"], self._inputs.get(row["execution_id"]), row["policy_id"], row["binding"]

    def _plans(self, wanted: Collection[_Plan]) -> dict[_Plan, Signals]:
        """By plan, the newest signals that are stored of it."""
        asked = {execution for plan in wanted for execution in self._shown_by.get(plan, ())}
        signals: dict[str, Signals] = {}
        for table, name in (("plan_artifacts", "observation_id"), ("trials", "trial_id")):
            for row in _rows(self._snapshot, table, (name, "query_id", "signals"), **{name: asked}):
                if row["signals"] is not None:
                    read = partial(signals_from_json, row["signals"])
                    signals[row[name]] = decoded(read, table, "signals", row["query_id"], None)
        shown = {plan: [signals[e] for e in self._shown_by.get(plan, ()) if e in signals] for plan in wanted}
        return {plan: found[-1] for plan, found in shown.items() if found}


def environments(snapshot: Snapshot) -> list[Environment]:
    """Where executions that planopt ran itself took place."""
    return MeasuredExecutions(snapshot).environments()


def measured_work(snapshot: Snapshot, environment: Environment) -> list[Work]:
    """Of warm executions that planopt ran itself in this environment, oldest first."""
    ran = MeasuredExecutions(snapshot)
    return ran.work(ran.counted_in(environment))


def _rows(snapshot: Snapshot, table: str, columns: tuple[str, ...], **wanted: Wanted) -> Iterator[Row]:
    """Oldest first, and of one commit by their id, which is the first of the columns."""
    found = snapshot.table(table, [*columns, "sequence"], **wanted)
    values = {name: found[name].to_pylist() for name in (*columns, "sequence")}
    order = sorted(range(len(found)), key=lambda at: (values["sequence"][at] or 0, values[columns[0]][at]))
    return ({name: values[name][at] for name in columns} for at in order)
