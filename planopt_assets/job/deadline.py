"""An answer in time, or none: what a user's job asks of planopt must never hold the job up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def answer_within(seconds: float, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises; `TimeoutError` when it takes longer.

    >>> answer_within(60, lambda: 6 * 7)
    42

    Nothing can stop a read that hangs. Its thread is left behind, as a daemon, so that the process can still end.
    """
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001  # handed over to the thread that asked
            answer.set_exception(error)

    threading.Thread(target=work, name="planopt", daemon=True).start()
    return answer.result(seconds)
