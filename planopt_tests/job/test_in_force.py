"""Which policy a user's job gets: the newest of a whole chain, or the original with a reason, and always an answer."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from planopt_assets.errors import StoreUnreadable
from planopt_assets.job.in_force import NOTHING_PROMOTED, InForce, read_in_force
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs, Query, Workload
from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_assets.store.snapshot import Snapshot
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
