"""A call with a time limit. planopt must never block a user's job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from planopt_assets.errors import NativeUnusable

T = TypeVar("T")


def answer_within(seconds: float, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises. Raises `TimeoutError` if it takes longer than `seconds`.

    >>> answer_within(60, lambda: 6 * 7)
    42

    A read that hangs cannot be stopped. Its thread stays behind as a daemon, so the process can still end. A panic of a
    native library is no `Exception`: it becomes a typed error, so that no boundary to the user's job lets it pass.
    """
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # noqa: BLE001  # passed to the calling thread
            answer.set_exception(error)
        except BaseException as error:  # noqa: BLE001  # nobody interrupts this thread or ends it
            answer.set_exception(NativeUnusable.by(error))

    threading.Thread(target=work, name="planopt", daemon=True).start()
    return answer.result(seconds)
