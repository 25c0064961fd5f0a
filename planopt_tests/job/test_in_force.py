"""Which policy a user's job gets: the newest of a whole chain, or the original with a reason, and always an answer."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.engine.delta.pins import Pins
from planopt_assets.errors import StoreUnreadable
from planopt_assets.job.in_force import NOTHING_PROMOTED, InForce, read_in_force
from planopt_assets.model.conditions import Circumstances
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs, Query, Table, Workload
from planopt_assets.promote.dependence import conditions_of
from planopt_assets.promote.suspension import NOT_RECORDED
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.fresh_python import output_of
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER, OTHER

pytestmark = pytest.mark.fast

LONG = 60.0  # nothing here waits for it


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    return Workload("tests", tmp_path / "planopt.yaml", str(tmp_path / "store"), (), (Query("q", sql="SELECT 1"),))


def ask(workload: Workload | str, query_id: str = "q", **options: Any) -> InForce:
    return read_in_force(workload, query_id, **{"timeout_s": LONG, **options})


def test_a_store_that_does_not_exist_means_original_and_is_no_failure(workload: Workload) -> None:
    found = ask(workload)
    assert (found.policy, found.generation, found.reason) == (ORIGINAL, 0, NOTHING_PROMOTED)
    assert found.failure is None
    assert found.observable


def test_the_newest_generation_is_in_force(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER, OTHER))
    found = ask(workload)
    assert (found.policy, found.generation, found.reason) == (OTHER, 2, "")
    assert found.promotion is not None
    assert found.promotion.id == "pro-q-g2"


def test_another_querys_policy_is_not_this_ones(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("another", FEWER))
    assert ask(workload).reason == NOTHING_PROMOTED


def test_after_a_revert_the_original_is_in_force_and_the_reason_is_the_generations(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER, ORIGINAL, state="reverted"))
    found = ask(workload)
    assert (found.policy, found.generation) == (ORIGINAL, 2)
    assert found.reason == "generation 2 (reverted) is original: the reason for generation 2"


def test_a_policy_a_person_fixed_is_in_force(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER, OTHER, state="fixed"))
    assert ask(workload).policy == OTHER


def test_a_broken_chain_means_original_and_the_run_can_still_be_recorded(workload: Workload) -> None:
    smuggled = Policy.of({"spark.sql.ansi.enabled": "false"})
    promote_by_hand(workload.store, *chain("q", FEWER), policy=smuggled.to_json())
    found = ask(workload)
    assert found.policy == ORIGINAL
    assert found.reason.startswith("PLN-403")
    assert found.observable


SMUGGLED = {
    "changes results": (Policy.of({"spark.sql.ansi.enabled": "false"}), "may change results"),
    "outside the catalogue": (Policy.of({"spark.sql.any": "1"}), "is not in the knob catalogue"),
    "outside its bounds": (Policy.of({"spark.sql.shuffle.partitions": "0"}), "is outside 1..20000"),
    "unknown rewrite": (Policy.of(rewrites=["drop_where"]), "is not a known rewrite"),
}


@pytest.mark.parametrize("state", ["accepted", "fixed", "reverted"])
@pytest.mark.parametrize("name", SMUGGLED)
def test_a_policy_that_was_smuggled_in_with_hashes_that_fit_is_not_applied(
    workload: Workload, name: str, state: str
) -> None:
    policy, why = SMUGGLED[name]
    promote_by_hand(workload.store, *chain("q", FEWER, policy, state=state))
    found = ask(workload)
    assert found.policy == ORIGINAL
    assert found.reason.startswith("PLN-409 query q: generation 2 is not applied: ")
    assert why in found.reason
    assert found.observable


DENIED = Knobs(deny=("spark.sql.shuffle.partitions",))


def test_a_policy_that_the_workload_file_denies_by_now_is_not_applied(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER))
    found = ask(replace(workload, knobs=DENIED))
    assert (found.policy, found.reason[:7]) == (ORIGINAL, "PLN-409")


def test_a_person_may_pin_what_the_workload_file_denies_to_automation(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER, state="fixed"))
    assert ask(replace(workload, knobs=DENIED)).policy == FEWER


def test_a_store_of_a_newer_planopt_means_original_and_is_not_written_to(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER), schema_version=SCHEMA_VERSION + 1)
    found = ask(workload)
    assert (found.policy, found.reason[:7], found.observable) == (ORIGINAL, "PLN-302", False)


def test_a_damaged_store_means_original_and_is_not_written_to(workload: Workload) -> None:
    log = Path(workload.store) / "active_policies" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("not a commit\n")
    found = ask(workload)
    assert (found.policy, found.reason[:7], found.observable) == (ORIGINAL, "PLN-301", False)


class Hanging(Snapshot):
    """A store behind a network that swallows requests."""

    released = threading.Event()

    def table(self, name: str, *_: Any, **__: Any) -> pa.Table:
        self.released.wait()
        return TABLES[name].empty_table()


def test_a_store_that_does_not_answer_means_original_in_time(workload: Workload) -> None:
    try:
        found = ask(workload, timeout_s=0.05, open_store=Hanging)
    finally:
        Hanging.released.set()
    assert found.policy == ORIGINAL
    assert found.reason.startswith(f"PLN-306 {workload.store}: no answer within 0.05 s")
    assert not found.observable
    assert found.query is not None  # the workload itself was read


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (StoreUnreadable("gone", where="s3://x", fix="look"), "PLN-301 s3://x: gone"),
        (ConnectionError("refused"), "ConnectionError: refused"),
        (RuntimeError("a defect"), "RuntimeError: a defect"),
    ],
    ids=["typed", "network", "defect"],
)
def test_whatever_reading_raises_is_a_reason_and_no_error(workload: Workload, error: Exception, says: str) -> None:
    class Failing(Snapshot):
        def table(self, *_: Any, **__: Any) -> pa.Table:
            raise error

    found = ask(workload, open_store=Failing)
    assert found.policy == ORIGINAL
    assert says in found.reason


def test_a_workload_file_that_cannot_be_read_is_a_reason_and_no_error(tmp_path: Path) -> None:
    found = ask(str(tmp_path / "nowhere.yaml"))
    assert (found.policy, found.query, found.reason[:7]) == (ORIGINAL, None, "PLN-001")
    assert not found.observable


def test_a_query_the_workload_does_not_have_is_a_reason_and_no_error(workload: Workload) -> None:
    found = ask(replace(workload, queries=()))
    assert (found.policy, found.reason[:7], found.observable) == (ORIGINAL, "PLN-501", False)


FORKED = """
import os
from planopt_assets.job.in_force import read_in_force
from planopt_assets.model.workload import Query, Workload
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER
from pathlib import Path

