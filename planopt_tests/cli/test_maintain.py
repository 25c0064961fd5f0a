"""`planopt maintain`: one wish at a time, on a table of the workload file, and only where that file allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_tests.cli.conftest import Planopt

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("words", [("--apply", "--undo"), ("--undo", "--vacuum"), ("--apply", "--hours", "200")])
def test_two_wishes_at_once_are_refused(planopt: Planopt, words: tuple[str, ...]) -> None:
    said = planopt("maintain", "sales", *words)
    assert (said.code, "give one of --apply, --undo and --vacuum" in said.err) == (2, True)


def test_a_table_that_the_workload_file_does_not_have_is_named_with_those_it_has(planopt: Planopt) -> None:
    said = planopt("maintain", "sale")
    assert said.code != 0
    assert "has no table sale" in said.err
    assert "use one of: sales, shops" in said.err


@pytest.mark.parametrize("wish", ["--undo", "--vacuum"])
def test_a_table_that_planopt_may_not_write_is_left_alone_and_the_refusal_is_kept(
    planopt: Planopt, folder: Path, wish: str
) -> None:
    log = folder / "data" / "sales" / "_delta_log"
    before = sorted(log.iterdir())
    said = planopt("maintain", "sales", wish, "--by", "ada")
    assert (said.code != 0, "PLN-602" in said.err) == (True, True)
    assert sorted(log.iterdir()) == before
    actions = planopt("why", "sales", "--json").facts["actions"]
    assert [(a["status"], "PLN-602" in a["reason"]) for a in actions] == [("refused", True)]
