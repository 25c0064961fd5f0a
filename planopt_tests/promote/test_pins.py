"""What a person may pin: a choice among what is safe."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.errors import PinRefused
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Knobs
from planopt_assets.promote.pins import known_policy, refuse_unsafe
from planopt_tests.promote.events import A, B, verdict_of

pytestmark = pytest.mark.fast

PARTITIONS = "spark.sql.shuffle.partitions"


def refused(policy: Policy, limits: Knobs = Knobs(), verdicts: tuple[Any, ...] = ()) -> str:  # noqa: B008  frozen
    with pytest.raises(PinRefused) as refusal:
        refuse_unsafe("q", policy, limits, verdicts)
    assert (refusal.value.code, refusal.value.where) == ("PLN-408", "query q")
    return refusal.value.what


@pytest.mark.parametrize(
    "limits", [Knobs(), Knobs(deny=(PARTITIONS,)), Knobs(allow=("spark.sql.files.openCostInBytes",))]
)
def test_a_person_may_pin_any_knob_whatever_automation_may_touch(limits: Knobs) -> None:
    refuse_unsafe("q", A, limits, [])


def test_a_person_may_pin_original() -> None:
    refuse_unsafe("q", ORIGINAL, Knobs(), [])


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("spark.sql.ansi.enabled", "false", "spark.sql.ansi.enabled may change results"),
        ("spark.sql.session.timeZone", "UTC", "spark.sql.session.timeZone may change results"),
        ("spark.sql.legacy.timeParserPolicy", "LEGACY", "spark.sql.legacy.timeParserPolicy may change results"),
        ("spark.driver.memory", "8g", "spark.driver.memory is not in the knob catalogue"),
    ],
)
def test_what_may_change_a_result_or_is_no_knob_cannot_be_pinned(name: str, value: str, why: str) -> None:
    assert refused(Policy.of({name: value})) == why
    assert refused(Policy.of({PARTITIONS: "8", name: value})) == why


@pytest.mark.parametrize("value", ["0", "-1", "eight", "", "8 "])
def test_a_value_out_of_bounds_cannot_be_pinned(value: str) -> None:
    assert refused(Policy.of({PARTITIONS: value})).startswith(f"{PARTITIONS}={value} is ")


def test_what_the_workload_pins_for_all_queries_stays_pinned() -> None:
    assert refused(A, Knobs(pin=((PARTITIONS, "200"),))) == f"{PARTITIONS} is pinned in the workload file"


def test_a_policy_with_a_wrong_result_cannot_be_pinned() -> None:
    wrong = verdict_of(A, outcome="reject", results_equal=False, reason="3 rows differ")
    assert (
        refused(A, verdicts=(wrong,))
        == f"verdict ver-1-q-{A.id[4:]} found a different result under this policy: 3 rows differ"
    )
    refuse_unsafe("q", B, Knobs(), [wrong])
    refuse_unsafe("q", A, Knobs(), [wrong, verdict_of(A, 2)])  # the last word


def test_a_policy_that_was_only_slower_may_be_pinned() -> None:
    refuse_unsafe("q", A, Knobs(), [verdict_of(A, outcome="reject")])


def test_a_policy_is_known_by_its_id() -> None:
    assert known_policy("q", A.id, [A, B]) == A
    assert known_policy("q", B.id, [A, B]) == B
    assert known_policy("q", "original", []) == known_policy("q", ORIGINAL.id, []) == ORIGINAL


def test_a_policy_the_query_never_had_is_refused() -> None:
    with pytest.raises(PinRefused, match="the query never had a policy pol_nothing"):
        known_policy("q", "pol_nothing", [A])