store = os.environ["STORE"]
workload = Workload("tests", Path("planopt.yaml"), store, (), (Query("q", sql="SELECT 1"),))
promote_by_hand(store, *chain("q", FEWER))  # delta-rs is used in the parent
child = os.fork()
found = read_in_force(workload, "q", timeout_s=60)
print("child" if child == 0 else "parent", found.policy.describe(), found.reason[:7], flush=True)
if child:
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_forked_after_delta_rs_was_used_runs_as_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE", str(tmp_path))
    said = output_of(FORKED).splitlines()
    assert sorted(said) == ["0", "child original PLN-308", "parent shuffle.partitions=2 "]


# Conditions


@pytest.fixture
def sized(workload: Workload, tmp_path: Path) -> Workload:
    """A workload over a table of a thousand rows, on which a policy was proven."""
    grow(tmp_path, 1000)
    sized = replace(workload, tables=(Table("sales", str(tmp_path / "sales")),))
    state = Pins().state("sales", str(tmp_path / "sales"))
    proven = conditions_of(FEWER, Circumstances(tables=(state,)), ())
    promote_by_hand(workload.store, *chain("q", FEWER, conditions=proven))
    return sized


def grow(folder: Path, rows: int) -> None:
    values = pa.table({"n": pa.array(np.arange(rows, dtype=np.int64) * 7919)})
    write_deltalake(folder / "sales", values, mode="append")


def test_a_policy_is_not_applied_to_a_table_that_outgrew_its_evidence(sized: Workload, tmp_path: Path) -> None:
    found = ask(sized)
    assert (found.policy, found.reason, len(found.proven)) == (FEWER, "", 1)
    grow(tmp_path, 2_000_000)
    found = ask(sized)
    assert found.reason.startswith("generation 1 is suspended: spark.sql.shuffle.partitions was proven with ")
    assert (found.failure, found.proven, found.observable) == (None, (), True)


def test_a_table_of_a_few_kilobytes_may_grow_many_times_over(sized: Workload, tmp_path: Path) -> None:
    grow(tmp_path, 20_000)
    assert ask(sized).reason == ""


def test_a_run_while_the_policy_is_suspended_is_no_control(sized: Workload, tmp_path: Path) -> None:
    always = replace(sized, control_share=1.0)
    grow(tmp_path, 2_000_000)
    found = read_in_force(always, "q", timeout_s=60, run_id="run")
    assert (found.control, found.reason.startswith("generation 1 is suspended: ")) == (False, True)


def test_the_factor_of_the_workload_counts(sized: Workload, tmp_path: Path) -> None:
    grow(tmp_path, 2_000_000)
    assert ask(replace(sized, similar_within=1e6)).reason == ""


def test_a_policy_without_recorded_conditions_is_not_applied(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER, conditions=None))
    assert ask(workload).reason == f"generation 1 is suspended: {NOT_RECORDED}"


def test_a_pin_is_applied_whatever_the_tables_are(workload: Workload) -> None:
    promote_by_hand(workload.store, *chain("q", FEWER, state="fixed"))
    assert (ask(workload).policy, ask(workload).reason) == (FEWER, "")


def test_a_table_that_cannot_be_read_means_original(sized: Workload, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "sales")
    found = ask(sized)
    assert found.failure is not None
    assert found.failure.code == "PLN-206"
    assert found.observable
