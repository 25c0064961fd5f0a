"""What is due for a policy in force: which stored rows are compared, and with which."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from planopt_assets.loop.watching import Watch
from planopt_assets.model.execution import Execution
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.signals import Signals
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.verdict import Verdict
from planopt_assets.promote.transitions import Expire, Revert
from planopt_assets.store.codecs.forms import dumped
from planopt_assets.store.codecs.observing import ARTIFACTS, EXECUTIONS
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.promote.events import EXPIRED, REGRESSED, A, B, accept, chain_of, fix, verdict_of
from planopt_tests.promote.watched_runs import MB, ran
from planopt_tests.rows import Row, captured_row, stored

pytestmark = pytest.mark.fast

START = datetime(2025, 1, 1, tzinfo=UTC)
PROOF = verdict_of(A, trial_ids=["tri-warm", "tri-a", "tri-b", "tri-o"])
TRIALS = [stored("trials", trial_id=t, warm_up=t == "tri-warm") for t in PROOF.trial_ids]


def at(hours: float, run: Execution) -> Row:
    """An execution as the store holds it, so many hours after the start."""
    return {**EXECUTIONS.to_row(run), "run_id": "run", "recorded_at": START + timedelta(hours=hours)}


def trial(name: str, policy: Policy = A, **changes: Any) -> Row:
    """Trials are not asked for the size of their tables."""
    return at(1, ran(name, policy.id, "trial", table_bytes=None, **changes))


EVIDENCE = [
    at(0, ran("obs-r1-q-b0", ORIGINAL.id, "observe", shuffle_write_bytes=90 * MB)),
    trial("tri-warm", shuffle_write_bytes=900 * MB),
    trial("tri-a"),
    trial("tri-b"),
    trial("tri-o", ORIGINAL, shuffle_write_bytes=90 * MB),
]
DEAR = {"shuffle_write_bytes": 300 * MB}


def found(
    *counters: Row,
    chain: Chain | None = None,
    verdicts: tuple[Verdict, ...] = (PROOF,),
    artifacts: tuple[Row, ...] = (),
    tables: tuple[Row, ...] = (),
) -> Expire | Revert | None:
    made = chain_of(accept(A)) if chain is None else chain
    promoted = tuple(replace(p, stamp=Stamp("run", START + timedelta(hours=2))) for p in made)
    thrice = [row for row in counters for _ in range(3)]  # one run decides nothing
    observed = [captured_row("r1"), *artifacts]
    store = MemorySnapshot(
        runtime_counters=[*EVIDENCE, *thrice], trials=TRIALS, input_tables=list(tables), plan_artifacts=observed
    )
    seen = [ARTIFACTS.from_row(row) for row in observed]
    return Watch(store, {"q": promoted} if promoted else {}, {"q": verdicts}, {"q": seen}).due("q")


def test_nothing_is_due_while_nothing_ran_since() -> None:
    assert found() is None


DEPENDS = dumped(asdict(Signals(plan_dependent=("first", "collect_list"))))
WORDS = "its result may depend on the plan (collect_list, first)"


def test_a_policy_of_a_query_now_known_to_depend_on_its_plan_is_taken_back() -> None:
    event = found(artifacts=(captured_row("r2", signals=DEPENDS),))
    assert event == Expire(WORDS, ("obs-r2-q-b0", PROOF.id))


def test_so_it_is_where_its_proof_is_lost() -> None:
    event = found(artifacts=(captured_row("r2", signals=DEPENDS),), verdicts=())
    assert event == Expire(WORDS, ("obs-r2-q-b0",))


@pytest.mark.parametrize("signals", [None, "{}", dumped(asdict(Signals()))])
def test_a_query_that_does_not_depend_on_its_plan_keeps_its_policy(signals: str | None) -> None:
    earlier = captured_row("r2", signals=DEPENDS)
    assert found(artifacts=(earlier, captured_row("r3", signals=signals))) is None


def test_a_pin_is_a_persons_business() -> None:
    assert found(artifacts=(captured_row("r2", signals=DEPENDS),), chain=chain_of(fix(A))) is None


def test_a_real_run_that_is_dearer_than_the_trials_is_due_to_revert_with_all_its_verdicts() -> None:
    event = found(at(3, ran("obs-r2-q-b0", **DEAR)))
    assert isinstance(event, Revert)
    assert (event.to, event.who) == ("last_good", None)
    assert event.evidence == (*["obs-r2-q-b0"] * 3, PROOF.id)


@pytest.mark.parametrize("purpose", ["observe", "production"])
def test_observations_and_the_user_s_own_runs_count(purpose: str) -> None:
    assert found(at(3, ran("obs-r2-q-b0", purpose=purpose, **DEAR))) is not None


IGNORED = {
    "under another policy": at(3, ran("obs-r2-q-b0", B.id, **DEAR)),
    "before the promotion": at(1.5, ran("obs-r2-q-b0", **DEAR)),
    "in a trial": at(3, ran("tri-x", purpose="trial", **DEAR)),
}


@pytest.mark.parametrize("row", IGNORED.values(), ids=IGNORED)
def test_a_run_does_not_count(row: Row) -> None:
    assert found(row) is None


AHEAD = (replace(chain_of(accept(A))[0], stamp=Stamp("run", START + timedelta(hours=2), sequence=5)),)


@pytest.mark.parametrize(("sequence", "hours", "counts"), [(6, -1, True), (4, 9, False)])
def test_what_ran_since_a_promotion_goes_by_commits_and_by_no_clock(sequence: int, hours: float, counts: bool) -> None:
    row = {**at(hours, ran("obs-r2-q-b0", **DEAR)), "sequence": sequence}
    store = MemorySnapshot(runtime_counters=[*EVIDENCE, *[row] * 3], trials=TRIALS)
    seen = [ARTIFACTS.from_row(captured_row("r1"))]
    due = Watch(store, {"q": AHEAD}, {"q": (PROOF,)}, {"q": seen}).due("q")
    assert (due is not None) == counts


def test_original_after_the_promotion_goes_by_commits_too() -> None:
    dear = {**at(-2, ran("exe-1", **DEAR)), "sequence": 7}
    moved = {
        **at(-3, ran("obs-r2-q-b0", ORIGINAL.id, "observe", shuffle_write_bytes=330 * MB)),
        "sequence": 6,  # its machine's clock is behind
    }
    seen = [ARTIFACTS.from_row(captured_row("r1"))]
    store = MemorySnapshot(runtime_counters=[*EVIDENCE, moved, *[dear] * 3], trials=TRIALS)
    assert Watch(store, {"q": AHEAD}, {"q": (PROOF,)}, {"q": seen}).due("q") is None


def test_original_seen_on_the_data_of_now_tells_more_than_original_before_the_promotion() -> None:
    moved = at(3, ran("obs-r2-q-b0", ORIGINAL.id, "observe", shuffle_write_bytes=330 * MB))
    dear = at(3, ran("exe-1", **DEAR))
    assert found(dear, moved) is None  # the one of 90 MB, from before, is in the store as well
    assert found(dear) is not None


def test_warm_ups_are_no_evidence() -> None:
    # With the warm-up's 900 MB the median of three would still be 80 MB; alone it would hide everything.
    only = verdict_of(A, trial_ids=["tri-warm", "tri-o"])
    assert found(at(3, ran("obs-r2-q-b0", **DEAR)), verdicts=(only,)) is None


def test_the_tables_of_the_trials_are_those_of_their_observation() -> None:
    reads_all = at(3, ran("obs-r2-q-b0", scan_bytes=1000 * MB, input_rows=10_000_000))
    event = found(reads_all)
    assert event is not None
    assert event.reason.startswith("scan_bytes")


@pytest.mark.parametrize(
    "chain",
    [(), chain_of(fix(A)), chain_of(accept(A), fix(A)), chain_of(accept(A), REGRESSED), chain_of(accept(A), EXPIRED)],
    ids=["never promoted", "pinned", "pinned over the same", "reverted", "expired"],
)
def test_nothing_is_due_where_automation_has_nothing_in_force(chain: Chain) -> None:
    assert found(at(3, ran("obs-r2-q-b0", **DEAR)), chain=chain) is None


def test_nothing_is_due_where_the_evidence_is_missing() -> None:
    assert found(at(3, ran("obs-r2-q-b0", **DEAR)), verdicts=()) is None


def test_inputs_beyond_what_was_proven_end_a_policy_that_spills_without_blaming_it() -> None:
    spills = at(3, ran("exe-1", input_rows=100_000_000, table_bytes=100_000 * MB, disk_spill_bytes=50_000 * MB))
    event = found(spills)
    assert isinstance(event, Expire)
    assert event.reason.startswith("inputs are x100.0 of what it was proven on, and disk_spill_bytes is 52,428,800,000")
    assert event.evidence == (*["exe-1"] * 3, PROOF.id)


# Expiry

CHANGED = captured_row("r2", engine="spark 4.3.0", input_fingerprint="inp_2")


def test_another_engine_is_due_to_expire() -> None:
    event = found(artifacts=(CHANGED,))
    assert isinstance(event, Expire)
    assert event.reason == "the engine changed: spark 4.2.0 is spark 4.3.0 now"
    assert event.evidence == ("obs-r2-q-b0", PROOF.id)


def test_an_observation_that_failed_says_nothing_about_the_engine() -> None:
    assert found(artifacts=({**CHANGED, "status": "failed"},)) is None


def test_a_policy_proven_again_on_the_new_inputs_does_not_expire() -> None:
    again = verdict_of(A, 2, input_fingerprint="inp_2", trial_ids=[])
    assert found(artifacts=(CHANGED,), verdicts=(PROOF, again)) is None


def test_another_layout_is_due_to_expire() -> None:
    layouts = {"r1": "", "r2": "PARTITIONED BY (`day`)"}
    tables = tuple(
        stored("input_tables", observation_id=f"obs-{run}-q-b0", table="orders", metadata=f"USING delta\n{layout};")
        for run, layout in layouts.items()
    )
    event = found(artifacts=(captured_row("r2", input_fingerprint="inp_2"),), tables=tables)
    assert event is not None
    assert event.reason == "the layout of orders changed: partitioned by was not set and is `day`"


# A newer trial


def test_a_newer_trial_that_rejects_it_is_due_to_revert() -> None:
    worse = verdict_of(A, 2, outcome="reject", results_equal=False, reason="3 rows differ", input_fingerprint="inp_2")
    event = found(verdicts=(PROOF, worse))
    assert isinstance(event, Revert)
    assert event.reason == "a later trial rejected it: 3 rows differ"
    assert event.evidence == (worse.id, PROOF.id)


def test_a_newer_trial_that_rejects_it_for_want_of_a_gain_takes_it_back_too() -> None:
    no_gain = verdict_of(A, 2, outcome="reject", reason="no gain of 3% or more", input_fingerprint="inp_2")
    event = found(verdicts=(PROOF, no_gain))
    assert isinstance(event, Revert)
    assert event.reason == "a later trial rejected it: no gain of 3% or more"


def test_a_newer_trial_without_a_clear_answer_takes_nothing_back() -> None:
    assert found(verdicts=(PROOF, verdict_of(A, 2, outcome="inconclusive"))) is None


def test_a_policy_that_was_not_confirmed_twice_is_due_to_revert() -> None:
    unclear = [verdict_of(A, n, outcome="inconclusive", purpose="confirm") for n in (2, 3)]
    assert found(verdicts=(PROOF, unclear[0])) is None
    event = found(verdicts=(PROOF, *unclear))
    assert isinstance(event, Revert)
    assert event.evidence == (*(v.id for v in unclear), PROOF.id)


def test_a_restored_policy_is_watched_by_its_own_verdict() -> None:
    chain = chain_of(accept(A), accept(B), REGRESSED)
    assert found(at(3, ran("obs-r2-q-b0")), chain=chain) is None
    assert found(at(3, ran("obs-r2-q-b0", **DEAR)), chain=chain) is not None
