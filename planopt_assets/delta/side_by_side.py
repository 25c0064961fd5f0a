"""The same call for many items at once, for calls that mostly wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
A = TypeVar("A")

THREADS = 16


def side_by_side(ask: Callable[[A], T], items: Iterable[A], threads: int = THREADS) -> list[T]:
    """The answers in the order of the items; the first error is raised.

    >>> side_by_side(lambda n: n * n, range(40))[-1]
    1521

    The threads are daemons, unlike those of an executor: a process does not wait for them when it ends.
    """
    waiting = list(enumerate(items))
    answers: dict[int, T] = {}
    errors: list[BaseException] = []

    def work() -> None:
        while waiting and not errors:
            try:
                place, item = waiting.pop(0)
            except IndexError:  # another thread took the last one
                return
            try:
                answers[place] = ask(item)
            except BaseException as error:  # noqa: BLE001  # raised in the calling thread
                errors.append(error)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(waiting)))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return [answers[place] for place in sorted(answers)]
