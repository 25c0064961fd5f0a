"""A simulated year, made smaller: errors do not add up over nights, and gains are found in time."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from benchmarks.aa_sample import load
from benchmarks.year import KINDS, SAMPLE, Kind, Year, main, simulated
from benchmarks.year_life import Life
from benchmarks.year_noise import noises, normal
from benchmarks.year_trial import Truth
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.promotion import in_force
from planopt_assets.validate.error_budget import LIFE_ERROR

pytestmark = pytest.mark.fast

NOISES = noises(load(SAMPLE))
OF = {kind.name: kind for kind in KINDS}


def year(kind: str, noise: str = "normal", *, queries: int, nights: int) -> Year:
    return simulated(OF[kind], noise, NOISES[noise], queries=queries, nights=nights)


@pytest.mark.parametrize("noise", ["normal", "bursts", "recorded"])
def test_a_policy_without_a_gain_is_hardly_ever_in_force(noise: str) -> None:
    assert year("no gain", noise, queries=12, nights=30).ever <= 1 / 12


@pytest.mark.parametrize("noise", ["normal", "recorded"])
def test_exploring_many_options_adds_no_error(noise: str) -> None:
    """Eighteen candidates without a gain in thirty nights share the one error budget of their query."""
    found = year("no gain, explored", noise, queries=12, nights=30)
    assert found.ever <= 1 / 12
    assert found.accepts_a_night <= 1 / 360


def test_exploration_ends_once_the_error_budget_is_worth_no_trial() -> None:
    lives = [Life(Truth(), "cpu", 0, normal, random.Random(3), options=many).live(3) for many in (8, 16)]
    looked = [sum(bool(v.error_spent) for v in one.verdicts) for one in lives]
    assert looked == [8, 8]


@pytest.mark.parametrize("noise", ["normal", "recorded"])
def test_adding_to_an_accepted_policy_adds_no_error(noise: str) -> None:
    """Eight additions without a gain are tried from a policy with one, night after night, within the one budget."""
    found = year("no gain, rounds", noise, queries=8, nights=15)
    assert (found.ever, found.accepts_a_night) == (0.0, 0.0)


def added(addition: Truth, nights: int) -> Life:
    """A policy that saves a fifth, and what is tried beyond it."""
    return Life(Truth(0.8, 0.8), "cpu", 1, normal, random.Random(3), additions=2, addition=addition).live(nights)


def test_rounds_go_on_from_what_was_accepted_until_one_accepts_nothing() -> None:
    lived = added(Truth(0.8, 0.8), 2)
    assert [len(v.policy.parts) for v in lived.verdicts if v.accepted] == [1, 2, 3, 4, 5, 6, 6]
    assert [len(p.policy.parts) for p in lived.chain] == [6]
    assert lived.verdicts[-1].confirms  # all of it, against original
    assert lived.true(in_force(lived.chain)).cpu == pytest.approx(0.8**6)


def test_limits_do_not_compound_over_rounds() -> None:
    """Each addition has 1.9 times the tasks of what it is added to. Twice those of original is the limit."""
    dearer = Truth(0.6, 0.6, tasks=190)
    lived = Life(dearer, "cpu", 1, normal, random.Random("t0"), additions=1, addition=dearer).live(2)
    assert [len(p.policy.parts) for p in lived.chain] == [1]
    assert "guard tasks_of_original broken: 100 -> 361" in [v.reason for v in lived.verdicts]


def test_additions_are_tried_against_the_accepted_policy_within_the_budget_of_the_query() -> None:
    tried = [v for v in added(Truth(), 15).verdicts if not v.confirms]
    assert [v.purpose for v in tried[:2]] == ["try", "add"]
    assert {v.outcome for v in tried if v.purpose == "add"} <= {"reject", "inconclusive"}
    assert sum(v.error_spent or 0.0 for v in tried) <= LIFE_ERROR


def test_a_policy_that_is_worse_is_not_in_force_on_any_night() -> None:
    assert year("3 % worse", queries=12, nights=30).ever == 0.0


def test_time_is_not_bought_with_twice_the_cpu_in_any_number_of_nights() -> None:
    assert year("wall -40 %, CPU x2", queries=20, nights=60).ever == 0.0


@pytest.mark.parametrize("noise", ["normal", "recorded"])
def test_a_gain_of_fifteen_percent_is_mostly_in_force_within_a_week_and_stays(noise: str) -> None:
    found = year("15 % gain", noise, queries=20, nights=10)
    assert found.within_a_week >= 0.9
    assert found.at_the_end >= 0.9


def test_a_gain_of_thirty_percent_is_accepted_after_about_nine_executions_and_confirmed_after_seven() -> None:
    found = year("30 % gain", queries=20, nights=3)
    assert found.to_accept is not None
    assert found.confirming is not None
    assert (found.ever, found.at_the_end) == (1.0, 1.0)
    assert found.to_accept < 10
    assert found.confirming < 9


def life(truth: Truth, nights: int, candidates: int = 8) -> Life:
    return Life(truth, "cpu", candidates, normal, random.Random(3)).live(nights)


def test_whatever_a_query_tries_it_never_spends_more_than_its_budget() -> None:
    lived = life(Truth(), 120)
    tried = [v for v in lived.verdicts if not v.confirms]
    assert len(tried) > 20
    assert sum(v.error_spent or 0.0 for v in tried) <= LIFE_ERROR
    assert all((v.error_spent or 0.0) <= (v.error_available or 0.0) + 1e-12 for v in tried)
    shares = [v.error_available for v in tried]
    assert shares[0] == 0.03
    assert len(set(shares)) == len([v for v in tried if v.error_spent])


def test_a_policy_that_lost_its_gain_is_taken_back_by_the_trial_that_confirms_it() -> None:
    lived = Life(Truth(0.7, 0.7), "cpu", 1, normal, random.Random(3)).live(1)
    assert in_force(lived.chain) != ORIGINAL
    lived.truth = Truth(1.2, 1.2)
    for lived.night in (1, 2):
        lived._confirm()
    assert in_force(lived.chain) == ORIGINAL
    assert lived.chain[-1].reason.startswith("a later trial rejected it: ")


def test_the_command_prints_a_table_and_fails_where_an_aim_is_missed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["--queries", "2", "--nights", "2", "--noise", "normal", "--kind", "30 % gain"]
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| 30 % gain | normal | 100.0% | 100.0% | 100.0% |")
    impossible = Kind("30 % gain", Truth(0.7, 0.7), candidates=1, at_most=0.5)
    monkeypatch.setattr("benchmarks.year.KINDS", (impossible,))
    assert main(asked) == 1
    assert "missed" in capsys.readouterr().out


def test_history_lets_no_candidate_be_tried_again_on_tables_that_have_hardly_moved() -> None:
    """Without it, every candidate would be tried every night, and a gain would be found by trying often enough."""
    lived = life(Truth(1.2, 1.2), 29, candidates=1)  # rejected: not asked again before the tables have moved
    assert [v.outcome for v in lived.verdicts] == ["reject"]
    unclear = [v for v in life(Truth(0.96, 0.96), 9, candidates=1).verdicts if not v.confirms]
    assert all(later.stamp.second - v.stamp.second >= 3 * 86_400 for v, later in pairwise(unclear))
