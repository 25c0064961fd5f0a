"""Every threshold of the judge and of the race, in one place; each is written into the verdicts it decided."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds. Two ways lead to an accept: counters that the clocks confirm, and the clocks alone."""

    # the clocks alone
    confidence: float = 0.999  # of the interval, at each of few looks
    min_gain: float = 0.03  # the whole interval must lie beyond this
    min_pairs: int = 6
    look_every: int = 3  # pairs from one look to the next
    max_pairs: int = 18
    # counters that the clocks confirm
    work_gain: float = 0.10  # every run of the candidate does so much less work than any run of the baseline
    work_gain_nothing_more: float = 0.03  # the same, where no counter is higher: then no price can be wrong
    confirm_error: float = 0.05  # chance, over all looks, that clocks confirm a gain that is none
    confirm_pairs: int = 3
    # guards
    wall_limit: float = 1.05  # the clock may not get slower, whatever the objective
    bytes_limit: float = 1.02
    shuffle_limit: float = 1.10
    memory_limit: float = 2.0
    tasks_limit: float = 2.0
    gc_limit: float = 2.0
    slack_bytes: int = 1 << 20  # below this, a difference in bytes is nothing
    slack_tasks: int = 8
    slack_gc_ns: int = 500_000_000  # one collection more or less is chance
    noise_limit: float = 0.5  # relative spread of the baseline from one run to the next; beyond it nothing is judged
    # giving up
    reject_unchanged: bool = True  # a candidate with the same plan and the same counters is the query as it is
    hopeless: float = 0.90  # confidence with which a gain must be excluded to stop early
    foresight_pairs: int = 5  # from here on, a trial that cannot settle by `max_pairs` is given up
    timeout_factor: float = 2.0  # of the slowest baseline run of the binding
    timeout_floor_s: float = 10.0
    repeats: int = 2  # of what was disturbed from outside
