"""Stored cost models, and the work of stored executions that one may be fitted to."""

from __future__ import annotations

from collections.abc import Iterator
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
    from planopt_assets.store.snapshot import Snapshot

KIND = "cost_model"
_OURS = ("observe", "trial")
_COUNTED = ("execution_id", "query_id", "policy_id", "binding", "cores", "cpu_ns", *COUNTED)
_SEEN = ("observation_id", "query_id", "input_fingerprint", "binding", "engine", "signals")
_TRIED = ("trial_id", "query_id", "input_fingerprint", "policy_id", "binding", "warm_up", "status", "signals")


def stored_prices(snapshot: Snapshot) -> list[Prices]:
    """Of every cost model, oldest first."""
    return [
        decoded(partial(Prices.from_json, one.content), "provenance", "content", one.query_id, None)
        for one in snapshot.read(SHARED, kind=KIND)
    ]


def content_of(prices: Prices, query_id: str) -> SharedContent:
    """A cost model as it is stored, with the query whose decision named it first."""
    return SharedContent(query_id, KIND, prices.id, prices.to_json())


def executions_of_ours(snapshot: Snapshot, cores: int) -> int:
    """How many executions observe and validate have stored with this number of cores."""
    return snapshot.table("runtime_counters", ["cores"], purpose=_OURS)["cores"].to_pylist().count(cores)


def environments(snapshot: Snapshot) -> list[Environment]:
    """Where executions that planopt ran itself took place: the fewest cores first."""
    ran = _Ran(snapshot)
    return sorted({e for row in ran.rows() if (e := ran.environment(row)) is not None})


def measured_work(snapshot: Snapshot, environment: Environment) -> list[Work]:
    """Of warm executions that planopt ran itself in this environment, oldest first.

    Left out are those with an unknown counter, those whose plan nobody looked at, and those of an older planopt, which
    did not store the number of cores.
    """
    ran = _Ran(snapshot)
    return [w for row in ran.rows() if ran.environment(row) == environment and (w := ran.work(row)) is not None]


class _Ran:
    """The executions of a store, with what the rows about them tell.

    Counters are stored for each execution. The engine and the plan are stored with the observation, the plan of a
    candidate with its first run: each other execution of the same policy on the same inputs has the same ones.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._counters = snapshot.table("runtime_counters", list(_COUNTED), purpose=_OURS)
        self._inputs: dict[str, str] = {}  # by execution
        self._engines: dict[str, str] = {}  # by inputs
        self._plans: dict[tuple[Any, ...], str] = {}  # by query, inputs, policy and binding: signals as JSON
        self._known: dict[str, Signals] = {}
        self._cold: set[str] = set()
        for row in _rows(snapshot, "plan_artifacts", _SEEN):
            self._inputs[row["observation_id"]] = row["input_fingerprint"]
            self._engines[row["input_fingerprint"]] = row["engine"]
            self._look(row, ORIGINAL.id)
        for row in _rows(snapshot, "trials", _TRIED):
            self._inputs[row["trial_id"]] = row["input_fingerprint"]
            self._look(row, row["policy_id"])
            if row["warm_up"] or row["status"] not in (None, "ok"):
                self._cold.add(row["trial_id"])

    def _look(self, row: dict[str, Any], policy_id: str) -> None:
        if row["signals"] is not None:
            self._plans[row["query_id"], row["input_fingerprint"], policy_id, row["binding"]] = row["signals"]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Counters of warm executions."""
        columns = [self._counters[c].to_pylist() for c in _COUNTED]
        made = (dict(zip(_COUNTED, row, strict=True)) for row in zip(*columns, strict=True))
        return (row for row in made if row["execution_id"] not in self._cold)

    def environment(self, row: dict[str, Any]) -> Environment | None:
        engine = self._engines.get(self._inputs.get(row["execution_id"], ""))
        return None if row["cores"] is None or engine is None else Environment(row["cores"], engine)

    def work(self, row: dict[str, Any]) -> Work | None:
        """What it did. None: something of it is unknown, which is not zero."""
        key = row["query_id"], self._inputs.get(row["execution_id"]), row["policy_id"], row["binding"]
        text = self._plans.get(key)
        if text is None or not row["cpu_ns"]:
            return None
        if text not in self._known:
            self._known[text] = decoded(lambda: signals_from_json(text), "trials", "signals", row["query_id"], None)
        units = execution_units(row, self._known[text])
        return None if units is None else Work(row["query_id"], row["cpu_ns"], units)


def _rows(snapshot: Snapshot, table: str, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    found = snapshot.table(table, list(columns))
    return (dict(zip(columns, row, strict=True)) for row in zip(*(found[c].to_pylist() for c in columns), strict=True))
