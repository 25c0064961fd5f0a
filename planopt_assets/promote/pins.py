"""What a person may pin: settings of the catalogue within their bounds, or a policy the query already had; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planopt_assets.decide.knobs import objections
from planopt_assets.errors import PinRefused
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload import Knobs


def known_policy(query_id: str, policy_id: str, known: Iterable[Policy]) -> Policy:
    """A policy by its id, among those the query already had; `original` always exists."""
    if policy_id in ("original", ORIGINAL.id):
        return ORIGINAL
    found = next((p for p in known if p.id == policy_id), None)
    if found is None:
        raise PinRefused(
            f"the query never had a policy {policy_id}",
            where=f"query {query_id}",
            fix=f"take an id from `planopt why {query_id} --json`, or pin settings with `--set NAME=VALUE`",
        )
    return found


def refuse_unsafe(query_id: str, policy: Policy, limits: Knobs, verdicts: Sequence[Verdict]) -> None:
    """A person's choice outranks automation, not correctness: no setting that may change a result, no wrong result.

    What the workload file denies to automation a person may pin; what it pins for all queries stays pinned.
    """
    mine = Knobs(allow=tuple(name for name, _ in policy.settings), pin=limits.pin)
    if against := objections(policy, mine):
        raise PinRefused(
            against[0],
            where=f"query {query_id}",
            fix="pin settings of the knob catalogue, within their bounds; docs/using.md says how to change others",
        )
    last = next((v for v in reversed(verdicts) if v.policy == policy), None)
    if last is not None and last.results_equal is False:
        raise PinRefused(
            f"verdict {last.id} found another result under it: {last.reason}",
            where=f"query {query_id}",
            fix="pin another policy: a wrong result is no choice",
        )
