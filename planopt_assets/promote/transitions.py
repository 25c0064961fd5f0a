"""The state machine of a query's policy. An event gives the next generation or a refusal. Pure.

    candidate → verifying → accepted ──► in force ──► expired (schema, layout, engine, query changed)
                                │            │  └───► reverted (a regression, or a person's rollback)
    a person's pin ─────────► fixed          └──────► accepted (a better policy, or the same one proven elsewhere)

Two rules hold for every caller: a policy is in force only by an accepted verdict or by a person's pin, and automation
never changes a pin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planopt_assets.decide.knobs import objections
from planopt_assets.errors import NothingToChange, PolicyFixed, PromotionRefused, VerdictSpent, VerdictStale
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.promotion import GENESIS, Chain, Promotion, State, in_force
from planopt_assets.model.verdict import Verdict
from planopt_assets.model.workload import NO_LIMITS, SIMILAR, Knobs
from planopt_assets.promote.chain import before_the_pin, last_good, spent
from planopt_assets.promote.suspension import covered
from planopt_assets.promote.twice_taken_back import waiting

Target = Literal["last_good", "original"]


@dataclass(frozen=True, slots=True)
class Accept:
    """Put the policy of a verdict in force. `stored` holds all verdicts of the query, freshly read, oldest first."""

    verdict_id: str
    candidate_id: str
    inputs: str | None  # current input fingerprint
    stored: tuple[Verdict, ...]
    carried: frozenset[str] = frozenset()  # verdicts on similar inputs that a decision on the current ones relies on
    by_hand: bool = False
    limits: Knobs = NO_LIMITS  # of the workload file
    similar_within: float = SIMILAR  # of the workload file too


@dataclass(frozen=True, slots=True)
class Fix:
    """A person pins a policy. This needs no verdict."""

    policy: Policy
    reason: str
    who: str
    inputs: str = ""


@dataclass(frozen=True, slots=True)
class Unfix:
    """A person removes the pin. The policy accepted before the pin is in force again."""

    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class Revert:
    """Go back to the last good policy or to original, after a regression (`who` is None) or by a person."""

    to: Target
    reason: str
    who: str | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expire:
    """The evidence of the policy no longer applies."""

    reason: str
    evidence: tuple[str, ...] = ()


Event = Accept | Fix | Unfix | Revert | Expire


def next_generation(workload: str, query_id: str, chain: Chain, event: Event) -> Promotion:
    """Generation n + 1. Raises if the event is refused.

    >>> pinned = next_generation("demo", "q", (), Fix(Policy.of({"spark.sql.shuffle.partitions": "8"}), "why", "ada"))
    >>> pinned.generation, pinned.state, next_generation("demo", "q", (pinned,), Unfix("done", "ada")).policy.describe()
    (1, 'fixed', 'original')
    """
    where = f"query {query_id}"
    if chain and chain[-1].fixed and _automatic(event):
        raise PolicyFixed(
            f"generation {chain[-1].generation} is pinned by {chain[-1].who or 'a person'}: {chain[-1].reason}",
            where=where,
            fix=f"remove the pin with `planopt unpin {query_id}`",
        )
    link = _Link(workload, query_id, chain)
    match event:
        case Accept():
            return _accepted(link, event, where)
        case Fix():
            if chain and chain[-1].fixed and chain[-1].policy == event.policy:
                raise _nothing(f"{event.policy.describe()} is already pinned", where)
            return link.made("fixed", event.policy, event.reason, who=event.who, inputs=event.inputs)
        case Unfix():
            if not (chain and chain[-1].fixed):
                raise _nothing("no policy is pinned", where)
            return link.restored("accepted", before_the_pin(chain), event.reason, event.who)
        case Revert():
            if in_force(chain) == ORIGINAL:
                raise _nothing("the query runs as original, there is nothing to roll back", where)
            states: tuple[State, ...] = ("accepted",) if event.who is None else ("accepted", "fixed")
            good = last_good(chain, states) if event.to == "last_good" else None
            state: State = "fixed" if good is not None and good.fixed else "reverted"
            return link.restored(state, good, event.reason, event.who, event.evidence)
        case Expire():
            if in_force(chain) == ORIGINAL:
                raise _nothing("the query runs as original, which does not expire", where)
            return link.restored("expired", None, event.reason, None, event.evidence)


def _automatic(event: Event) -> bool:
    """Whether a pin blocks the event. `Accept` is blocked even if a person started it: only `unpin` removes a pin."""
    return isinstance(event, Accept | Expire) or (isinstance(event, Revert) and event.who is None)


def _accepted(link: _Link, event: Accept, where: str) -> Promotion:
    """Needs the newest verdict of exactly this candidate, on the current inputs, and it must prove the policy.

    The store is not trusted: criteria and the knob catalogue are asked again, whatever the row says.
    """
    of_candidate = [v for v in event.stored if v.candidate_id == event.candidate_id and not v.confirms]
    verdict = next((v for v in of_candidate if v.id == event.verdict_id), None)
    look = f"run `planopt run {link.query_id}` and look at `planopt why {link.query_id}`"
    if verdict is None:
        raise PromotionRefused(
            f"the store has no verdict {event.verdict_id} of candidate {event.candidate_id}", where=where, fix=look
        )
    if doubt := verdict.judgement.doubt:
        raise PromotionRefused(
            f"verdict {verdict.id} is no proof: {doubt}",
            where=where,
            fix="only a verdict `accept` whose criteria all passed, equal results among them, can be promoted",
        )
    if against := objections(verdict.policy, event.limits):
        raise PromotionRefused(f"the policy of verdict {verdict.id} is vetoed: {against[0]}", where=where, fix=look)
    if verdict is not of_candidate[-1]:
        raise VerdictStale(
            f"verdict {event.verdict_id} is superseded by the newer {of_candidate[-1].id}",
            where=where,
            fix=look,
        )
    if not verdict.counts_beside(in_force(link.chain)):
        raise VerdictStale(
            f"verdict {event.verdict_id} compares with the whole policy, which is not in force", where=where, fix=look
        )
    if verdict.input_fingerprint != event.inputs and event.verdict_id not in event.carried:
        raise VerdictStale(f"verdict {event.verdict_id} was given on other inputs", where=where, fix=look)
    if event.verdict_id in spent(link.chain, by_hand=event.by_hand):
        raise VerdictSpent(
            f"the policy of verdict {event.verdict_id} was reverted or expired since",
            where=where,
            fix="wait for a new verdict, which comes when the inputs change, or use `planopt pin`",
        )
    if not event.by_hand and event.verdict_id in waiting(link.chain, event.stored):
        raise VerdictSpent(
            f"{verdict.policy.describe()} was taken back twice on inputs like these: trials do not tell how it runs",
            where=where,
            fix=f"promote it by hand (`planopt promote {link.query_id}`), or wait for inputs of another size",
        )
    if in_force(link.chain) == verdict.policy and covered(link.chain, verdict.conditions, event.similar_within):
        raise _nothing(f"{verdict.policy.describe()} is already in force", where)
    return link.made("accepted", verdict.policy, verdict.reason, verdict=verdict)


def _nothing(what: str, where: str) -> NothingToChange:
    return NothingToChange(what, where=where, fix="nothing was written; see `planopt status`")


@dataclass(frozen=True, slots=True)
class _Link:
    """The end of a chain, to which one more generation is added."""

    workload: str
    query_id: str
    chain: Chain

    def made(
        self,
        state: State,
        policy: Policy,
        reason: str,
        *,
        who: str | None = None,
        inputs: str = "",
        verdict: Verdict | None = None,
    ) -> Promotion:
        return Promotion(
            workload=self.workload,
            query_id=self.query_id,
            generation=len(self.chain) + 1,
            policy=policy,
            state=state,
            reason=reason,
            verdict_id=verdict.id if verdict else "",
            candidate_id=verdict.candidate_id if verdict else "",
            input_fingerprint=verdict.input_fingerprint if verdict else inputs,
            previous_hash=self.chain[-1].chain_hash if self.chain else GENESIS,
            who=who,
            conditions=verdict.conditions if verdict else None,
        )

    def restored(
        self, state: State, good: Promotion | None, reason: str, who: str | None, evidence: tuple[str, ...] = ()
    ) -> Promotion:
        """Put an earlier generation's policy in force again, with its evidence, or original, which needs none."""
        return Promotion(
            workload=self.workload,
            query_id=self.query_id,
            generation=len(self.chain) + 1,
            policy=good.policy if good else ORIGINAL,
            state=state if good or state != "accepted" else "reverted",
            reason=reason,
            verdict_id=good.verdict_id if good else "",
            candidate_id=good.candidate_id if good else "",
            input_fingerprint=good.input_fingerprint if good else "",
            previous_hash=self.chain[-1].chain_hash,
            restores=good.generation if good else 0,
            who=who,
            evidence_ids=evidence,
            conditions=good.conditions if good else None,
        )
