"""The prices that decide goes by: the given ones, the stored ones, or new ones once the store has doubled."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import pytest

from planopt_assets.errors import RowDamaged
from planopt_assets.loop.cost_models import new_models, prices_now, prices_of
from planopt_assets.model.cost_model import GIVEN, Environment, Prices
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import Aggregation, Join, JoinInput, Scan, Signals
from planopt_assets.model.work_units import COUNTED, Units
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.codecs.observing import SHARED
from planopt_assets.store.prices import content_of, environments, measured_work, stored_prices
from planopt_assets.store.snapshot import Wanted
from planopt_tests.decide.test_price_fit import HERE, ran
from planopt_tests.memory_snapshot import MemorySnapshot, Row
from planopt_tests.rows import decision, stored

pytestmark = pytest.mark.fast


ELSEWHERE = replace(HERE, cores=16)
NEWER = replace(HERE, engine="delta 4.4.0, java 17, spark 4.3.0")


def ran_in(environment: Environment, executions: int, unknown: str = "", **columns: Any) -> dict[str, list[Row]]:
    """Observations of 20 queries, one after the other, each with its plan. `unknown` is a counter that nobody told."""
    work = [w for number in range(6) for w in ran()[number::6]][:executions]
    place = f"{environment.cores}-{environment.engine[-5:]}"
    counted = [
        stored(
            "runtime_counters",
            execution_id=f"obs-{place}-{number}",
            query_id=w.query_id,
            purpose="observe",
            policy_id=ORIGINAL.id,
            binding=0,
            cores=environment.cores,
            cpu_ns=w.cpu_ns,
            input_rows=w.units.rows,
            scan_files=w.units.files,
            tasks=w.units.tasks,
            shuffle_blocks=w.units.blocks,
            shuffle_write_rows=w.units.shuffled_rows,
            sequence=number + 1,
        )
        | columns
        | ({unknown: None} if unknown else {})
        for number, w in enumerate(work)
    ]
    seen = [
        stored(
            "plan_artifacts",
            observation_id=f"obs-{place}-{number}",
            query_id=w.query_id,
            input_fingerprint=f"inp-{place}-{number}",
            binding=0,
            engine=environment.engine,
            signals=dumped(asdict(shown(w.units))),
            sequence=number + 1,
        )
        for number, w in enumerate(work)
    ]
    return {"runtime_counters": counted, "plan_artifacts": seen}


def shown(units: Units) -> Signals:
    """A plan whose operators did so much."""
    side = JoinInput(0, None, None, shuffled=True, tables=())
    join = Join(1, "Inner", "SortMergeJoin", "SortMergeJoin", None, side, replace(side, rows=units.joined_rows), 0)
    scan = Scan(2, "t", files=1, bytes=1, splits=1, read_rows=units.decoded_kib, row_bytes=1024)
    return Signals(scans=(scan,), joins=(join,), aggregations=(Aggregation(0, units.grouped_rows, 1, 1, keys=1),))


def store(executions: int, *models: Prices, **others: list[Row]) -> MemorySnapshot:
    """Executions here, and the cost models that were stored before."""
    rows = [stored("provenance", **SHARED.to_row(content_of(prices, "q0"))) for prices in models]
    tables = {**ran_in(HERE, executions), "provenance": rows}
    return MemorySnapshot(**{name: tables.get(name, []) + others.get(name, []) for name in {*tables, *others}})


def test_a_young_store_goes_by_the_given_prices() -> None:
    assert prices_now(store(59), HERE) == GIVEN


def test_once_it_holds_enough_they_are_fitted_to_what_is_stored() -> None:
    found = prices_now(store(60), HERE)
    assert (found.executions, found.queries, found.environment) == (60, 20, HERE)
    assert measured_work(store(60), HERE) == [w for number in range(6) for w in ran()[number::6]][:60]
    assert found.error is not None
    assert found.prior_error is not None
    assert found.error < 1.15 < found.prior_error


def test_the_model_is_stored_with_the_first_decision_that_names_it() -> None:
    snapshot = store(60)
    found = prices_now(snapshot, HERE)
    decisions = [decision(arithmetic=json.dumps({"prices": found.id}))] * 2
    (row,) = new_models(snapshot, decisions)
    assert (row.kind, row.hash, json.loads(row.content)["row_ns"]) == ("cost_model_by_unit", found.id, found.row_ns)
    assert new_models(snapshot, [decision()]) == []
    assert new_models(store(119, found), decisions) == []


def test_a_stored_model_stays_until_the_store_has_doubled() -> None:
    first = prices_now(store(60), HERE)
    assert prices_now(store(119, first), HERE) == first
    again = prices_now(store(120, first), HERE)
    assert (again.executions, again != first) == (120, True)


# What does not count


def test_first_runs_are_cold_and_do_not_count() -> None:
    cold = [stored("trials", trial_id=f"obs-2-4.2.0-{number}", warm_up=True, status="ok") for number in range(2)]
    assert prices_now(store(61, trials=cold), HERE) == GIVEN  # 59 are left
    assert prices_now(store(62, trials=cold), HERE).executions == 60


def test_disturbed_trials_do_not_count() -> None:
    lost = [stored("trials", trial_id="obs-2-4.2.0-7", warm_up=False, status="tainted")]
    assert prices_now(store(60, trials=lost), HERE) == GIVEN
    assert prices_now(store(61, trials=lost), HERE).executions == 60


@pytest.mark.parametrize("counter", ["cpu_ns", *COUNTED])
def test_an_execution_with_an_unknown_counter_is_left_out_and_not_taken_for_zero(counter: str) -> None:
    assert len(measured_work(MemorySnapshot(**ran_in(HERE, 60)), HERE)) == 60
    assert measured_work(MemorySnapshot(**ran_in(HERE, 60, unknown=counter)), HERE) == []


@pytest.mark.parametrize(
    ("part", "field"), [("scans", "read_rows"), ("scans", "row_bytes"), ("aggregations", "rows_in")]
)
def test_neither_is_an_operator_with_an_unknown_number_of_rows(part: str, field: str) -> None:
    tables = ran_in(HERE, 60)
    for row in tables["plan_artifacts"][:10]:
        content = json.loads(row["signals"])
        content[part][0][field] = None
        row["signals"] = dumped(content)
    assert len(measured_work(MemorySnapshot(**tables), HERE)) == 50


def test_a_scan_below_a_reused_shuffle_never_ran_and_is_not_unknown() -> None:
    tables = ran_in(HERE, 1)
    (row,) = tables["plan_artifacts"]
    before = measured_work(MemorySnapshot(**tables), HERE)
    content = json.loads(row["signals"])
    content["scans"].append({**content["scans"][0], "splits": 0, "read_rows": None})
    row["signals"] = dumped(content)
    assert measured_work(MemorySnapshot(**tables), HERE) == before


@pytest.mark.parametrize("files", [7, 0])
def test_a_scan_that_read_files_of_its_own_ran_although_nobody_found_its_rows_and_tasks(files: int) -> None:
    """Its rows are unknown, not zero. Without files there was nothing to read."""
    tables = ran_in(HERE, 1)
    (row,) = tables["plan_artifacts"]
    content = json.loads(row["signals"])
    content["scans"].append({**content["scans"][0], "splits": 0, "read_rows": None, "files": files})
    row["signals"] = dumped(content)
    assert len(measured_work(MemorySnapshot(**tables), HERE)) == (0 if files else 1)


def test_an_execution_whose_plan_nobody_looked_at_is_left_out() -> None:
    tables = ran_in(HERE, 60)
    for row in tables["plan_artifacts"][:10]:
        row["signals"] = None
    assert len(measured_work(MemorySnapshot(**tables), HERE)) == 50


def test_a_trial_has_the_plan_of_its_policy_on_the_same_inputs() -> None:
    """Only the first run of a candidate is looked at; the runs after it have the same plan."""
    tables = ran_in(HERE, 1)
    (row,) = tables["runtime_counters"]
    own = stored("trials", query_id=row["query_id"], policy_id="pol_1", binding=0, input_fingerprint="inp-2-4.2.0-0")
    plan = dumped(asdict(shown(Units(joined_rows=77))))
    first, second = (own | {"trial_id": f"t{n}", "warm_up": n == 1, "status": "ok"} for n in (1, 2))
    tables["runtime_counters"].append(row | {"execution_id": "t2", "purpose": "trial", "policy_id": "pol_1"})
    unseen = MemorySnapshot(**tables, trials=[first, second])
    looked = MemorySnapshot(**tables, trials=[first | {"signals": plan}, second])
    assert [w.units.joined_rows for w in measured_work(looked, HERE)][1:] == [77]
    assert len(measured_work(unseen, HERE)) == 1
    elsewhere = MemorySnapshot(**tables, trials=[first | {"signals": plan, "input_fingerprint": "inp-2"}, second])
    assert len(measured_work(elsewhere, HERE)) == 1


# What is read before it is known whether there is enough


class Reads(MemorySnapshot):
    """A snapshot that remembers how many plans were read."""

    plans = 0

    def table(self, name: str, columns: list[str] | None = None, **wanted: Wanted) -> pa.Table:
        found = super().table(name, columns, **wanted)
        self.plans += len(found) if columns and "signals" in columns else 0
        return found


def read_for(snapshot: MemorySnapshot, environment: Environment = HERE) -> tuple[Prices, bool, int]:
    """The prices; whether more was read than counters and the engine's first observation; and the plans that were."""
    reads = Reads(**snapshot.tables)
    return prices_now(reads, environment), "trials" in reads.asked, reads.plans


