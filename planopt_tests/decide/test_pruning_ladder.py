"""The pruning ladder: one rung at a time, up or down, from where the settings stand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planopt_assets.decide.catalogue import CATALOGUE
from planopt_assets.decide.pruning_ladder import LADDER, Selectivity, next_step
from planopt_assets.decide.rules.climb_pruning_ladder import climb_pruning_ladder
from planopt_assets.model.policy import Policy
from planopt_tests.decide.cases import FIXTURES, evidence_of, load

pytestmark = pytest.mark.fast

PICKY = Selectivity(20, 20_000_000, 20_000_000, 200_000, ("equality",), 1)
GREEDY = Selectivity(2_000, 2_000_000, 2_000_000, 2_000_000, ("equality", "range"), 1)
STATES = st.tuples(*[st.booleans()] * len(LADDER))
SEEN = st.builds(
    lambda files, read, left_out, wanted, families, filters: Selectivity(
        files, read + left_out, read, round(read * wanted), families, filters
    ),
    st.integers(1, 10_000),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.floats(0, 1),
    st.sampled_from([(), ("equality",), ("range",), ("pattern",), ("in_list", "range")]),
    st.integers(0, 2),
)


def test_a_picky_query_climbs_rung_by_rung_to_the_top() -> None:
    on, climbed = [False] * len(LADDER), []
    while step := next_step(on, PICKY):
        assert step.direction == "up"
        climbed.append(step.rung.name)
        on[LADDER.index(step.rung)] = True
    # What a filter from another table would leave out, only the join can tell: `enable_runtime_filters` looks there.
    assert climbed == [rung.name for rung in LADDER if rung.name != "runtime filters"]


def test_a_query_that_wants_everything_steps_down_rung_by_rung() -> None:
    on, left = [True] * len(LADDER), []
    while step := next_step(on, GREEDY):
        assert step.direction == "down"
        left.append(step.rung.name)
        on[LADDER.index(step.rung)] = False
    # Bloom filters cost nothing where files store none, so there is nothing to gain without them.
    assert left == ["runtime filters", "page statistics", "dictionaries", "row-group statistics"]


@given(STATES, SEEN)
def test_a_step_is_one_rung_that_serves_a_predicate_and_never_goes_back(
    on: tuple[bool, ...], seen: Selectivity
) -> None:
    step = next_step(on, seen)
    if step is None:
        return
    number = LADDER.index(step.rung)
    assert step.rung.serves(seen)
    assert on[number] == (step.direction == "down")
    moved = [*on[:number], not on[number], *on[number + 1 :]]
    again = next_step(moved, seen)
    assert again is None or again.direction == step.direction


def test_rows_that_the_reader_left_out_keep_every_rung() -> None:
    on = [True] * len(LADDER)
    assert next_step(on, replace(GREEDY, file_rows=2 * GREEDY.read_rows)) is None


def test_the_last_step_is_remembered_by_the_policy_in_force() -> None:
    evidence = evidence_of(
        load(FIXTURES / "climb_pruning_ladder" / "climbs_to_row_group_statistics_as_worked.yaml")["evidence"]
    )
    first = climb_pruning_ladder(evidence)
    assert first.kind == "proposal"
    second = climb_pruning_ladder(replace(evidence, policy=first.change))
    assert second.kind == "no_change"
    lower = replace(evidence, policy=Policy.of({**dict(first.change.settings), LADDER[1].knob: "false"}))
    assert dict(climb_pruning_ladder(lower).change.settings) == {LADDER[1].knob: "true"}


def test_every_rung_is_a_switch_of_the_catalogue() -> None:
    switches = {k.name for k in CATALOGUE if k.kind == "bool"}
    assert {rung.knob for rung in LADDER} <= switches
