"""A trial must be worth it before anything runs: worked numbers on both sides of every line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.decide.answer import Answer, propose
from planopt_assets.decide.materiality import immaterial
from planopt_assets.model.cost_model import GIVEN
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.signals import Stage
from planopt_tests.decide.cases import SHUFFLE, evidence_of, scanned, shuffled

pytestmark = pytest.mark.fast


def saving(seconds: float) -> Answer:
    return propose({SHUFFLE: "2"}, "because", saved_cpu_ns=round(seconds * 1e9), arithmetic={})


def clock(seconds: float, nodes: tuple[int, ...] = ()) -> Answer:
    return propose({SHUFFLE: "2"}, "because", saved_wall_ns=round(seconds * 1e9), arithmetic={}, nodes=nodes)


def for_latency(evidence: Evidence) -> Evidence:
    return replace(evidence, objective="latency")


def query(cpu_s: float, runs_per_day: float) -> Evidence:
    return evidence_of({"runs_per_day": runs_per_day, "executions": [{"cpu_s": cpu_s}]})


def test_half_a_second_of_three_every_hour_is_worth_a_trial() -> None:
    reason, arithmetic = immaterial(saving(0.48), query(3, runs_per_day=24))
    assert reason is None
    assert arithmetic == {
        "saving_cpu_ns_per_run": 480_000_000,
        "bound_cpu_ns": 3_000_000_000,
        "bound_wall_ns": 3_000_000_000,
        "query_cpu_ns": 3_000_000_000,
        "modelled_cpu_ns": 3_000_000_000,
        "modelled_wall_ns": 3_000_000_000,
        "runs_per_day": 24.0,
        "horizon_days": 30,
        "saving_cpu_ns_over_horizon": 345_600_000_000,
        "trial_cost_cpu_ns": 30_000_000_000,
        "floor_share": 0.02,
    }


def test_the_same_saving_twice_a_day_is_not() -> None:
    reason, arithmetic = immaterial(saving(0.48), query(3, runs_per_day=2))
    assert reason == "would save 28.8 s CPU in 30 days, the trial costs 30.0 s"
    assert arithmetic["saving_cpu_ns_over_horizon"] == 28_800_000_000


def test_a_saving_that_only_pays_the_trial_is_not_worth_it() -> None:
    assert immaterial(saving(0.5), query(3, runs_per_day=2))[0] is not None  # 0.5 x 2 x 30 = 30 s, the trial's cost
    assert immaterial(saving(0.501), query(3, runs_per_day=2))[0] is None


def test_below_two_percent_no_trial_can_tell_the_gain_from_noise_however_often_it_runs() -> None:
    reason, _ = immaterial(saving(0.0599), query(3, runs_per_day=100_000))
    assert reason == "would save 60 ms of about 3000 ms CPU, below 2%"


def test_two_percent_is_enough_to_be_told_from_noise() -> None:
    assert immaterial(saving(0.06), query(3, runs_per_day=100))[0] is None


# What was measured is the whole, and the prices share it out


def measured(cpu_s: float, modelled_s: float) -> Evidence:
    return evidence_of({"runs_per_day": 24, "executions": [{"cpu_s": modelled_s, "measured_cpu_s": cpu_s}]})


def test_a_saving_is_weighed_against_what_the_query_was_measured_to_cost() -> None:
    """Half a second is nothing of a query modelled at 28.5 s. It took 9.7 s."""
    assert immaterial(saving(0.554), query(28.5, runs_per_day=24))[0] is not None
    reason, arithmetic = immaterial(saving(0.554), measured(9.7, modelled_s=28.5))
    assert (reason, arithmetic["query_cpu_ns"], arithmetic["modelled_cpu_ns"]) == (None, 97 * 10**8, 285 * 10**8)
    assert arithmetic["trial_cost_cpu_ns"] == 97 * 10**9


def test_nothing_saves_more_than_was_measured() -> None:
    _, arithmetic = immaterial(saving(3), measured(0.7, modelled_s=6.4))
    assert arithmetic["saving_cpu_ns_per_run"] == 700_000_000


@pytest.mark.parametrize("cpu_s", [15, 4.9, 0.9])
def test_what_was_measured_is_believed_however_short_it_was_and_whatever_the_model_says(cpu_s: float) -> None:
    """No stored execution that decide goes by is the first of its JVM: each had a run before it."""
    assert immaterial(saving(0.021 * cpu_s), measured(cpu_s, modelled_s=0.2))[0] is None
    reason, arithmetic = immaterial(saving(0.019 * cpu_s), measured(cpu_s, modelled_s=0.2))
    words = f"would save {19 * cpu_s:.0f} ms of about {1000 * cpu_s:.0f} ms CPU, below 2%"
    assert (reason, arithmetic["query_cpu_ns"]) == (words, round(cpu_s * 10**9))


def test_the_bound_of_a_stage_is_its_share_of_what_was_measured() -> None:
    whole = with_stages(*STAGES)  # modelled at 5.7 s
    half = replace(
        whole,
        executions=tuple(replace(e, counters=replace(e.counters, cpu_ns=2_850_000_000)) for e in whole.executions),
    )
    _, arithmetic = immaterial(replace(saving(3), nodes=(7,)), half)
    assert (arithmetic["bound_cpu_ns"], arithmetic["query_cpu_ns"]) == (400_000_000, 2_850_000_000)


def test_nothing_saves_more_than_the_query_costs() -> None:
    _, arithmetic = immaterial(saving(10), query(3, runs_per_day=24))
    assert arithmetic["saving_cpu_ns_per_run"] == 3_000_000_000


def with_stages(*stages: Stage, cores: int = 16) -> Evidence:
    made = evidence_of({"cores": cores, "runs_per_day": 24, "executions": [{}]})
    return replace(made, executions=tuple(replace(e, stages=stages) for e in made.executions))


# 4 s in stage 0, 0.8 s in stage 1 beside it, 0.8 s in stage 2 that reads both.
STAGES = (
    Stage(0, (), tasks=8, rows=scanned(4.0), files=0, shuffle_partitions=1, nodes=(5,)),
    Stage(1, (), tasks=8, rows=scanned(0.8), files=0, shuffle_partitions=1, nodes=(7,)),
    Stage(2, (0, 1), tasks=8, rows=shuffled(0.8), files=0, shuffle_partitions=0, nodes=(0,)),
)


def test_a_saving_is_capped_by_the_stages_it_touches() -> None:
    reason, arithmetic = immaterial(replace(saving(3), nodes=(7,)), with_stages(*STAGES))
    assert reason is None
    assert (arithmetic["saving_cpu_ns_per_run"], arithmetic["bound_cpu_ns"]) == (800_000_000, 800_000_000)
    assert immaterial(replace(saving(3), nodes=(5,)), with_stages(*STAGES))[1]["saving_cpu_ns_per_run"] == 3 * 10**9


def test_where_latency_counts_a_stage_off_the_critical_path_is_not_worth_a_trial() -> None:
    reason, arithmetic = immaterial(replace(saving(3), nodes=(7,)), for_latency(with_stages(*STAGES)))
    assert reason == "can save at most 0 ms of about 700 ms by the clock, below 2%: it is not on the critical path"
    assert arithmetic["bound_wall_ns"] == 0


def test_where_latency_counts_a_stage_on_the_critical_path_is() -> None:
    reason, arithmetic = immaterial(replace(saving(3), nodes=(5,)), for_latency(with_stages(*STAGES)))
    assert reason is None
    # 3 s shared by 16 cores, 24 x 30 times; the trial is 10 runs of 0.7 s.
    assert arithmetic["saving_wall_ns_per_run"] == 187_500_000
    assert (arithmetic["saving_wall_ns_over_horizon"], arithmetic["trial_cost_wall_ns"]) == (135 * 10**9, 7 * 10**9)


def test_where_latency_counts_a_saving_is_capped_by_what_its_stages_add_to_the_clock() -> None:
    _, arithmetic = immaterial(clock(3, nodes=(5,)), for_latency(with_stages(*STAGES)))
    assert (arithmetic["saving_wall_ns_per_run"], arithmetic["bound_wall_ns"]) == (400_000_000, 400_000_000)


def test_idle_cores_that_help_are_worth_a_trial_where_latency_counts_although_no_cpu_is_saved() -> None:
    reason, arithmetic = immaterial(clock(0.1), for_latency(with_stages(*STAGES)))
    assert (reason, arithmetic["saving_cpu_ns_per_run"]) == (None, 0)
    assert (arithmetic["saving_wall_ns_per_run"], arithmetic["modelled_wall_ns"]) == (100_000_000, 700_000_000)


def test_where_latency_counts_the_saving_and_the_trial_are_weighed_by_the_clock() -> None:
    reason, _ = immaterial(clock(0.0139), for_latency(with_stages(*STAGES)))
    assert reason == "would save 14 ms of about 700 ms by the clock, below 2%"
    rare = replace(for_latency(with_stages(*STAGES)), runs_per_day=2.0)
    assert immaterial(clock(0.1), rare)[0] == "would save 6.0 s by the clock in 30 days, the trial costs 7.0 s"


def with_rows(rows: int) -> float:
    """Seconds that the given prices put at so many rows. A row counts 1 us where it is asked whether there is work."""
    return (GIVEN.query_ns + rows * GIVEN.row_ns) / 1e9


def test_a_query_that_is_all_planning_is_insensitive_however_often_it_runs() -> None:
    tiny = evidence_of({"runs_per_day": 1_000_000, "executions": [{"cpu_s": with_rows(12_000)}]})
    reason, _ = immaterial(saving(0.1), tiny)
    assert reason == "insensitive: its work is about 12 ms of 112 ms CPU, the rest is planning and start"


def test_a_query_with_a_little_more_work_is_not() -> None:
    small = evidence_of({"runs_per_day": 1_000_000, "executions": [{"cpu_s": 0.12}]})
    assert immaterial(saving(0.02), small)[0] is None


@pytest.mark.parametrize("measured_s", [0.14, 0.3])
def test_planning_that_took_a_little_longer_than_its_price_is_no_work(measured_s: float) -> None:
    """A query over 25 rows takes 0.15 s: no policy makes that less, for nearly all of it is planning and start."""
    reason, _ = immaterial(saving(0.1), measured(measured_s, modelled_s=with_rows(15_000)))
    assert reason == "insensitive: its work is about 15 ms of 115 ms CPU, the rest is planning and start"


@pytest.mark.parametrize("measured_s", [8, 0.301])
def test_what_was_measured_beyond_planning_is_work_although_the_model_knows_nothing_of_it(measured_s: float) -> None:
    """100,000 rows of one file in 2 tasks are about 15 ms of work. A regular expression takes 8 s for them."""
    assert immaterial(saving(0.1 * measured_s), measured(measured_s, modelled_s=with_rows(15_000)))[0] is None


def test_planning_is_as_dear_as_the_fitted_prices_say() -> None:
    slow = replace(GIVEN, query_ns=3 * GIVEN.query_ns)
    above = measured(0.8, modelled_s=with_rows(15_000))
    assert immaterial(saving(0.1), above)[0] is None
    reason, _ = immaterial(saving(0.1), replace(above, prices=slow))
    assert reason == "insensitive: its work is about 15 ms of 315 ms CPU, the rest is planning and start"


def test_each_binding_has_to_be_planned() -> None:
    two = evidence_of({"runs_per_day": 1_000_000, "executions": [{"cpu_s": with_rows(15_000)}] * 2})
    assert str(immaterial(saving(0.1), two)[0]).startswith("insensitive: its work is about 30 ms of 230 ms")


def test_all_bindings_count_as_one_run() -> None:
    two = evidence_of({"executions": [{"cpu_s": 1}, {"cpu_s": 2}]})
    assert immaterial(saving(0.48), two) == immaterial(saving(0.48), query(3, runs_per_day=24))
