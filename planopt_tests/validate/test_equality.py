"""Whole results are compared by digest: exact for exact types, with a tolerance for finite floating point alone."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.trial import Digest, FloatSummary
from planopt_assets.validate.equality import compare

pytestmark = pytest.mark.fast


def result(
    rows: int = 3,
    exact: str = "e",
    bits: str = "b",
    total: float = 1000.0,
    magnitude: float = 1000.0,
    single: bool = False,
    columns: str = "price double",
) -> Digest:
    return Digest(rows, exact, bits, (FloatSummary("price", total, magnitude, single),), columns=columns)


# The same


def test_the_same_digest_is_the_same_result() -> None:
    assert compare(result(), result()) == ("same", "")


def test_a_result_without_floating_point_is_the_same_to_the_bit() -> None:
    assert compare(Digest(3, "e", "b"), Digest(3, "e", "b")) == ("same", "")


def test_two_empty_results_are_the_same() -> None:
    assert compare(Digest(0, "None/None", "None/None"), Digest(0, "None/None", "None/None")) == ("same", "")


# The same but for the last digits


def test_a_sum_that_differs_in_the_last_digits_is_the_same_within_tolerance() -> None:
    added_in_another_order = result(bits="c", total=math.nextafter(1000.0, 2000.0))
    assert compare(result(), added_in_another_order) == (
        "same_within_tolerance",
        "floating point differs in the last digits",
    )


def test_the_tolerance_is_of_the_magnitude_not_of_a_total_that_cancels_out() -> None:
    # -1e12 and 1e12 add up to about nothing: 1e-9 of what was added is 2000.
    left, right = (result(bits=str(t), total=t, magnitude=2e12) for t in (0.0, 1999.0))
    assert compare(left, right)[0] == "same_within_tolerance"


def test_a_sum_of_32_bits_may_differ_by_one_unit_in_its_last_place() -> None:
    left, right = (result(bits=str(t), total=t, single=True) for t in (1000.0, 1000.0001))
    assert compare(left, right)[0] == "same_within_tolerance"
    assert compare(result(), result(bits="c", total=1000.0001))[0] == "different"


@pytest.mark.parametrize("sums", [(math.inf, math.inf), (math.nan, math.inf), (-math.inf, math.inf)])
def test_sums_that_overflowed_depend_on_the_order_of_rows_and_tell_nothing(sums: tuple[float, float]) -> None:
    overflowed = result(bits="c", total=sums[0], magnitude=sums[1])
    assert compare(result(total=math.inf, magnitude=math.inf), overflowed)[0] == "same_within_tolerance"


# Different


def test_one_row_more_is_a_different_result() -> None:
    assert compare(result(rows=1_000), result(rows=1_001)) == ("different", "1,000 rows expected, 1,001 found")


def test_one_row_fewer_is_a_different_result() -> None:
    assert compare(result(rows=3), result(rows=0)) == ("different", "3 rows expected, 0 found")


def test_another_value_in_an_exact_column_is_a_different_result() -> None:
    assert compare(result(), result(exact="f", bits="c")) == (
        "different",
        "same number of rows, different values",
    )


def test_null_in_the_place_of_zero_is_a_different_result() -> None:
    # The sums are the same; `exact` covers where any column is NULL, floating point too.
    zero, null = result(exact="hash of 000"), result(exact="hash of 001", bits="c")
    assert compare(zero, null)[0] == "different"


def test_a_total_beyond_tolerance_is_a_different_result() -> None:
    assert compare(result(), result(bits="c", total=1000.00001)) == (
        "different",
        "column price: sum 1000.0 expected, 1000.00001 found",
    )


def test_a_magnitude_beyond_tolerance_is_a_different_result() -> None:
    # 500 and 500 against 1,500 and -500: the same sum.
    assert compare(result(), result(bits="c", magnitude=2000.0)) == (
        "different",
        "column price: magnitude 1000.0 expected, 2000.0 found",
    )


def test_nan_in_the_place_of_a_number_is_a_different_result() -> None:
    # The sums leave it out; `exact` covers every value that is not a finite number.
    number, nan = result(exact="hash of finite"), result(exact="hash of NaN", bits="c")
    assert compare(number, nan)[0] == "different"


def test_next_to_zero_there_is_no_absolute_tolerance() -> None:
    nothing, little = (result(bits=str(t), total=t, magnitude=t) for t in (0.0, 9e-10))
    assert compare(nothing, little) == ("different", "column price: sum 0.0 expected, 9e-10 found")


def test_other_names_or_types_are_a_different_result() -> None:
    assert compare(result(), result(columns="cost double")) == (
        "different",
        "columns (price double) expected, (cost double) found",
    )


def test_digests_that_were_computed_in_different_ways_are_never_the_same() -> None:
    old = replace(result(), form=1)
    assert compare(old, result())[0] == "different"


@pytest.mark.parametrize("wrong", [0, 1])
def test_every_floating_point_column_is_looked_at(wrong: int) -> None:
    columns = [FloatSummary("a", 1.0, 1.0), FloatSummary("b", 1.0, 1.0)]
    other = [FloatSummary(c.column, 2.0, 2.0) if n == wrong else c for n, c in enumerate(columns)]
    sameness, why = compare(Digest(3, "e", "b", tuple(columns)), Digest(3, "e", "c", tuple(other)))
    assert sameness == "different"
    assert why.startswith(f"column {'ab'[wrong]}:")


# Either way round

DIGESTS = st.builds(
    result,
    rows=st.integers(0, 2),
    exact=st.sampled_from("ef"),
    bits=st.sampled_from("bc"),
    total=st.floats(-1e3, 1e3),
    magnitude=st.floats(0, 1e3),
    single=st.just(False),
)


@settings(deadline=None)
@given(DIGESTS, DIGESTS)
def test_it_does_not_matter_which_result_comes_first(left: Digest, right: Digest) -> None:
    assert compare(left, right)[0] == compare(right, left)[0]
