"""What a trial of a layout measured on a clone, query by query, and whether the workload as a whole gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planopt_assets.model.counters import Counters
from planopt_assets.model.stamp import NOT_STORED, Stamp
from planopt_assets.model.trial import Counted, Digest, TrialStatus
from planopt_assets.model.verdict import Criterion, Outcome


@dataclass(frozen=True, slots=True)
class LayoutTrial(Counted):
    """One execution of one query in the experiment on a layout; `layout` tells the clone from the table itself."""

    id: str
    proposal_id: str
    table: str
    query_id: str
    policy_id: str
    layout: bool  # True: it read the clone with the new layout
    round: int
    position: int
    binding: int
    warm_up: bool
    status: TrialStatus
    error: str = ""  # why it is not `ok`
    counters: Counters | None = None
    digest: Digest | None = None
    topology_hash: str | None = None
    seed: int | None = None
    stamp: Stamp = field(default=NOT_STORED, compare=False)


@dataclass(frozen=True, slots=True)
class MeasuredRead:
    """One query under the old and the new layout as the trial measured it, beside what was predicted.

    >>> read = MeasuredRead("q1", 24.0, "accept", files_before=120, files_after=4, predicted_files_after=2)
    >>> read.prediction_error
    1.0
    """

    query_id: str
    runs_per_day: float
    outcome: Outcome
    policy_id: str = ""  # the best arm on the new layout: the policy in force, or original
    ratio: float | None = None  # new over old, of what the objective counts
    low: float | None = None
    high: float | None = None
    saving_cpu_ns: int = 0  # of one run; below zero: the query loses
    files_before: int | None = None
    files_after: int | None = None
    bytes_before: int | None = None
    bytes_after: int | None = None
    predicted_files_after: int | None = None
    predicted_bytes_after: int | None = None
    note: str = ""

    @property
    def prediction_error(self) -> float | None:
        """How far the files that were read are from the prediction, as a share of the prediction."""
        if self.files_after is None or self.predicted_files_after is None:
            return None
        return self.files_after / max(1, self.predicted_files_after) - 1


@dataclass(frozen=True, slots=True)
class LayoutVerdict:
    """The judge's answer on one proposal: the workload's total at the declared rates, and a veto of those who lose.

    Where `subset` is set, only some files were tried: saving, rewrite and bytes are those of these files.
    """

    id: str
    proposal_id: str
    table: str
    table_id: str
    version: int
    outcome: Outcome
    reason: str
    results_equal: bool | None
    criteria: Sequence[Criterion] = ()
    measured: tuple[MeasuredRead, ...] = ()
    saving_cpu_ns_per_day: int = 0
    rewrite_cpu_ns: int = 0
    rewrite_wall_ns: int = 0
    bytes_rewritten: int = 0
    files_before: int = 0
    files_after: int | None = None  # of the whole table; None: only some of its files were tried
    break_even_days: float | None = None
    prediction_error: float | None = None  # median over the queries; None: not predicted, or not measured
    subset: str = ""  # what was tried where the table is too large; empty: all of it
    seed: int | None = None
    judge_version: str | None = None
    trial_ids: tuple[str, ...] = ()
    input_fingerprints: tuple[str, ...] = ()  # of the queries that were measured
    layout_id: str | None = None  # the change, whatever the version; None: stored by an older planopt, as the others
    readers: str | None = None  # for whom it was judged: `maintain/layout_memory.py`
    bytes_before: int | None = None
    together: tuple[str, ...] = ()  # layout ids, its own too, where several were tried at once
    error_available: float | None = None  # of the error budget of this action on this table
    error_spent: float | None = None
    stamp: Stamp = field(default=NOT_STORED, compare=False)

    @property
    def accepted(self) -> bool:
        return self.outcome == "accept"
