"""What only a cluster has: other versions, no executors, Python beside the executors, and limits by their number."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.same_ids import compared
from planopt_assets.defs import names
from planopt_assets.engine.sessions import same_versions
from planopt_assets.engine.sessions.ask_executors import Answers
from planopt_assets.engine.sessions.same_versions import first_difference, own_versions
from planopt_assets.errors import ClusterMismatch
from planopt_assets.loop.gates import CHECKS
from planopt_tests.cluster.probe import BURNED_S, MISSING_PYTHON, NOBODY, Probe
from planopt_tests.little_cluster import LittleCluster

# Those that no session opens for come first; the others share one.
ONE_AFTER_THE_OTHER = (
    *("another_python", "no_python", "no_memory"),
    *("same_versions", "counters", "cost_limits", "dagster_loop", "one_pass"),
)


@pytest.fixture(scope="module")
def answers(cluster: LittleCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    # It waits for a minute and does nothing: meanwhile the others are asked.
    nobody = Probe(tmp_path_factory.mktemp("nobody"), cluster.master, "no_master")
    folder = tmp_path_factory.mktemp("probe")
    found = Probe(folder, cluster.master, *ONE_AFTER_THE_OTHER).answers()
    alone = Probe(folder, "local[2]", "one_pass").answers()
    return {
        **nobody.answers(),
        **found,
        "alone": alone.get("one_pass", {}),
        "stderr": found["stderr"] + alone["stderr"],
    }


def answer_of(question: str, answers: dict[str, Any]) -> dict[str, Any]:
    assert question in answers, answers["stderr"]
    answer: dict[str, Any] = answers[question]
    return answer


@pytest.mark.soak
def test_another_python_on_the_executors_is_one_error_before_anything_runs(answers: dict[str, Any]) -> None:
    answer = answer_of("another_python", answers)
    assert answer["code"] == "PLN-221"
    assert "3.99" in answer["words"]


@pytest.mark.soak
def test_no_python_on_the_executors_is_the_same_error(answers: dict[str, Any]) -> None:
    answer = answer_of("no_python", answers)
    assert answer["code"] == "PLN-221"
    assert MISSING_PYTHON in answer["words"]


@pytest.mark.soak
def test_a_cluster_without_enough_memory_is_an_error_and_not_a_wait_for_ever(answers: dict[str, Any]) -> None:
    assert answer_of("no_memory", answers)["code"] == "PLN-222"


@pytest.mark.soak
def test_no_master_is_an_error_that_names_it(answers: dict[str, Any]) -> None:
    answer = answer_of("no_master", answers)
    assert (answer["code"], answer["where"]) == ("PLN-205", NOBODY)
    assert "no connection to the cluster" in answer["words"]


@pytest.mark.soak
def test_the_same_versions_open_a_session_with_all_cores(answers: dict[str, Any]) -> None:
    assert answer_of("same_versions", answers) == {"code": None, "cores": 2}


@pytest.mark.soak
def test_python_beside_the_executors_and_what_they_send_each_other_is_counted(answers: dict[str, Any]) -> None:
    counters = answer_of("counters", answers)
    assert counters["cpu_ns"] is not None
    assert counters["cpu_ns"] - counters["executor_cpu_ns"] >= 2 * BURNED_S * 1e9  # two tasks at least
    assert 0 < counters["shuffle_remote_bytes"] <= counters["shuffle_read_bytes"]


@pytest.mark.soak
def test_outside_the_hours_of_trials_a_run_on_a_cluster_tries_nothing(answers: dict[str, Any]) -> None:
    outside = answer_of("cost_limits", answers)["outside"]
    assert outside["plan"]["not_now"].startswith("trials run from 22:00 to 06:00 (UTC)")
    assert outside["plan"]["at_most_executor_s"] == 0.0
    assert (outside["trials"], outside["verdicts"], outside["generations"]) == (0, [], 0)
    assert outside["tried"] == outside["plan"]["not_now"]


@pytest.mark.soak
def test_executor_seconds_end_trials_that_wall_seconds_would_allow(answers: dict[str, Any]) -> None:
    limits = answer_of("cost_limits", answers)
    for name in ("too little", "enough"):  # for an experiment; the run has the same in both
        assert limits[name]["plan"]["executors"] == 2
        assert limits[name]["plan"]["at_most_executor_s"] == pytest.approx(1200.0)
        assert limits[name]["run_s"] == pytest.approx(600.0)  # two executors may take 1,200 executor-seconds
    stopped = ["inconclusive", "stopped by budget: only 0 of the 1 pairs needed were run"]
    assert limits["too little"]["verdicts"] == [stopped]
    assert limits["too little"]["generations"] == 0
    assert [outcome for outcome, _ in limits["enough"]["verdicts"]] == ["accept"]
    assert limits["enough"]["generations"] == 1


@pytest.mark.soak
def test_a_dagster_job_runs_the_loop_on_a_cluster(answers: dict[str, Any]) -> None:
    ran = answer_of("dagster_loop", answers)
    assert ran["success"] == [True, True]
    assert ran["materialized"] == [asset for assets in names.ASSETS.values() for asset in assets]
    assert ran["checks"] == dict.fromkeys(CHECKS, True)
    assert (ran["outcome"], ran["cores"], ran["in_force"]) == ("accept", 2, True)
    assert ran["by_run"]  # the second run had nothing to try


@pytest.mark.soak
def test_verdicts_ids_and_results_are_those_of_one_machine_where_they_should_be(answers: dict[str, Any]) -> None:
    """Two cores on either: queries, plans, scans, policies, arithmetic and results are the same.

    What differs names the cluster, the memory of its executors, or is an id made from these.
    """
    there, here = answer_of("one_pass", answers), answers["alone"]
    assert here, answers["stderr"]
    assert there["verdicts"] == here["verdicts"]
    assert [outcome for _, outcome in here["verdicts"]] == ["accept"]
    assert there["digests"] == here["digests"] != []
    found = compared(Path(there["store"]), Path(here["store"]))
    differing = {table: {line.rpartition(": ")[2] for line in facts["differing"]} for table, facts in found.items()}
    assert all(min(facts["rows"]) > 0 for facts in found.values())
    assert differing == {
        "plan_artifacts": {"input_fingerprint", "planning_env_hash", "bundle_hash", "bundle_parts", "settings"},
        "policy_decisions": {"decision_id"},
        "candidate_plans": {"candidate_id"},
        "scan_outcomes": set(),
        "input_tables": set(),
    }


# Without a cluster


@pytest.mark.fast
@pytest.mark.parametrize(
    ("name", "there", "words"),
    [
        ("spark", "4.1.0", "the driver has Spark 4.2.0, and far has 4.1.0"),
        ("python", "3.12.1", "the driver has Python 3.11.2, and far has 3.12.1"),
        ("python", "3.11.9", ""),
        ("delta", "4.3.0", "the driver has Delta 4.4.0, and far has 4.3.0"),
        ("delta", "", ""),
    ],
)
def test_each_version_is_compared(name: str, there: str, words: str) -> None:
    own = {"spark": "4.2.0", "python": "3.11.2", "delta": "4.4.0"}
    near, far = {"host": "a", **own}, {"host": "far", **own, name: there}
    assert first_difference(own, [far, near]) == words


@pytest.mark.fast
def test_what_some_executors_answer_counts_where_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"host": "far", **own_versions(), "spark": "4.1.0"}
    monkeypatch.setattr(same_versions, "ask_executors", lambda spark, question: Answers([other], complete=False))
    session = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://host:7077"))
    with pytest.raises(ClusterMismatch, match=r"PLN-221 .*far has 4\.1\.0"):
        same_versions.check_same_versions(session)  # type: ignore[arg-type]


@pytest.mark.fast
def test_the_driver_knows_its_own_versions() -> None:
    assert first_difference(own_versions(), [{"host": "here", **own_versions()}]) == ""
