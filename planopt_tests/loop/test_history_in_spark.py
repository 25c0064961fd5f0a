"""History over a real store: a policy judged on similar inputs is not tried again, and stays in force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.loop.run import read_standings
from planopt_assets.report.standing_facts import standing_facts
from planopt_tests.conftest import make_tables
from planopt_tests.one_pass import BY_SHOP, OnePass, run_all
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.spark

TEXT = str(BY_SHOP.sql)


def test_a_policy_in_force_stays_without_a_new_trial_while_its_table_grows(one_pass: OnePass, tmp_path: Path) -> None:
    workload = one_pass.copied(tmp_path, after="promote")
    first = read_standings(workload)["by_shop"]
    assert (first.outcome, standing_facts(first)["carried_over"]) == ("accept", False)
    reader = StoredRows(workload.store, workload.name)
    trials = reader.table("trials").num_rows

    # The same query in other letters: nothing to do at all.
    other = replace(
        workload,
        queries=(replace(workload.queries[0], sql="select s.shop, count(*) as n from sales s group by s.shop"),),
    )
    assert read_standings(other)["by_shop"].settled

    # One more commit: observed and decided again, not tried again, and in force as before.
    make_tables(tmp_path, files=1)
    assert read_standings(workload)["by_shop"].changes == ("sales v5 -> v6",)
    run_all(workload)
    second = read_standings(workload)["by_shop"]
    assert (second.outcome, standing_facts(second)["carried_over"], second.settled) == ("accept", True, True)
    assert second.active is not None
    assert (second.active.generation, second.active.policy) == (1, first.policy)
    assert reader.table("trials").num_rows == trials

    # A query that means something else starts anew.
    changed = replace(workload.queries[0], sql=TEXT.replace("GROUP", "WHERE shop > 3 GROUP"))
    assert not read_standings(replace(workload, queries=(changed,)))["by_shop"].observed
