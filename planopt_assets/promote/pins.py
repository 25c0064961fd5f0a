"""What a person may pin: catalogue settings within their bounds, or a policy the query already had. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planopt_assets.decide.knobs import objections, persons_limits
from planopt_assets.errors import PinRefused
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload import Knobs


def known_policy(query_id: str, policy_id: str, known: Iterable[Policy]) -> Policy:
    """Find a policy by id among those the query already had. `original` always exists."""
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
    """Refuse a pin that may change results. A person outranks automation, but not correctness.

    A person may pin a knob that the workload file denies to automation. A knob that the file pins stays as it is.
    """
    if against := objections(policy, persons_limits(policy, limits)):
        raise PinRefused(
            against[0],
            where=f"query {query_id}",
            fix="pin settings of the knob catalogue, within their bounds; docs/using.md says how to change others",
        )
    last = next((v for v in reversed(verdicts) if v.policy == policy), None)
    if last is not None and last.results_equal is False:
        raise PinRefused(
            f"verdict {last.id} found a different result under this policy: {last.reason}",
            where=f"query {query_id}",
            fix="pin another policy: this one returns a wrong result",
        )
