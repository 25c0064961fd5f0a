"""One execution in a paired experiment, and the digest of the whole result it produced."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from planopt_assets.model.counters import Counters
from planopt_assets.model.execution import Execution
from planopt_assets.model.signals import Signals
from planopt_assets.model.stamp import NOT_STORED, Stamp

TrialStatus = Literal["ok", "timed_out", "failed", "tainted"]


DIGEST_FORM: Final = 2
"""How digests are computed now. Digests of different forms say nothing about each other."""


@dataclass(frozen=True, slots=True)
class FloatSummary:
    """The finite numbers in one floating-point column or nested place, summed so that last digits may differ."""

    column: str
    total: float
    magnitude: float  # sum of absolute values: the scale of the tolerance
    single: bool = False  # 32 bits: its last digit is worth more


@dataclass(frozen=True, slots=True)
class Digest:
    """A whole result in a few numbers: order-insensitive, NULL-aware, with floating point apart.

    `exact` covers every value at any depth, of floating point only NULL, NaN and infinities. `bits` covers floating
    point too, to the last bit; -0.0 is 0.0. `sequence` covers the place of every row; None: nobody asked. `columns`
    has all names and types.
    """

    rows: int
    exact: str
    bits: str
    floats: tuple[FloatSummary, ...] = ()
    sequence: str | None = None
    columns: str = ""
    form: int = DIGEST_FORM


class Counted:
    """A trial, of a policy or of a layout: what ran in it is an execution like any other."""

    __slots__ = ()
    id: str
    query_id: str
    policy_id: str
    binding: int
    counters: Counters | None

    @property
    def execution(self) -> Execution | None:
        """What ran; None where it did not get far enough to be counted."""
        if self.counters is None:
            return None
        return Execution(self.id, self.query_id, "trial", self.policy_id, self.binding, self.counters)


@dataclass(frozen=True, slots=True)
class Trial(Counted):
    """One execution of one binding under one policy; warm-ups and tainted ones are stored but never counted."""

    id: str
    policy_id: str
    round: int
    position: int
    binding: int
    warm_up: bool
    status: TrialStatus
    error: str = ""  # why it is not `ok`
    counters: Counters | None = None
    digest: Digest | None = None
    topology_hash: str | None = None  # of the plan it ended with
    query_id: str = ""
    seed: int | None = None  # the order of the rounds was drawn from it
    input_fingerprint: str | None = None
    signals: Signals | None = None  # of the first run of a candidate: what the next round decides from
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def has_warmed_up(self) -> bool:
        """A warm-up that came to its end, disturbed or not: no clock of it counts."""
        return self.warm_up and self.counters is not None


@dataclass(frozen=True, slots=True)
class TrialSignals:
    """What a trial showed of its plan. It shares the row of the trial, and is read only to decide from it."""

    trial_id: str
    signals: Signals | None


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial as it is stored: one row, two nouns, so that nobody reads signals by accident."""

    trial: Trial
    shown: TrialSignals

    @staticmethod
    def of(trial: Trial) -> TrialRow:
        return TrialRow(trial, TrialSignals(trial.id, trial.signals))
