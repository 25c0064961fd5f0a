"""What is due for the policies in force, from stored executions: one expired, or one got worse. Never starts Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.loop.histories import grouped
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.promote.chain import spent
from planopt_assets.promote.expiry import expired
from planopt_assets.promote.transitions import Expire, Revert
from planopt_assets.promote.watch import regression
from planopt_assets.store.codecs.deciding import TRIALS
from planopt_assets.store.codecs.observing import EXECUTIONS, LAYOUTS

if TYPE_CHECKING:
    from planopt_assets.model.execution import Execution
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.promotion import Chain
    from planopt_assets.model.table_layout import Layout
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.store.snapshot import Snapshot

LIVE = ("observe", "production")


class Watch:
    """All that watch looks at, read once for all queries with a policy in force; nouns are oldest first.

    Nothing is due for original, for a pin, and where the evidence itself is missing: a gate says so.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        chains: Mapping[str, Chain],
        verdicts: Mapping[str, Sequence[Verdict]],
        artifacts: Mapping[str, Sequence[PlanArtifact]],
    ) -> None:
        self._snapshot = snapshot
        self._chains = {q: c for q, c in chains.items() if not (c[-1].fixed or c[-1].policy == ORIGINAL)}
        self._verdicts, self._artifacts = verdicts, artifacts
        self._proofs = {q: proof for q in self._chains if (proof := self._proof(q)) is not None}
        self._read()

    def due(self, query_id: str, inputs: str | None) -> Expire | Revert | None:
        """The event that should happen now; `inputs` are the current ones."""
        proof = self._proofs.get(query_id)
        if proof is None:
            return None
        policy = self._chains[query_id][-1].policy
        verdicts = self._verdicts.get(query_id, ())
        known = tuple(v.id for v in verdicts if v.policy == policy and v.accepted)
        then, now = self._observed_then(query_id, proof), self._observed_now(query_id)
        if why := self._expired(then, now):
            return Expire(why, (now[0].observation_id, *known))
        newest = next((v for v in reversed(verdicts) if v.policy == policy and v.input_fingerprint == inputs), None)
        if newest is not None and newest.id != proof.id and newest.found_worse:
            return Revert("last_good", f"a later trial found it worse: {newest.reason}", None, (*known, newest.id))
        return self._regressed(query_id, proof, then, known)

    def _expired(self, then: Sequence[PlanArtifact], now: Sequence[PlanArtifact]) -> str:
        if not then or not now or then[0].stamp.run_id == now[0].stamp.run_id:
            return ""
        return expired(then, now, self._layouts_of(then), self._layouts_of(now))

    def _proof(self, query_id: str) -> Verdict | None:
        """The newest accepted verdict that was not taken back: a policy proven again is measured by that."""
        chain = self._chains[query_id]
        gone = spent(chain, by_hand=False) - {chain[-1].verdict_id}
        given = [v for v in self._verdicts.get(query_id, ()) if v.policy == chain[-1].policy and v.id not in gone]
        return next((v for v in reversed(given) if v.proven), None)

    def _read(self) -> None:
        """Executions of the user and of observations; and of the proofs' trials where there is anything to compare."""
        live = self._snapshot.read(EXECUTIONS, purpose=LIVE, query_id=set(self._proofs)) if self._proofs else []
        self._live = grouped(live, lambda e: e.query_id)
        asked = {q: proof for q, proof in self._proofs.items() if self._later(q)}
        trials = {trial_id for proof in asked.values() for trial_id in proof.trial_ids}
        warm_ups = {t.id for t in self._snapshot.read(TRIALS, warm_up=True, query_id=set(asked))} if asked else set()
        counted = self._snapshot.read(EXECUTIONS, execution_id=trials - warm_ups) if asked else []
        self._evidence = grouped(counted, lambda e: e.query_id)
        compared = {
            a.observation_id
            for q, proof in self._proofs.items()
            for a in (*self._observed_then(q, proof)[:1], *self._observed_now(q)[:1])
        }
        tables = self._snapshot.read(LAYOUTS, observation_id=compared) if compared else []
        self._tables = grouped(tables, lambda t: t.observation_id)

    def _later(self, query_id: str) -> list[Execution]:
        """What ran under the policy in force since it was promoted."""
        active = self._chains[query_id][-1]
        policy_id, since = active.policy.id, active.stamp
        ran = self._live.get(query_id, [])
        return [e for e in ran if e.policy_id == policy_id and e.stamp.later_than(since)]

    def _regressed(
        self, query_id: str, proof: Verdict, observed: Sequence[PlanArtifact], known: tuple[str, ...]
    ) -> Revert | None:
        later = self._later(query_id)
        if not later:
            return None
        live = self._live[query_id]
        sizes = _sizes(live, observed)
        counted = set(proof.trial_ids)
        evidence = [_sized(e, sizes) for e in self._evidence.get(query_id, []) if e.id in counted]
        control = [e for e in live if e.policy_id == ORIGINAL.id]
        found = regression(evidence, later, control, since=self._chains[query_id][-1].stamp)
        return Revert("last_good", found.reason, None, (*found.evidence, *known)) if found else None

    def _observed_then(self, query_id: str, proof: Verdict) -> list[PlanArtifact]:
        captured = [a for a in self._artifacts.get(query_id, ()) if a.captured]
        return _last_run([a for a in captured if a.input_fingerprint == proof.input_fingerprint])

    def _observed_now(self, query_id: str) -> list[PlanArtifact]:
        return _last_run([a for a in self._artifacts.get(query_id, ()) if a.captured])

    def _layouts_of(self, artifacts: Sequence[PlanArtifact]) -> dict[str, Layout]:
        tables = self._tables.get(artifacts[0].observation_id, [])
        return {t.table: t.layout for t in tables if t.layout is not None}


def _sizes(live: Sequence[Execution], observed: Sequence[PlanArtifact]) -> dict[int | None, int | None]:
    """Bytes of the tables, per binding: trials read the versions of their observation, and are not asked themselves."""
    by_id = {e.id: e.counters.table_bytes for e in live}
    return {a.binding: by_id.get(a.observation_id) for a in observed}


def _sized(execution: Execution, sizes: Mapping[int | None, int | None]) -> Execution:
    if execution.counters.table_bytes is not None:
        return execution
    return replace(execution, counters=replace(execution.counters, table_bytes=sizes.get(execution.binding)))


def _last_run(artifacts: Sequence[PlanArtifact]) -> list[PlanArtifact]:
    return [a for a in artifacts if a.stamp.run_id == artifacts[-1].stamp.run_id]
