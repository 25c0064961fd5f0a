"""All thresholds of the judge and the race. A verdict stores each threshold that it used."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds. Two paths lead to an accept: counters that the clocks confirm, and the clocks alone."""

    # errors
    error: float = 0.03  # chance that this trial accepts a policy without a gain, over both paths and all looks
    alone_share: float = 0.1  # of that error, for the clocks alone; the rest is for clocks that confirm counters
    confirmation_error: float = 0.2  # of a trial that confirms a policy: it puts nothing in force
    # the clocks alone
    min_gain: float = 0.03  # the whole interval must show more than this
    min_pairs: int = 6
    look_every: int = 3  # pairs from one look to the next
    max_pairs: int = 18
    # counters that the clocks confirm
    work_gain: float = 0.10  # every run of the candidate does this much less work than any run of the baseline
    work_gain_nothing_more: float = 0.03  # the same where no counter is higher: then no price can flip the sign
    confirm_pairs: int = 3
    # guards
    guard_error: float = (
        0.05  # chance that a clock at its limit passes, in the first trial; in later ones less, as above
    )
    wall_limit: float = 1.05  # the clock may not get slower, whatever the objective
    cpu_limit: float = 1.05  # the same for CPU if the objective is `bytes`
    cpu_limit_latency: float = 1.25  # time may be bought with some CPU
    bytes_limit: float = 1.25  # a runtime filter reads its small side twice, and files count whole, whatever is read
    shuffle_limit: float = 1.10
    memory_limit: float = 2.0  # of the largest task; infinite: no guard
    tasks_limit: float = 2.0
    gc_limit: float = 2.0
    slack_bytes: int = 1 << 20  # a smaller difference in bytes is ignored
    slack_spill_bytes: int = 0  # none for a policy; a layout changes the size of tasks, and clocks charge for it
    slack_memory_bytes: int = 64 << 20
    slack_tasks: int = 8
    slack_gc_ns: int = 500_000_000  # one collection more or less is chance
    noise_limit: float = 0.5  # spread of the baseline from run to run; above it nothing is judged
    # giving up
    reject_unchanged: bool = True  # a candidate with the baseline's plan and counters is the baseline
    hopeless: float = 0.90  # confidence that there is no gain, enough to stop early
    foresight_pairs: int = 3  # from here on, a candidate that cannot be settled by `max_pairs` is given up
    foresight_pairs_known: int = 4  # the same for what is no mere candidate: that it is worse is worth a pair more
    worth_gain: float = 0.05  # and one whose gain is smaller even if its mean is one standard error better; 0: any gain
    timeout_factor: float = 2.0  # of the slowest baseline run of the binding
    timeout_floor_s: float = 10.0
    outdone_factor: float = 1.5  # of the baseline's dearest run, in what the objective counts: no pair makes up for it
    outdone_floor_s: float = 2.0  # below it there is nothing to spare
    repeats: int = 2  # of an execution or round that was disturbed from outside

    @property
    def confirm_error(self) -> float:
        """Chance, over all looks, that clocks confirm a gain that counters show and that does not exist."""
        return self.error * (1 - self.alone_share)

    @property
    def alone_error(self) -> float:
        """Chance, over all looks, that clocks alone show a gain of `min_gain` that does not exist."""
        return self.error * self.alone_share

    @property
    def alone_looks(self) -> int:
        """How often clocks alone may decide: at 6, 9, 12, 15 and 18 pairs, 5 times."""
        return 1 + max(0, self.max_pairs - self.min_pairs) // self.look_every

    @property
    def confidence(self) -> float:
        """Of the interval with which clocks alone decide, at each look.

        >>> round(Rules().confidence, 6)  # 10 % of 3 %, over 5 looks, on one side of the interval
        0.9988
        """
        return 1 - 2 * self.alone_error / self.alone_looks

    @property
    def guard_confidence(self) -> float:
        """Of the interval of a guarded clock; its upper end must be within the limit.

        The guards of later trials must be surer too: whoever is tried often enough passes them by chance.

        >>> [round(rules.guard_confidence, 6) for rules in (Rules(), Rules().within(0.003), Rules().within(0.2))]
        [0.9, 0.99, 0.9]
        """
        return 1 - 2 * self.guard_error * min(1.0, self.error / Rules().error)

    def gives_up_at(self, *, shown: bool) -> int:
        """Pairs from which on foresight may end a trial.

        A policy in force or to be confirmed and a part to be left out get one pair more: there a clear rejection counts
        as much as a gain. For these, no gain is too small (`worth_gain`).

        >>> Rules().gives_up_at(shown=False), Rules().gives_up_at(shown=True)
        (3, 4)
        """
        return self.foresight_pairs_known if shown or not self.worth_gain else self.foresight_pairs

    def within(self, error: float) -> Rules:
        """The same rules for a trial that may err this often."""
        return replace(self, error=error)
