"""decide(): one decision per rule, the same for the same evidence, and the veto has the last word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.decide import decide as module
from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.decide.catalogue import CATALOGUE, CATALOGUE_VERSION, EXCLUDABLE_RULES, RESULT_CHANGING
from planopt_assets.decide.decide import cannot_tell, decide
from planopt_assets.decide.knobs import knob
from planopt_assets.decide.materiality import TRIAL_SHARE
from planopt_assets.decide.rules import RULES
from planopt_assets.model.decision import Decision
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs
from planopt_assets.validate.judge_rules import Rules
from planopt_tests.decide.cases import MAX_BYTES, OPEN_COST, SHUFFLE, WORKED
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

SetRules = Callable[..., None]
PROPOSAL = decide(WORKED, Knobs())[0]
LARGE = 10**9  # ns saved: always worth a trial of the worked query


def proposing(settings: dict[str, str], saved_cpu_ns: int = LARGE) -> Callable[[Evidence], Answer]:
    return lambda evidence: propose(settings, "because", saved_cpu_ns=saved_cpu_ns, arithmetic={"n": 1})


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> SetRules:
    """Puts other rules in the place of planopt's own."""

    def set_rules(*answers: Callable[[Evidence], Answer]) -> None:
        monkeypatch.setattr(module, "RULES", tuple((f"rule_{n}", answer) for n, answer in enumerate(answers)))

    return set_rules


# One decision per rule


def test_every_rule_gets_one_decision_in_the_order_of_the_rules() -> None:
    assert [d.rule for d in decide(WORKED, Knobs())] == [name for name, _ in RULES]


def test_a_query_whose_result_may_depend_on_the_plan_gets_no_proposal_and_is_told_why() -> None:
    dependent = replace(WORKED.executions[0], plan_dependent=("collect_list", "LIMIT without ORDER BY"))
    decisions = decide(replace(WORKED, executions=(dependent,)), Knobs())
    assert [d.rule for d in decisions] == [name for name, _ in RULES]
    assert {d.kind for d in decisions} == {"no_change"}
    assert {d.reason for d in decisions} == {
        "not tunable: its result may depend on the plan (LIMIT without ORDER BY, collect_list)"
    }


def test_a_decision_names_its_evidence_and_keeps_what_the_rule_found() -> None:
    assert PROPOSAL.evidence_ids == ("obs-run-q-b0",)
    assert dict(PROPOSAL.arithmetic)["finding"] == PROPOSAL.reason
    assert (PROPOSAL.input_fingerprint, PROPOSAL.plan_fingerprint) == ("inp_1", "pln_1")
    assert PROPOSAL.catalogue_version == CATALOGUE_VERSION


def test_a_proposal_adds_to_the_policy_in_force(rules: SetRules) -> None:
    rules(proposing({SHUFFLE: "2"}))
    (decision,) = decide(replace(WORKED, policy=Policy.of({OPEN_COST: "65536"})), Knobs())
    assert decision.policy_before == Policy.of({OPEN_COST: "65536"})
    assert decision.policy_after == Policy.of({OPEN_COST: "65536", SHUFFLE: "2"})


# Worth a trial together. The worked query costs 3 s


def test_a_small_proposal_is_not_tried_by_itself(rules: SetRules) -> None:
    rules(proposing({SHUFFLE: "2"}, 80_000_000))  # 2.7 %
    (alone,) = decide(WORKED, Knobs())
    assert (alone.kind, alone.policy_after, alone.expected_gain_cpu_ns) == ("no_change", ORIGINAL, 0)
    assert alone.reason == "not worth a trial: would save 80 ms of about 3000 ms CPU, below 3%"
    assert dict(alone.arithmetic)["saving_cpu_ns_per_run"] == 80_000_000


def test_one_that_is_refused_by_itself_does_not_count_for_the_other(rules: SetRules) -> None:
    rules(proposing({SHUFFLE: "2"}, 40_000_000), proposing({OPEN_COST: "65536"}, 65_000_000))  # 1.3 % and 2.2 %
    few, packed = decide(WORKED, Knobs())
    assert few.reason == "not worth a trial: would save 40 ms of about 3000 ms CPU, below 2%"
    assert packed.reason == "not worth a trial: would save 65 ms of about 3000 ms CPU, below 3%"


