"""A verdict as people read it in Dagster: golden files in `golden/`."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_assets.loop.markdown import verdict_markdown
from planopt_assets.model.verdict import Criterion, Judgement
from planopt_assets.validate.judge import Pair, Rules, judge, results_equal
from planopt_tests.measured import MIB, counters
from planopt_tests.rows import FEWER, OTHER

pytestmark = pytest.mark.fast

GOLDEN = Path(__file__).parent / "golden"
NOISE = (1.00, 1.02, 0.99, 1.01, 0.98, 1.00, 1.03, 0.97, 1.01)


def judged(pairs: list[Pair]) -> Judgement:
    verdict = judge(pairs, objective="cpu", rules=Rules(), done=True)
    assert verdict is not None
    return verdict


def accepted() -> Judgement:
    """Two bindings, a third of the CPU saved on both."""
    return judged([Pair((counters(3), counters(1)), (counters(2 * n), counters(0.7 * n))) for n in NOISE])


def spilling() -> Judgement:
    """Half of the CPU saved, and it spills."""
    spill = {"disk_spill_bytes": 25 * MIB, "memory_spill_bytes": 80 * MIB}
    return judged([Pair((counters(3),), (counters(1.5 * n, **spill),)) for n in NOISE])


VERDICTS = {
    "accept": (FEWER, accepted()),
    "reject": (FEWER, spilling()),
    "wrong_result": (
        OTHER,
        Judgement("reject", "the result is not the same: 3 rows expected", False, (results_equal(False),), None, 0),
    ),
    "inconclusive": (OTHER, Judgement("inconclusive", "the baseline ran out of time", None, (), None, 0)),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_reads_like_this(name: str) -> None:
    policy, verdict = VERDICTS[name]
    assert f"{verdict_markdown(policy, verdict)}\n" == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "outcome"), [("accept", "accept"), ("reject", "reject")])
def test_the_goldens_show_what_the_judge_said(name: str, outcome: str) -> None:
    assert VERDICTS[name][1].outcome == outcome


def test_a_criterion_that_could_not_be_decided_shows_a_question_mark() -> None:
    unknown = Judgement("inconclusive", "why", None, (Criterion("tasks", None, 1, 2, "at most 2"),), None, 0)
    assert "| tasks | ? | 1 | 2 | at most 2 |  |" in verdict_markdown(FEWER, unknown)