def test_plans_are_read_once_there_may_be_enough() -> None:
    """Else the tests below would prove nothing. The newest plan of each of 20 queries is read first."""
    assert read_for(store(60))[1:] == (True, 20 + 60)


def test_a_store_is_not_read_again_before_it_has_doubled_whatever_counts_for_nothing_in_it() -> None:
    cold = [stored("trials", trial_id=f"obs-2-4.2.0-{number}", warm_up=True, status="ok") for number in range(40)]
    first = prices_now(store(110, trials=cold), HERE)
    assert (first.executions, first.counted) == (70, 110)
    assert read_for(store(115, first, trials=cold)) == (first, False, 0)
    again, read, _ = read_for(store(120, replace(first, counted=60), trials=cold))
    assert (again.executions, read) == (80, True)


def test_after_an_upgrade_the_executions_of_the_engine_before_are_not_read() -> None:
    new = ran_in(NEWER, 10)
    for row in (*new["runtime_counters"], *new["plan_artifacts"]):
        row["sequence"] += 200
    assert read_for(store(120, **new), NEWER) == (GIVEN, False, 0)
    assert read_for(store(120), NEWER) == (GIVEN, False, 0)  # nothing was observed by it so far


def test_with_too_few_queries_nothing_but_counters_is_read() -> None:
    few = ran_in(HERE, 120)
    for number, row in enumerate(few["runtime_counters"]):
        row["query_id"] = f"q{number % 5}"
    assert read_for(MemorySnapshot(**few)) == (GIVEN, False, 0)


