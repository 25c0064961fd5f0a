"""How a run ends: 3 for a regression, else 4 for a query that failed, else 5 for one the budget did not reach."""

from __future__ import annotations

import pytest
import typer

from planopt_assets.cli.command import Read
from planopt_assets.cli.loop import exit_as_it_went
from planopt_assets.loop.standing import Standing
from planopt_tests.memory_snapshot import MemorySnapshot
from planopt_tests.rows import FEWER, artifact, candidate, decision, promotion, standing, verdict

pytestmark = pytest.mark.fast

FINE = standing()
FAILED = standing(artifacts=[artifact("failed", error_code="PLN-207")])
REFUSED = standing(artifacts=[artifact("refused", error_code="PLN-101")])
UNREACHED = standing(candidates=[candidate(FEWER)])
CUT_SHORT = standing(decisions=[decision()], candidates=[candidate()], verdicts=[verdict()])  # nobody asked what else
REGRESSED = standing(active=promotion())  # without the verdict it names


def ended(*standings: Standing) -> int:
    """The exit code of a run over these."""
    found = {f"q{number}": one for number, one in enumerate(standings)}
    try:
        exit_as_it_went(Read(None, MemorySnapshot(), found), list(found))
    except typer.Exit as end:
        return end.exit_code
    return 0


@pytest.mark.parametrize(
    ("standings", "code"),
    [
        ((FINE,), 0),
        ((FINE, REFUSED), 0),
        ((FINE, UNREACHED), 5),
        ((FINE, CUT_SHORT), 5),
        ((FINE, FAILED), 4),
        ((FAILED, UNREACHED), 4),
        ((FAILED, UNREACHED, REGRESSED), 3),
    ],
)
def test_the_worst_of_all_queries_decides(standings: tuple[Standing, ...], code: int) -> None:
    assert ended(*standings) == code


def test_every_reason_is_told_whatever_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    ended(FAILED, UNREACHED, REGRESSED)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "regression: q2: not_regressed: generation 1 has no accepted verdict in the store",
        "failed: q: PLN-207 query q: no space",
        "the budget of the run was spent before q: run again to continue",
    ]