@pytest.mark.parametrize("other_ns", [LARGE, 65_000_000], ids=["a large one", "as small a one"])
def test_a_small_proposal_rides_along_where_all_together_are_worth_a_trial(rules: SetRules, other_ns: int) -> None:
    rules(proposing({SHUFFLE: "2"}, 65_000_000), proposing({OPEN_COST: "65536"}, other_ns))
    assert [d.kind for d in decide(WORKED, Knobs())] == ["proposal", "proposal"]


def test_together_means_what_is_proposed_and_not_what_is_vetoed(rules: SetRules) -> None:
    rules(proposing({SHUFFLE: "2"}, 65_000_000), proposing({OPEN_COST: "65536"}))
    small, vetoed = decide(WORKED, Knobs(deny=(OPEN_COST,)))
    assert small.reason == "not worth a trial: would save 65 ms of about 3000 ms CPU, below 3%"
    assert vetoed.reason.startswith("vetoed: ")


def test_no_trial_is_asked_for_less_than_the_judge_accepts() -> None:
    assert Rules().min_gain == TRIAL_SHARE


def test_no_change_keeps_the_policy_in_force(rules: SetRules) -> None:
    rules(lambda evidence: no_change("nothing to do", {"seen": 3}))
    (decision,) = decide(WORKED, Knobs())
    assert (decision.kind, decision.reason, decision.policy_after) == ("no_change", "nothing to do", ORIGINAL)
    assert decision.arithmetic == (("finding", "nothing to do"), ("seen", 3))


def test_cannot_tell_is_a_decision_too() -> None:
    decision = cannot_tell("q", "it failed", policy=ORIGINAL, inputs="inp_1", evidence_ids=("obs-1",))
    assert (decision.kind, decision.reason, decision.evidence_ids) == ("cannot_tell", "it failed", ("obs-1",))
    assert decision.policy_before == decision.policy_after == ORIGINAL


def test_proposals_are_the_decisions_that_propose() -> None:
    decisions = (PROPOSAL, replace(PROPOSAL, kind="no_change"), replace(PROPOSAL, kind="cannot_tell"))
    assert [d.proposes for d in decisions] == [True, False, False]


# The veto


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.ansi.enabled",
        "spark.sql.session.timeZone",
        "spark.sql.caseSensitive",
        "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles",
        "spark.sql.legacy.timeParserPolicy",
        "spark.sql.unknown",
        "spark.sql.codegen.wholeStage",
    ],
)
def test_a_setting_that_may_change_results_or_is_unknown_never_gets_through(rules: SetRules, name: str) -> None:
    rules(proposing({name: "1"}), proposing({SHUFFLE: "2", name: "1"}))
    for limits in (Knobs(), Knobs(allow=(name, SHUFFLE))):
        for decision in decide(WORKED, limits):
            assert (decision.kind, decision.policy_after) == ("no_change", ORIGINAL)
            assert decision.reason.startswith(f"vetoed: {name} ")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Knobs(deny=(SHUFFLE,)), "denied"),
        (Knobs(allow=(OPEN_COST,)), "not among the allowed"),
        (Knobs(pin=((SHUFFLE, "200"),)), "pinned"),
    ],
)
def test_what_the_workload_denies_does_not_allow_or_pins_is_vetoed(limits: Knobs, words: str) -> None:
    vetoed, *others = decide(WORKED, limits)
    assert (vetoed.kind, vetoed.policy_after, vetoed.expected_gain_cpu_ns) == ("no_change", ORIGINAL, 0)
    assert words in vetoed.reason
    assert others == [*decide(WORKED, Knobs())[1:]]


def test_what_the_workload_allows_gets_through() -> None:
    assert decide(WORKED, Knobs(allow=(SHUFFLE,), deny=(OPEN_COST,), pin=((MAX_BYTES, "1"),)))[0] == PROPOSAL


