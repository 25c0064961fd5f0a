"""What people see after they changed a policy, and what their own jobs left behind; and `--version`."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from planopt_assets.model.policy import ORIGINAL
from planopt_tests.cli.conftest import Planopt
from planopt_tests.cli.stored_observations import write
from planopt_tests.promoted import chain, promote_by_hand
from planopt_tests.rows import FEWER

pytestmark = pytest.mark.fast

PIN = ("pin", "by_shop", "--set", "spark.sql.shuffle.partitions=64", "--reason", "measured there", "--by", "ada")


def row_of(said: str, query: str) -> str:
    return next(" ".join(line.split()) for line in said.splitlines() if line.startswith(query))


def test_after_a_pin_status_shows_what_was_pinned_and_why(folder: Path, planopt: Planopt) -> None:
    promote_by_hand(str(folder / "store"), *chain("by_shop", FEWER))
    assert "g1: shuffle.partitions=2" in row_of(planopt("status").out, "by_shop")
    assert planopt(*PIN).code == 0
    row = row_of(planopt("status").out, "by_shop")
    assert "g2 fixed: shuffle.partitions=64 pinned by ada: measured there" in row


def test_a_report_that_is_there_is_written_anew(folder: Path, planopt: Planopt) -> None:
    report = folder / ".planopt" / "report.html"
    promote_by_hand(str(folder / "store"), *chain("by_shop", FEWER))
    assert planopt(*PIN).code == 0
    assert not report.exists()
    planopt("report")
    for words, shown in ((("unpin", "by_shop"), "partitions=2"), (PIN, "=64"), (("rollback", "by_shop"), "reverted")):
        assert planopt(*words).code == 0
        assert shown in report.read_text()


def test_a_report_that_cannot_be_written_is_no_failure_of_the_change(
    folder: Path, planopt: Planopt, monkeypatch: pytest.MonkeyPatch
) -> None:
    planopt("report")

    def disk_is_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("planopt_assets.report.html.write_report", disk_is_full)
    said = planopt(*PIN)
    assert (said.code, said.out[:8]) == (0, "by_shop:")
    assert said.err.startswith("the report is not up to date: PLN-506")
    assert "shuffle.partitions=64" in planopt("status").out


def production(run: str, policy_id: str, status: str = "ok", note: str | None = None) -> dict[str, object]:
    known = {"execution_id": f"exe-{run}", "query_id": "by_shop", "purpose": "production", "action": "write"}
    return {**known, "policy_id": policy_id, "status": status, "note": note}


def test_why_tells_of_real_runs(folder: Path, planopt: Planopt) -> None:
    promote_by_hand(str(folder / "store"), *chain("by_shop", FEWER))
    assert planopt("why", "by_shop", "--json").facts["production"] == []
    runs = [("1", ORIGINAL.id), ("2", FEWER.id), ("3", FEWER.id, "failed", "no space left"), ("4", FEWER.id)]
    for one in runs:
        drawn = {"control": one[0] == "1"}
        write(folder, f"job-{one[0]}", {"runtime_counters": [production(*one) | drawn]})
    original, fewer = planopt("why", "by_shop", "--json").facts["production"]
    assert (original["policy"], original["runs"], original["failed"]) == ("original", 1, 0)
    assert original["last_failure"] is None
    assert (original["controls"], fewer["controls"]) == (1, 0)
    assert (fewer["policy_id"], fewer["policy"]) == (FEWER.id, "shuffle.partitions=2")
    assert (fewer["runs"], fewer["failed"], fewer["last_failure"]["note"]) == (3, 1, "no space left")
    assert fewer["since"] <= fewer["last_failure"]["at"] <= fewer["until"]
    text = planopt("why", "by_shop").out
    assert "production shuffle.partitions=2: 3 runs from 20" in text
    assert "1 failed; last at 20" in text
    assert "production original: 1 runs, 1 of them controls from 20" in text
    assert planopt("why", "cities", "--json").facts["production"] == []


def test_planopt_tells_its_version(planopt: Planopt) -> None:
    assert planopt("--version") == (0, f"planopt {version('planopt')}\n", "")
