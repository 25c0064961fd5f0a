"""The promote stage and a person's commands: what they say, and what each mode may write."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from planopt_assets.errors import PolicyFixed, PromotionRefused, VerdictSpent
from planopt_assets.loop.by_person import pin, rollback, unpin
from planopt_assets.loop.run import StageResult
from planopt_assets.loop.stages.promote import promote
from planopt_assets.model.policy import Policy
from planopt_assets.model.signals import Signals
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_assets.store.codecs.forms import dumped
from planopt_tests.promote.events import EXPIRED, REGRESSED, A, verdict_of
from planopt_tests.promote.memory_store import Memory, MemoryRun, written_to
from planopt_tests.rows import captured_row, criteria

pytestmark = pytest.mark.fast


def memory(*policies: Any) -> Memory:
    """A store with accepted verdicts on the current inputs."""
    made = Memory()
    made.tables["verdicts"] = [VERDICTS.to_row(verdict_of(p, input_fingerprint=made.inputs)) for p in policies]
    made.tables["candidate_plans"] = []
    return made


def promoted(store: Memory, mode: Any = "auto", *, by_hand: bool = False) -> StageResult:
    with written_to(store):
        (result,) = promote(MemoryRun(store, mode, by_hand=by_hand), ["q"])
    return result


def in_force() -> Memory:
    store = memory(A)
    promoted(store)
    return store


def test_in_auto_what_was_accepted_is_promoted_with_its_state_and_reason() -> None:
    result = promoted(memory(A))
    assert (result.changed, result.summary, result.numbers) == (
        True,
        "generation 1: shuffle.partitions=2",
        {"generation": 1},
    )
    assert (result.words["state"], result.words["reason"]) == ("accepted", "the reason for accept")


def test_in_advise_it_waits_for_a_person() -> None:
    store = memory(A)
    result = promoted(store, "advise")
    assert (result.changed, result.summary) == (False, "accepted, waiting for a person: planopt promote q")
    assert result.words["state"] == "original"
    assert promoted(store, "advise", by_hand=True).changed


@pytest.mark.parametrize("mode", ["auto", "advise"])
@pytest.mark.parametrize(("event", "state"), [(REGRESSED, "reverted"), (EXPIRED, "expired")])
def test_what_is_due_is_written_before_anything_else(mode: str, event: Any, state: str) -> None:
    store = in_force()
    store.found = (1, event)
    result = promoted(store, mode)
    assert result.summary == f"generation 2 ({state}): original, because {event.reason}"
    assert result.words == {"state": state, "reason": event.reason}
    assert promoted(store, mode).summary == "stays as it is: original"


def test_in_observe_nothing_is_written() -> None:
    store = in_force()
    store.found = (1, REGRESSED)
    result = promoted(store, "observe")
    assert (result.changed, len(store.chain)) == (False, 1)


def test_a_person_who_promotes_is_told_why_not() -> None:
    with pytest.raises(PromotionRefused, match="no accepted verdict on its current inputs"):
        promoted(memory(), by_hand=True)
    store = in_force()
    store.found = (1, REGRESSED)
    promoted(store)
    with pytest.raises(VerdictSpent):
        promoted(store, by_hand=True)
    with written_to(store):
        pin(MemoryRun(store), "q", settings={}, policy_id="original", reason="leave it", who="ada")
    with pytest.raises(PolicyFixed, match="pinned by ada: leave it"):
        promoted(store, by_hand=True)


FORGED = {
    "a criterion that did not pass": (
        {"criteria": criteria(results_equal=True, wall_ns=False, objective__cpu=True)},
        "its criterion wall_ns did not pass",
    ),
    "no criteria at all": ({"criteria": "[]"}, "it has no criterion results_equal that passed"),
    "results that differ": ({"results_equal": False}, "its results are not known to be equal"),
    "a setting that may change results": (
        {"policy": Policy.of({"spark.sql.ansi.enabled": "false"}).to_json()},
        "spark.sql.ansi.enabled may change results",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_the_word_accept_alone_promotes_nothing(name: str) -> None:
    changes, why = FORGED[name]
    store = memory(A)
    store.tables["verdicts"][0] |= changes
    assert promoted(store).summary == "stays as it is: original"
    with pytest.raises(PromotionRefused, match="says accept and does not count") as refused:
        promoted(store, by_hand=True)
    assert refused.value.what.endswith(why)
    assert store.chain == ()


def test_what_is_in_force_already_is_no_error() -> None:
    assert promoted(in_force(), by_hand=True).summary == "stays as it is: shuffle.partitions=2"


def test_who_pins_a_query_that_depends_on_its_plan_is_told_and_the_pin_stands() -> None:
    store = in_force()
    depends = dumped(asdict(Signals(plan_dependent=("first",))))
    store.tables["plan_artifacts"] = [captured_row("r1", signals=depends)]
    said = "its result may depend on the plan (first): no trial can prove that this policy changes nothing"
    with written_to(store):
        settings = {"spark.sql.shuffle.partitions": "64"}
        result = pin(MemoryRun(store), "q", settings=settings, policy_id=None, reason="mine", who="ada")
        assert result.summary == f"generation 2 (fixed by ada): shuffle.partitions=64, because mine. Careful: {said}"
        assert (result.words["warning"], result.changed, len(store.chain)) == (said, True, 2)
        nothing_set = pin(MemoryRun(store), "q", settings={}, policy_id="original", reason="", who="ada")
    assert "warning" not in nothing_set.words


def test_a_person_s_commands_say_what_is_in_force_now() -> None:
    store = in_force()
    with written_to(store):
        run = MemoryRun(store)
        partitions = {"spark.sql.shuffle.partitions": "64"}
        said = [
            pin(run, "q", settings=partitions, policy_id=None, reason="mine", who="ada").summary,
            pin(MemoryRun(store), "q", settings=partitions, policy_id=None, reason="mine", who="ada").summary,
            unpin(MemoryRun(store), "q", reason="done", who="ada").summary,
            unpin(MemoryRun(store), "q", reason="done", who="ada").summary,
            rollback(MemoryRun(store), "q", to="last_good", reason="", who="bob").summary,
            rollback(MemoryRun(store), "q", to="original", reason="", who="bob").summary,
            pin(MemoryRun(store), "q", settings={}, policy_id=A.id, reason="", who="ada").summary,
        ]
    assert said == [
        "generation 2 (fixed by ada): shuffle.partitions=64, because mine",
        "shuffle.partitions=64 is already pinned",
        "generation 3 (accepted by ada): shuffle.partitions=2, because done",
        "no policy is pinned",
        "generation 4 (reverted by bob): original",
        "the query runs as original, there is nothing to roll back",
        "generation 5 (fixed by ada): shuffle.partitions=2",
    ]