def test_a_veto_says_more_than_the_size_of_the_gain(rules: SetRules) -> None:
    rules(proposing({"spark.sql.ansi.enabled": "false"}, saved_cpu_ns=0))
    (decision,) = decide(WORKED, Knobs())
    assert decision.reason == "vetoed: spark.sql.ansi.enabled may change results"


def test_a_vetoed_decision_still_shows_what_the_rule_found(rules: SetRules) -> None:
    rules(proposing({"spark.sql.ansi.enabled": "false"}))
    arithmetic = dict(decide(WORKED, Knobs())[0].arithmetic)
    assert (arithmetic["finding"], arithmetic["n"], arithmetic["saving_cpu_ns_per_run"]) == ("because", 1, LARGE)


VALUES = st.one_of(
    st.integers(-(10**12), 10**12).map(str),
    st.sampled_from(["true", "false", "2.5", "", "1k", "any.Rule", *EXCLUDABLE_RULES]),
)
NAMES = st.sampled_from([*(k.name for k in CATALOGUE), *RESULT_CHANGING, "spark.sql.legacy.x", "spark.executor.memory"])
LIMITS = st.builds(
    Knobs,
    allow=st.lists(NAMES, max_size=3).map(tuple),
    deny=st.lists(NAMES, max_size=2).map(tuple),
    pin=st.lists(st.tuples(NAMES, VALUES), max_size=2).map(tuple),
)


@settings(deadline=None, max_examples=200)
@given(wanted=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), limits=LIMITS)
def test_whatever_a_rule_proposes_a_policy_holds_only_permitted_knobs_within_bounds(
    wanted: dict[str, str], limits: Knobs
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RULES", (("any_rule", proposing(wanted)),))
        (decision,) = decide(WORKED, limits)
    for name, value in decision.policy_after.settings:
        entry = knob(name)
        assert entry is not None
        assert entry.objection(value) is None
        assert not entry.opt_in or name in limits.allow
        assert name not in limits.deny
        assert name not in dict(limits.pin)
        assert not limits.allow or name in limits.allow


# The same evidence, the same decisions

IN_ANOTHER_PROCESS = """
from planopt_assets.decide.decide import decide
from planopt_assets.model.workload import Knobs
from planopt_tests.decide.cases import WORKED
for decision in decide(WORKED, Knobs()):
    print(decision.id, decision)
"""


def test_the_same_evidence_gives_the_same_decisions_byte_for_byte() -> None:
    assert repr(decide(WORKED, Knobs())) == repr(decide(WORKED, Knobs()))


def test_decisions_are_the_same_in_processes_with_different_hash_seeds() -> None:
    here = "".join(f"{d.id} {d}\n" for d in decide(WORKED, Knobs()))
    assert [output_of(IN_ANOTHER_PROCESS, hash_seed=seed) for seed in (1, 2)] == [here, here]


# The id of a decision


@pytest.mark.parametrize("factor", [0.2, 8.0])
def test_no_clock_but_the_cpu_of_the_stored_execution_plays_a_part_in_a_decision(factor: float) -> None:
    (execution,) = WORKED.executions
    times = {name: round(getattr(execution.counters, name) * factor) for name in ("wall_ns", "gc_ns")}
    slower = replace(execution, counters=replace(execution.counters, **times))
    assert decide(replace(WORKED, executions=(slower,)), Knobs()) == decide(WORKED, Knobs())


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "other words"},
        {"expected_gain_cpu_ns": 1},
        {"arithmetic": ()},
        {"evidence_ids": ("obs-other-run-q-b0",)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_id_does_not_depend_on_what_one_run_happened_to_measure(change: dict[str, Any]) -> None:
    assert replace(PROPOSAL, **change).id == PROPOSAL.id


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "no_change"},
        {"query_id": "other"},
        {"rule": "other_rule"},
        {"policy_before": Policy.of({SHUFFLE: "100"})},
        {"policy_after": Policy.of({SHUFFLE: "3"})},
        {"input_fingerprint": "inp_2"},
        {"plan_fingerprint": "pln_2"},
        {"catalogue_version": "knb_2"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_id_changes_with_what_was_decided_and_on_what(change: dict[str, Any]) -> None:
    other: Decision = replace(PROPOSAL, **change)
    assert other.id != PROPOSAL.id
