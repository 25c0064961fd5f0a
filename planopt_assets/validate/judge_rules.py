"""All thresholds of the judge and the race. A verdict stores each threshold that it used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds. Two paths lead to an accept: counters that the clocks confirm, and the clocks alone."""

    # the clocks alone
    confidence: float = 0.999  # of the interval, at each look
    min_gain: float = 0.03  # the whole interval must show more than this
    min_pairs: int = 6
    look_every: int = 3  # pairs from one look to the next
    max_pairs: int = 18
    # counters that the clocks confirm
    work_gain: float = 0.10  # every run of the candidate does this much less work than any run of the baseline
    work_gain_nothing_more: float = 0.03  # the same where no counter is higher: then no price can flip the sign
    confirm_error: float = 0.05  # error budget: chance, over all looks, that clocks confirm a gain that does not exist
    confirm_pairs: int = 3
    # guards
    wall_limit: float = 1.05  # the clock may not get slower, whatever the objective
    bytes_limit: float = 1.02
    shuffle_limit: float = 1.10
    memory_limit: float = 2.0
    tasks_limit: float = 2.0
    gc_limit: float = 2.0
    slack_bytes: int = 1 << 20  # a smaller difference in bytes is ignored
    slack_tasks: int = 8
    slack_gc_ns: int = 500_000_000  # one collection more or less is chance
    noise_limit: float = 0.5  # spread of the baseline from run to run; above it nothing is judged
    # giving up
    reject_unchanged: bool = True  # a candidate with the baseline's plan and counters is the baseline
    hopeless: float = 0.90  # confidence that there is no gain, enough to stop early
    foresight_pairs: int = 5  # from here on, a candidate that cannot be settled by `max_pairs` is given up
    timeout_factor: float = 2.0  # of the slowest baseline run of the binding
    timeout_floor_s: float = 10.0
    repeats: int = 2  # of an execution or round that was disturbed from outside
