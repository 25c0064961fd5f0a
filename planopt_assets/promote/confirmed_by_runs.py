"""Confirmation by the user's own runs: under the policy in force they are cheaper than control runs. Pure.

A control is a run of the same job that was drawn to run as original. It is compared with the runs under the policy next
to it, so that both saw the same days, tables and machines. Without a gain it is the dearer one in at most every second
case. So the number of controls that are dearer is a sign test, looked at when 4, 8 and 16 controls have run:

    controls           4        8        16
    dearer, at least   4        7        12
    by chance        6.3 %    3.5 %    3.8 %     in all at most 14 %

Whether runs are dearer than their controls is for watch to say. This only confirms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from planopt_assets.model.execution import Execution
from planopt_assets.model.promotion import Promotion

CLOCK = {"cpu": "executor_cpu_ns", "latency": "wall_ns", "bytes": "scan_bytes"}
"""By objective. Of a user's job the CPU of the driver is not known."""

LOOKS = {4: 4, 8: 7, 16: 12}  # controls -> how many of them must be dearer
LEAST = 2  # runs under the policy next to a control


def confirmed_by_runs(active: Promotion, ran: Sequence[Execution], objective: str) -> str:
    """In words that the runs confirm the policy in force. Empty if they do not, or not yet; `ran` is oldest first."""
    since = [r for r in ran if r.source == "production" and r.stamp.later_than(active.stamp)]
    usable = [r for r in since if r.status != "failed" and r.action != "other" and not r.disturbed]
    clock, found = CLOCK[objective], list[bool]()
    for alike in _by_kind(usable).values():
        found += _dearer_controls([r for r in alike if r.counter(clock)], active.policy.id, clock)
    for controls, least in LOOKS.items():
        if len(found) >= controls and (dearer := sum(found[:controls])) >= least:
            return f"{clock} of {dearer} of {controls} control runs is above that of the runs next to them"
    return ""


def _by_kind(ran: Sequence[Execution]) -> Mapping[tuple[object, ...], list[Execution]]:
    """Only runs that did the same are compared."""
    kinds: dict[tuple[object, ...], list[Execution]] = {}
    for run in ran:
        kinds.setdefault((*run.kind, run.binding, run.cores), []).append(run)
    return kinds


def _dearer_controls(ran: Sequence[Execution], policy_id: str, clock: str) -> list[bool]:
    """Of each control with runs next to it, whether it is dearer. A run is next to one control only: the nearest."""
    controls = [place for place, run in enumerate(ran) if run.control]
    beside: dict[int, list[int]] = {place: [] for place in controls}
    for place, run in enumerate(ran):
        if run.policy_id == policy_id and controls:
            nearest = min(controls, key=lambda control: (abs(control - place), control))
            beside[nearest].append(run.counter(clock) or 0)
    return [(ran[place].counter(clock) or 0) > median(costs) for place, costs in beside.items() if len(costs) >= LEAST]
