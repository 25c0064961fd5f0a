"""Real executions of 20 queries against themselves, recorded once: nothing is accepted that is no gain."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.aa import REPETITIONS, STUDIES, Tally, main, tallied
from benchmarks.aa_sample import Sample, dump, load, resampled
from planopt_assets.validate.judge_rules import Rules

pytestmark = pytest.mark.fast

FILE = Path(__file__).with_name("aa_sample.json")
SAME, CLOCKS, WORK, GAIN, GAIN_AND_WORK = STUDIES


@pytest.fixture(scope="module")
def sample() -> Sample:
    return load(FILE)


@pytest.fixture(scope="module")
def tallies(sample: Sample) -> dict[str, Tally]:
    return {study.name: tallied(study, sample) for study in STUDIES}


def test_the_sample_holds_twenty_queries(sample: Sample) -> None:
    assert len(sample) == 20
    assert min(len(pairs) for pairs in sample.values()) >= Rules().min_pairs
    assert sum(map(len, sample.values())) >= 250


def test_a_query_against_itself_is_never_accepted(tallies: dict[str, Tally]) -> None:
    tally = tallies[SAME.name]
    assert (tally.experiments, tally.accepted, tally.rejected) == (20 * REPETITIONS, 0, 20 * REPETITIONS)
    assert tally.executions < 4.1  # one counted round tells, but where adaptive execution ran another way by chance


def test_clocks_alone_accept_a_query_against_itself_no_more_often_than_their_looks_allow(
    tallies: dict[str, Tally],
) -> None:
    tally = tallies[CLOCKS.name]
    assert tally.experiments == 20 * REPETITIONS
    assert tally.accepted <= 1  # five looks of 0.05 % each


def test_less_work_that_the_clocks_did_not_follow_is_accepted_no_more_often_than_its_looks_allow(
    tallies: dict[str, Tally],
) -> None:
    assert tallies[WORK.name].accepted <= Rules().error * 20 * REPETITIONS


def test_a_gain_of_thirty_percent_is_mostly_accepted_and_sooner_where_counters_show_it(
    tallies: dict[str, Tally],
) -> None:
    # Pairs of the same query differ by 5 % here, and by a sixth in some.
    assert tallies[GAIN_AND_WORK.name].accepted > tallies[GAIN.name].accepted > 20 * REPETITIONS / 2
    assert tallies[GAIN_AND_WORK.name].executions < tallies[GAIN.name].executions


def test_a_planted_gain_is_never_rejected_where_counters_show_it_and_else_once_in_a_hundred(
    tallies: dict[str, Tally],
) -> None:
    assert tallies[GAIN_AND_WORK.name].rejected == 0
    assert tallies[GAIN.name].rejected <= 0.01 * 20 * REPETITIONS  # the first pair hid it on both clocks: given up


def test_no_pair_comes_twice_in_one_experiment(sample: Sample) -> None:
    pairs = sample["tpch_q01"]
    drawn = list(resampled(pairs, random.Random(1)))
    sides = [{id(p.baseline), id(p.twin)} for p in drawn]
    assert sorted(map(sorted, sides)) == sorted(sorted({id(p.baseline), id(p.twin)}) for p in pairs)
    assert len({p.baseline.counters.cpu_ns for p in drawn} & {p.twin.counters.cpu_ns for p in pairs}) > 0  # exchanged


def test_a_sample_is_read_as_it_was_written(sample: Sample, tmp_path: Path) -> None:
    dump(sample, tmp_path / "again.json")
    assert load(tmp_path / "again.json") == sample
    assert (tmp_path / "again.json").read_bytes() == FILE.read_bytes()


@pytest.mark.parametrize(("accepted", "code"), [(0, 0), (1, 1)])
def test_the_command_fails_when_a_query_is_accepted_against_itself(capsys, monkeypatch, accepted, code) -> None:
    counted = {study.name: accepted if study is SAME else 400 for study in STUDIES}
    monkeypatch.setattr(
        "benchmarks.aa.tallied", lambda study, sample: Tally(study.name, 400, counted[study.name], 0, 0, 0.0, 0.0, 4.0)
    )
    assert main(["--sample", str(FILE)]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("20 queries x 20")
    assert len(lines) == 2 + len(STUDIES)