def test_with_too_few_queries_of_this_engine_no_plan_is_read() -> None:
    """Counters do not tell the engine, so five queries of one engine beside many of another need a second look."""
    tables = ran_in(HERE, 120)
    for number, row in enumerate(tables["plan_artifacts"]):
        if number % 20 > 4:
            row["engine"] = NEWER.engine
    assert read_for(MemorySnapshot(**tables)) == (GIVEN, True, 0)


def test_an_unknown_counter_is_not_counted_even_at_first() -> None:
    assert read_for(MemorySnapshot(**ran_in(HERE, 120, unknown="tasks"))) == (GIVEN, False, 0)


def test_where_plans_do_not_tell_their_rows_only_the_newest_of_each_query_is_read() -> None:
    tables = ran_in(HERE, 120)
    for row in tables["plan_artifacts"]:
        content = json.loads(row["signals"])
        content["aggregations"][0]["rows_in"] = None
        row["signals"] = dumped(content)
    assert read_for(MemorySnapshot(**tables)) == (GIVEN, True, 20)


def test_of_more_executions_than_are_fitted_the_newest_count_however_the_rows_lie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compaction may write the rows of one commit in another order."""
    monkeypatch.setattr("planopt_assets.loop.cost_models.MOST", 70)
    tables = ran_in(HERE, 120)
    for row in tables["runtime_counters"]:
        row["sequence"] = 7
    moved = {**tables, "runtime_counters": random.Random(5).sample(tables["runtime_counters"], 120)}
    assert moved["runtime_counters"] != tables["runtime_counters"]
    found = prices_now(MemorySnapshot(**tables), HERE)
    assert prices_now(MemorySnapshot(**moved), HERE) == found
    assert found.executions == 120
    for row in tables["runtime_counters"]:
        row["sequence"] = 8 if row["execution_id"] < "obs-2-4.2.0-5" else 7
    assert prices_now(MemorySnapshot(**tables), HERE).fitted_on != found.fitted_on  # other ones are the newest


# Environments


@pytest.mark.parametrize("other", [ELSEWHERE, NEWER], ids=["other cores", "another engine"])
def test_each_environment_has_prices_of_its_own(other: Environment) -> None:
    both = store(60, **ran_in(other, 60, cpu_ns=10**10))
    assert environments(both) == [HERE, other]
    here, there = prices_now(both, HERE), prices_now(both, other)
    alone = prices_now(store(60), HERE)
    assert (here, here.environment) == (replace(alone, counted=here.counted), HERE)
    assert (there.executions, there.environment) == (60, other)
    assert here.query_ns < there.query_ns


@pytest.mark.parametrize("other", [ELSEWHERE, NEWER], ids=["other cores", "another engine"])
def test_executions_of_another_environment_do_not_make_up_for_missing_ones(other: Environment) -> None:
    both = store(59, **ran_in(other, 60))
    assert prices_now(both, HERE) == GIVEN
    assert prices_now(both, other).executions == 60


def test_a_model_of_another_environment_is_not_gone_by() -> None:
    model = prices_now(store(60), HERE)
    assert prices_now(store(0, model), HERE) == model
    assert prices_now(store(0, model), ELSEWHERE) == GIVEN


def test_executions_that_do_not_tell_their_cores_or_engine_are_left_out() -> None:
    tables = ran_in(HERE, 60)
    tables["runtime_counters"][0]["cores"] = None
    tables["plan_artifacts"][1]["engine"] = None
    assert len(measured_work(MemorySnapshot(**tables), HERE)) == 58


# Stored models


def test_a_decision_names_its_prices_and_is_asked_again_by_those() -> None:
    first, second = prices_now(store(60), HERE), prices_now(store(120), HERE)
    named = decision(arithmetic=json.dumps({"prices": first.id}))
    assert prices_of(store(120, first, second), [named], HERE) == first
    assert prices_of(store(120, first, second), [named], ELSEWHERE) == first
    assert prices_of(store(120, first, second), [decision()], HERE) == GIVEN
    assert prices_of(store(120, first), [], HERE) == second


def test_a_decision_that_names_a_model_that_is_not_stored_is_an_error_that_names_both() -> None:
    """Not the given prices: another decision would be made again, and nobody would know."""
    other = prices_now(store(60), HERE)
    named = decision(arithmetic=json.dumps({"prices": "cst_gone"}))
    with pytest.raises(RowDamaged, match=rf"PLN-307 query q: .* decision {named.id} names the cost model cst_gone"):
        prices_of(store(0, other), [named], HERE)


def test_models_of_versions_before_are_of_another_kind_and_not_seen() -> None:
    """An older planopt does not see these models either: what it cannot read, it never takes for damage."""
    older = {"kind": "cost_model", "hash": "cst_1", "content": '{"row_ns": 700}'}
    model = prices_now(store(60), HERE)
    both = store(0, model, provenance=[stored("provenance", **older)])
    assert stored_prices(both) == [model]
    assert both.read(SHARED, kind="cost_model")[0].hash == "cst_1"


def test_a_damaged_model_is_an_error_that_names_its_row() -> None:
    damaged = store(0, GIVEN)
    damaged.tables["provenance"][0]["content"] = '{"row_ns": 1}'
    with pytest.raises(RowDamaged, match="provenance"):
        stored_prices(damaged)
