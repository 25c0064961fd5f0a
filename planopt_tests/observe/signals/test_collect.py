"""All signals of one execution, from its two plans: they repeat, and no clock is in them."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

import pytest

from planopt_assets.model.plan import Plan
from planopt_assets.model.signals import Signals
from planopt_assets.model.udf import Udf, UdfAudit
from planopt_assets.observe.signals.collect import collect
from planopt_assets.store.codecs.forms import dumped
from planopt_tests.observe.join_shapes import recorded_run

pytestmark = pytest.mark.fast

UDFS = UdfAudit((Udf("tax", "python", "batched", True, "double", ("price",), "row_wise"),))


def collected(final: Plan | None = None) -> Signals:
    run = recorded_run("switched")
    return collect(run.initial, final or run.final, {"sales": [2], "shops": [1]}, (), UDFS, {}, ("first",))


def test_every_kind_of_signal_is_looked_for() -> None:
    final = recorded_run("switched").final
    spilled = replace(final.nodes[0], metrics=(*final.nodes[0].metrics, ("spill size", 7)))
    found = collected(replace(final, nodes=(spilled, *final.nodes[1:])))
    assert [f.name for f in fields(found) if not getattr(found, f.name)] == []


def test_the_same_execution_with_other_times_has_the_same_signals() -> None:
    final = recorded_run("switched").final
    slow = tuple(
        replace(n, metrics=(*n.metrics, *((name, 10**9) for name in ("scan time", "sort time", "fetch wait time"))))
        for n in final.nodes
    )
    assert dumped(asdict(collected(replace(final, nodes=slow)))) == dumped(asdict(collected()))


def test_no_signal_is_called_a_time() -> None:
    text = dumped(asdict(collected())).replace("runtime_filters", "")
    assert not [word for word in ("time", "_ms", "_ns", "seconds", "duration") if word in text]


def test_every_place_is_one_of_the_final_plan() -> None:
    found = collected()
    last = len(recorded_run("switched").final.nodes)
    located = [*found.exchanges, *found.scans, *found.joins, *found.aggregations]
    assert all(0 <= signal.node < last for signal in located)
