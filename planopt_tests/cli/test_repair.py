"""The commands on a store in which one chain is broken, and `planopt repair` on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_tests.cli.conftest import Planopt

pytestmark = pytest.mark.fast

PIN = ("--set", "spark.sql.shuffle.partitions=8", "--by", "ada")


@pytest.fixture
def damaged(folder: Path, planopt: Planopt) -> Path:
    """`cities` is pinned, and `by_shop` was pinned and rolled back; then the last commit got lost."""
    for words in (("pin", "cities", *PIN), ("pin", "by_shop", *PIN), ("rollback", "by_shop", "--by", "ada")):
        assert planopt(*words).code == 0
    log = folder / "store" / "active_policies" / "_delta_log"
    max(log.glob("*.json")).unlink()
    return folder / "store"


def test_status_shows_the_broken_query_and_the_others(damaged: Path, planopt: Planopt) -> None:
    said = planopt("status", "--json")
    assert said.code == 0
    by_shop, cities = said.facts["queries"]
    assert (by_shop["outcome"], by_shop["generation"], by_shop["state"]) == ("broken", 0, "original")
    assert by_shop["reason"].startswith("PLN-403 table active_policies: generation 2 (reverted by ada) of query 'by_s")
    assert (cities["generation"], cities["state"]) == (1, "fixed")
    assert planopt("status").code == 0


def test_run_leaves_the_broken_query_alone_and_exits_with_3(damaged: Path, planopt: Planopt) -> None:
    said = planopt("run", "by_shop")
    assert said.code == 3
    assert "Nothing to do" not in said.out
    assert said.err.startswith("regression: by_shop: not_regressed: PLN-403")
    plan = planopt("plan", "--json").facts["queries"]
    assert {q["id"]: q["to_do"] for q in plan} == {"by_shop": False, "cities": True}


def test_check_fails_for_the_broken_query(damaged: Path, planopt: Planopt) -> None:
    said = planopt("check", "--allow-unobserved", "--json")
    assert said.code == 3
    severe = [(g["query"], g["gate"]) for g in said.facts["gates"] if g["severe"]]
    assert severe == [("by_shop", "not_regressed")]


@pytest.mark.parametrize("words", [("pin", "by_shop", *PIN), ("unpin", "by_shop"), ("rollback", "by_shop")])
def test_the_broken_query_cannot_be_changed(damaged: Path, planopt: Planopt, words: tuple[str, ...]) -> None:
    said = planopt(*words)
    assert (said.code, said.err[:7]) == (1, "PLN-403")
    assert "run `planopt repair`" in said.err


def test_the_others_can(damaged: Path, planopt: Planopt) -> None:
    assert planopt("rollback", "cities").code == 0


def test_a_dry_run_exits_with_3_where_something_is_damaged(damaged: Path, planopt: Planopt) -> None:
    said = planopt("repair", "--dry-run")
    assert (said.code, said.out.splitlines()[-1]) == (3, "Nothing was changed: run `planopt repair`.")
    assert planopt("check", "--allow-unobserved").code == 3


def test_after_a_repair_everything_is_as_it_was_decided(damaged: Path, planopt: Planopt) -> None:
    said = planopt("repair")
    assert said.code == 0
    table, lost, end = said.out.splitlines()
    assert table == "active_policies: 3 rows kept, none lost"
    assert lost.startswith(f"  {damaged}/active_policies/part-")
    assert end.startswith(f"What was damaged is in {damaged}/_damaged/")
    assert planopt("check", "--allow-unobserved").code == 0
    by_shop, cities = planopt("status", "--json").facts["queries"]
    assert (by_shop["state"], by_shop["generation"], cities["state"]) == ("reverted", 2, "fixed")
    assert planopt("pin", "by_shop", *PIN).code == 0
    again = planopt("repair", "--json")
    assert (again.code, again.facts["damaged"], again.facts["moved_to"]) == (0, False, None)
