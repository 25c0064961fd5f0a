"""A second round over real Spark: what trials of an accepted policy showed leads to an addition, which is accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.loop import experiment
from planopt_assets.loop.decisions import decisions_for
from planopt_assets.loop.run import Run, read_standings
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Gain, Judgement
from planopt_assets.model.workload import Workload
from planopt_assets.validate.judge import judge
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.one_pass import BY_SHOP, run_all
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

PARTITIONS, PARALLEL = "spark.sql.shuffle.partitions", "spark.sql.adaptive.coalescePartitions.parallelismFirst"
FEWER = Policy.of({PARTITIONS: "2"})
WHOLE = Policy.of({PARTITIONS: "2", PARALLEL: "false"})


def fewer_partitions(evidence: Evidence) -> Answer:
    """Whatever the plan says, as long as nothing is set."""
    if evidence.setting(PARTITIONS) == "2":
        return no_change("they are few", {})
    return propose({PARTITIONS: "2"}, "there are many", saved_cpu_ns=10**9, arithmetic={})


def larger_reads(evidence: Evidence) -> Answer:
    """Only where a plan was seen to shuffle into two partitions: under the policy that was accepted before."""
    (execution,) = evidence.executions
    if [e.partitions for e in execution.exchanges] != [2] or evidence.setting(PARALLEL) == "false":
        return no_change("not yet", {})
    return propose({PARALLEL: "false"}, "the shuffle is small by now", saved_cpu_ns=10**9, arithmetic={})


def a_fifth_less(*pairs: Any, **how: Any) -> Judgement | None:
    """The judge, with a gain that no clock was asked for."""
    said = judge(*pairs, **how)
    return said and replace(said, gain=Gain("cpu", 0.8, 0.7, 0.9, 0.99))


@pytest.fixture(scope="module")
def done(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workload, Run]]:
    """One run in mode auto, with these two rules in the place of planopt's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decide_module, "RULES", (("fewer", fewer_partitions), ("larger", larger_reads)))
        patch.setattr(experiment, "judge", a_fifth_less)
        workload = workload_of(make_tables(tmp_path_factory.mktemp("rounds"), rows=40_000), [BY_SHOP], mode="auto")
        yield workload, run_all(workload)


def test_one_run_accepts_a_policy_and_then_an_addition_to_it(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    verdicts = StoredRows(workload.store, workload.name).rows("verdicts")
    told = {v["policy_id"]: (v["purpose"], v["outcome"], v["results_equal"]) for v in verdicts}
    assert told == {FEWER.id: ("try", "accept", True), WHOLE.id: ("add", "accept", True)}
    (addition,) = [v for v in verdicts if v["purpose"] == "add"]
    assert addition["reason"].startswith("beyond shuffle.partitions=2: ")
    assert addition["gain_ratio"] == pytest.approx(0.8 * 0.8)  # as compared with original


def test_the_addition_met_the_accepted_policy_and_not_original(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    trials = StoredRows(workload.store, workload.name).rows("trials")
    of_addition = [t for t in trials if "-x2-add-" in t["trial_id"]]
    assert {t["policy_id"] for t in of_addition} == {FEWER.id, WHOLE.id}
    assert {t["policy_id"] for t in trials if t not in of_addition} == {ORIGINAL.id, FEWER.id}
    assert len({t["trial_id"] for t in trials}) == len(trials)
    # The session is warm by then: the first run is that of the addition.
    assert [t["policy_id"] for t in of_addition if t["warm_up"]] == [WHOLE.id]
    assert {t["policy_id"] for t in trials if t["signals"]} == {FEWER.id, WHOLE.id}


def test_the_whole_is_in_force_and_nothing_is_left_to_do(done: tuple[Workload, Run]) -> None:
    workload, _ = done
    found = read_standings(workload)["by_shop"]
    assert found.active is not None
    assert (found.active.policy, found.settled) == (WHOLE, True)
    rows = StoredRows(workload.store, workload.name)
    before = {name: rows.table(name).num_rows for name in ("trials", "policy_decisions", "candidate_plans")}
    again = run_all(workload)
    assert not again.workspace.started
    assert {name: rows.table(name).num_rows for name in before} == before


def test_every_round_decides_the_same_from_the_stored_rows(done: tuple[Workload, Run]) -> None:
    workload, run = done
    found = run.standings()["by_shop"]
    rounds = {
        d.policy_before: [e.id for e in found.decisions if e.policy_before == d.policy_before] for d in found.decisions
    }
    assert list(rounds) == [ORIGINAL, FEWER, WHOLE]
    bases = {v.policy: v for v in found.verdicts}
    for policy, ids in rounds.items():
        again = decisions_for(workload, run.snapshot, found, bases.get(policy))
        assert [d.id for d in again] == ids
