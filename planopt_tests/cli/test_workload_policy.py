"""`planopt workload-policy`, and what `status` and `export` say of it; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.loop.run import read_standings
from planopt_assets.loop.workload_policies import context_of
from planopt_assets.model.policy import Policy
from planopt_assets.model.workload import Workload
from planopt_assets.model.workload_policy import WHOLE_WORKLOAD
from planopt_assets.store.codecs.deciding import VERDICTS
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.workload import load_workload
from planopt_tests.cli.conftest import Planopt
from planopt_tests.conftest import make_tables, write_workload_file
from planopt_tests.loop.scripted_layouts import Observed
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER, verdict
from planopt_tests.store.written import WrittenStore

pytestmark = pytest.mark.fast


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three queries that nobody has run."""
    queries = "\n".join(
        f'  - {{id: q{n}, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop"}}' for n in range(3)
    )
    write_workload_file(make_tables(tmp_path, files=1), queries)
    return tmp_path


def test_nothing_in_common_is_said_and_is_no_error(planopt: Planopt) -> None:
    said = planopt("workload-policy")
    assert (said.code, said.out) == (0, "no setting helped more than half of the queries, and three at least\n")
    assert planopt("workload-policy", "--json").facts["workload_policy"] is None
    assert planopt("status", "--json").facts["workload_policy"] is None


def test_nothing_is_exported_for_all_that_was_not_accepted_on_the_whole(planopt: Planopt) -> None:
    said = planopt("export", "--workload-policy", "--format", "spark-defaults")
    assert said.code == 1
    assert "planopt workload-policy --try" in said.err


MORE = Policy.of({"spark.sql.shuffle.partitions": "8"})
IN_FORCE = {"q0": FEWER, "q1": FEWER, "q2": FEWER, "more": MORE}


def judged(folder: Path, outcome: str, reason: str) -> Workload:
    """Three queries with the same policy in force, a fourth with another value, a fifth that nobody has observed.

    The judge has said this of the policy of the three, on the four that were observed.
    """
    file = folder / "planopt.yaml"
    more = "".join(f'\n  - {{id: {name}, sql: "SELECT shop FROM sales"}}' for name in ("more", "new"))
    file.write_text(file.read_text().replace("\n  - {id: q0", f"{more}\n  - {{id: q0", 1))
    workload = load_workload(file)
    for name, policy in IN_FORCE.items():
        Observed(workload, workload.query(name), f"run-{name}")
        promote_by_hand(workload.store, *chain(name, policy))
    context, size = context_of(workload, read_standings(workload, snapshot=Snapshot(workload.store, workload.name)))
    trials = {f"tri-{name}": name for name in IN_FORCE}
    known = {"context_hash": context, "input_bytes": size, "trial_ids": list(trials), "reason": reason}
    row = VERDICTS.to_row(verdict(FEWER, outcome, query_id=WHOLE_WORKLOAD, **known))
    store = WrittenStore(workload)
    store.append("verdicts", row, run_id="run-all")
    for trial_id, name in trials.items():
        store.append("trials", {"trial_id": trial_id, "query_id": name}, run_id="run-all")
    return workload


@pytest.fixture
def accepted(folder: Path) -> Workload:
    return judged(folder, "accept", "cpu -30%")


def test_one_that_a_query_vetoed_is_not_exported_and_the_reason_is_said(folder: Path, planopt: Planopt) -> None:
    judged(folder, "reject", "veto of more: cpu_ns, 1.400")
    said = planopt("export", "--workload-policy")
    assert (said.code, said.out) == (1, "")
    assert "reject: veto of more: cpu_ns, 1.400" in said.err


def test_once_it_was_accepted_it_is_exported_once_and_each_query_with_what_differs(
    accepted: Workload, planopt: Planopt
) -> None:
    told = planopt("export", "--workload-policy", "--json")
    assert told.code == 0, told.err
    assert told.facts["workload_policy"]["policy"]["settings"] == dict(FEWER.settings)
    assert told.facts["workload_policy"]["gained"] == ["q0", "q1", "q2"]
    name = "spark.sql.shuffle.partitions"
    differs = {q["id"]: (q["settings"], q["without"]) for q in told.facts["queries"]}
    same = dict.fromkeys(("q0", "q1", "q2"), ({}, []))
    assert differs == {**same, "more": ({name: "8"}, []), "new": ({}, [name])}


@pytest.mark.parametrize(
    "command", [("pin", "more", "--policy", "original"), ("rollback", "more")], ids=["pin", "rollback"]
)
def test_what_a_person_has_set_back_to_original_stays_so(
    accepted: Workload, planopt: Planopt, command: tuple[str, ...]
) -> None:
    said = planopt(*command)
    assert said.code == 0, said.err
    told = planopt("export", "--workload-policy")
    name = "spark.sql.shuffle.partitions"
    assert f"-- more, generation 2: without {name}\nRESET {name};\nSELECT shop FROM sales;\nSET {name}=2;" in told.out


HINT = Policy.of(hints=["broadcast(join0.right shops)"])  # no query here has a join


@pytest.mark.parametrize("form", ["sql", "python", "json", "spark-defaults"])
def test_a_query_whose_own_policy_no_text_carries_has_the_settings_for_all_alone(
    accepted: Workload, planopt: Planopt, form: str
) -> None:
    promote_by_hand(accepted.store, *chain("q0", FEWER, FEWER.merged(HINT))[1:])
    for named in ((), ("q0",)):
        told = planopt("export", *named, "--workload-policy", "--format", form)
        assert told.code == 0, told.err
        assert "q0 has the settings for all alone: broadcast(join0.right shops) cannot be written" in told.err
        assert "not exported" not in told.err


def test_one_whose_own_policy_is_another_is_exported_as_original_and_named_it_is_an_error(
    accepted: Workload, planopt: Planopt
) -> None:
    promote_by_hand(accepted.store, *chain("more", MORE, MORE.merged(HINT))[1:])
    told = planopt("export", "--workload-policy")
    assert told.code == 0, told.err
    assert "more is exported as original: broadcast(join0.right shops) cannot be written" in told.err
    application = planopt("export", "--workload-policy", "--format", "spark-defaults")
    assert "more is exported as original, in comments only: " in application.err
    named = planopt("export", "more", "--workload-policy")
    assert (named.code, named.out) == (1, "")
    assert "PLN-504" in named.err


@pytest.mark.parametrize(
    ("form", "line"),
    [("spark-defaults", "spark.sql.shuffle.partitions 2"), ("sql", "SET spark.sql.shuffle.partitions=2;")],
)
def test_as_text_too(accepted: Workload, planopt: Planopt, form: str, line: str) -> None:
    told = planopt("export", "--workload-policy", "--format", form)
    assert told.code == 0, told.err
    assert line in told.out.splitlines()
    assert "8" in next(words for words in told.out.splitlines() if "more, generation 1" in words)


def test_the_policies_in_force_stay_whole(accepted: Workload, planopt: Planopt) -> None:
    """A policy must stand by itself: `tuned` and watch know nothing of one for all."""
    planopt("export", "--workload-policy")
    told = planopt("export", "--json")
    assert {q["id"]: q["settings"] for q in told.facts["queries"]} == {
        **{name: dict(policy.settings) for name, policy in IN_FORCE.items()},
        "new": {},
    }
