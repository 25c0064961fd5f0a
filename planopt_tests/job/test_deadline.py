"""An answer in time, or none."""

from __future__ import annotations

import threading

import pytest

from planopt_assets.errors import NativeUnusable
from planopt_assets.job.deadline import answer_within
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast


def test_an_answer_in_time_is_handed_over() -> None:
    assert answer_within(60, lambda: [1, 2]) == [1, 2]


def test_an_error_in_time_is_raised_where_it_was_asked() -> None:
    def ask() -> None:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        answer_within(60, ask)


def test_an_answer_that_comes_too_late_is_an_error() -> None:
    never = threading.Event()
    with pytest.raises(TimeoutError):
        answer_within(0.01, never.wait)
    never.set()


def test_a_process_ends_although_an_answer_never_comes() -> None:
    code = (
        "import threading\n"
        "from planopt_assets.job.deadline import answer_within\n"
        "try:\n"
        "    answer_within(0.01, threading.Event().wait)\n"
        "except TimeoutError:\n"
        "    print('gave up')\n"
    )
    assert output_of(code) == "gave up\n"


def test_a_panic_of_a_native_library_arrives_as_a_typed_error() -> None:
    class PanicException(BaseException): ...

    def ask() -> None:
        raise PanicException("no runtime\nmore")

    with pytest.raises(NativeUnusable, match="PLN-308 native library: PanicException: no runtime"):
        answer_within(60, ask)
