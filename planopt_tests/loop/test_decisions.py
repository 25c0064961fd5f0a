"""What decide may remember: the rows that were stored when the inputs were observed, by commit and by no clock."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from planopt_assets.loop.decisions import history_of
from planopt_assets.model.promotion import Chain
from planopt_assets.model.stamp import Stamp
from planopt_assets.model.verdict import Verdict
from planopt_tests.promote.events import REGRESSED, A, accept, chain_of, verdict_of
from planopt_tests.rows import artifact, standing

pytestmark = pytest.mark.fast

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def stamp(sequence: int, hours: float) -> Stamp:
    return Stamp("run", NOON + timedelta(hours=hours), sequence)


OBSERVED = [replace(artifact(), stamp=stamp(10, 0))]


def judged(sequence: int, hours: float) -> Verdict:
    return replace(verdict_of(A), stamp=stamp(sequence, hours))


def remembered(verdict: Verdict, chain: Chain = ()) -> list[str | None]:
    found = history_of(standing(OBSERVED, past_verdicts=[verdict], chain=chain))
    return [past.counts_as for past in found.verdicts]


@pytest.mark.parametrize("hours", [-3, 0, 3])
def test_a_verdict_that_was_stored_before_is_known_whatever_its_clock_said(hours: float) -> None:
    assert remembered(judged(9, hours)) == ["accept"]


@pytest.mark.parametrize("hours", [-3, 0, 3])
def test_a_verdict_that_was_stored_later_is_not_known_whatever_its_clock_said(hours: float) -> None:
    assert remembered(judged(11, hours)) == []


@pytest.mark.parametrize("hours", [-3, 3])
@pytest.mark.parametrize(("sequence", "counts_as"), [(8, "reject"), (12, "accept")])
def test_so_is_what_was_taken_back(sequence: int, counts_as: str, hours: float) -> None:
    first, second = chain_of(accept(A), REGRESSED)
    chain = (replace(first, stamp=stamp(6, 0)), replace(second, stamp=stamp(sequence, hours)))
    assert remembered(judged(5, -9), chain) == [counts_as]


@pytest.mark.parametrize(("hours", "known"), [(-1, ["accept"]), (1, [])])
def test_rows_of_an_older_planopt_go_by_their_clocks(hours: float, known: list[str]) -> None:
    seen = [replace(artifact(), stamp=stamp(0, 0))]
    found = history_of(standing(seen, past_verdicts=[judged(0, hours)]))
    assert [past.counts_as for past in found.verdicts] == known
