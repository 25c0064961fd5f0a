"""Sends one message to one destination. It never raises: the answer says what became of it."""

from __future__ import annotations

from collections.abc import Callable
from time import sleep

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from planopt_assets.alert.channels import CHANNELS, not_sent
from planopt_assets.errors import AlertNotSent
from planopt_assets.job.deadline import answer_within
from planopt_assets.model.alerts import Delivery, Destination, Message

TRIES = 3
LIMIT_S = 30.0
"""For all tries together. A server that sends one byte at a time would otherwise hold the sender for ever. A tick of a
sensor begins its last message within 20 s, and Dagster ends it after 60."""


def send(destination: Destination, message: Message, pause: Callable[[float], None] = sleep) -> Delivery:
    """What became of the message. A failure that may pass is tried again after 0.5 and 1 s, any other is not."""
    tried = 0

    def count(state: RetryCallState) -> None:
        nonlocal tried
        tried = state.attempt_number

    tries = Retrying(
        stop=stop_after_attempt(TRIES),
        wait=wait_exponential(multiplier=0.5),
        retry=retry_if_exception(lambda error: isinstance(error, AlertNotSent) and error.passing),
        before=count,
        sleep=pause,
        reraise=True,
    )
    error = ""
    try:
        answer_within(LIMIT_S, lambda: tries(CHANNELS[destination.kind], destination, message))
    except AlertNotSent as failure:
        error = str(failure)
    except TimeoutError:
        error = str(not_sent(destination, f"no answer within {LIMIT_S:g} s"))
    except Exception as failure:  # noqa: BLE001  # the boundary: a destination may be wrong in ways that no library names
        error = str(not_sent(destination, type(failure).__name__))  # its text may be the secret
    return Delivery(destination.name, tried, error)
