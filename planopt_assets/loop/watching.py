"""What is due for the policies in force, from stored executions: one expired, or one got worse. Never starts Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from planopt_assets.loop.histories import grouped
from planopt_assets.loop.plan_dependent import plan_dependent
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.verdict import OBJECTIVE
from planopt_assets.model.workload import Objective
from planopt_assets.promote.chain import spent
from planopt_assets.promote.confirmation import confirmation
from planopt_assets.promote.expiry import expired
from planopt_assets.promote.transitions import Expire, Revert
from planopt_assets.promote.watch import regression
from planopt_assets.store.codecs.deciding import TRIALS
from planopt_assets.store.codecs.maintaining import ACTIONS
from planopt_assets.store.codecs.observing import EXECUTIONS, LAYOUTS

if TYPE_CHECKING:
    from planopt_assets.model.execution import Execution
    from planopt_assets.model.observation import PlanArtifact
    from planopt_assets.model.promotion import Chain
    from planopt_assets.model.table_layout import Layout
    from planopt_assets.model.verdict import Verdict
    from planopt_assets.promote.confirmation import Confirmation
    from planopt_assets.store.snapshot import Snapshot

LIVE = ("observe", "production")


class Watch:
    """All that watch looks at, read once for all queries with a policy in force; nouns are oldest first.

    Nothing is due for original and for a pin. Where the evidence itself is missing, only what speaks against any policy
    is: a gate tells the rest.
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
        self._plan_dependent = plan_dependent(snapshot, {q: self._observed_now(q) for q in self._chains})
        self._read()

    def due(self, query_id: str) -> Expire | Revert | None:
        """The event that should happen now."""
        if query_id not in self._chains:
            return None
        policy = self._chains[query_id][-1].policy
        verdicts, now = self._verdicts.get(query_id, ()), self._observed_now(query_id)
        known = tuple(v.id for v in verdicts if v.policy == policy and v.accepted)
        if why := self._plan_dependent.get(query_id):
            return Expire(why, (now[0].observation_id, *known))
        proof = self._proofs.get(query_id)
        if proof is None:
            return None
        then = self._observed_then(query_id, proof)
        if why := self._expired(then, now):
            return Expire(why, (now[0].observation_id, *known))
        confirmed = self.confirmation(query_id)
        if confirmed is not None and confirmed.state == "failed":
            return Revert("last_good", confirmed.reason, None, (*confirmed.evidence, *known))
        return self._regressed(query_id, proof, then, known)

    def confirmation(self, query_id: str) -> Confirmation | None:
        """Where the policy in force stands; None: nothing is to be confirmed."""
        if query_id not in self._proofs:
            return None
        active, verdicts = self._chains[query_id][-1], self._verdicts.get(query_id, ())
        return confirmation(active, verdicts, self._live.get(query_id, ()))

    def _expired(self, then: Sequence[PlanArtifact], now: Sequence[PlanArtifact]) -> str:
        if not then or not now or then[0].stamp.run_id == now[0].stamp.run_id:
            return ""
        return expired(then, now, self._layouts_of(then), self._layouts_of(now), self._clustered)

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
        done = self._snapshot.read(ACTIONS, action="cluster", status="applied") if compared else []
        self._clustered = {a.table for a in done}

    def _later(self, query_id: str) -> list[Execution]:
        """What ran under the policy in force since it was promoted."""
        active = self._chains[query_id][-1]
        policy_id, since = active.policy.id, active.stamp
        ran = self._live.get(query_id, [])
        return [e for e in ran if e.policy_id == policy_id and e.stamp.later_than(since)]

    def _regressed(
        self, query_id: str, proof: Verdict, observed: Sequence[PlanArtifact], known: tuple[str, ...]
    ) -> Expire | Revert | None:
        later = self._later(query_id)
        if not later:
            return None
        live = self._live[query_id]
        sizes, tables = _sizes(live, observed), self._table_sizes(observed)
        counted = set(proof.trial_ids)
        evidence = [_sized(e, sizes, tables) for e in self._evidence.get(query_id, []) if e.id in counted]
        control = [e for e in live if e.policy_id == ORIGINAL.id]
        since, objective = self._chains[query_id][-1].stamp, _objective(proof)
        found = regression(evidence, later, control, since=since, objective=objective)
        if found is None:
            return None
        rows = (*found.evidence, *known)
        return Expire(found.reason, rows) if found.outgrown else Revert("last_good", found.reason, None, rows)

    def _observed_then(self, query_id: str, proof: Verdict) -> list[PlanArtifact]:
        captured = [a for a in self._artifacts.get(query_id, ()) if a.captured]
        return _last_run([a for a in captured if a.input_fingerprint == proof.input_fingerprint])

    def _observed_now(self, query_id: str) -> list[PlanArtifact]:
        return last_captured(self._artifacts.get(query_id, ()))

    def _layouts_of(self, artifacts: Sequence[PlanArtifact]) -> dict[str, Layout]:
        tables = self._tables.get(artifacts[0].observation_id, [])
        return {t.table: t.layout for t in tables if t.layout is not None}

    def _table_sizes(self, artifacts: Sequence[PlanArtifact]) -> tuple[tuple[str, int], ...]:
        """Bytes of each table that the trials read, where its log tells."""
        tables = self._tables.get(artifacts[0].observation_id, []) if artifacts else []
        return tuple((t.table, t.bytes) for t in tables if t.bytes is not None)


def _objective(proof: Verdict) -> Objective:
    """What the verdict was given for."""
    named = {c.name.removeprefix(OBJECTIVE) for c in proof.judgement.criteria if c.name.startswith(OBJECTIVE)}
    return next((objective for objective in get_args(Objective) if objective in named), "cpu")


def _sizes(live: Sequence[Execution], observed: Sequence[PlanArtifact]) -> dict[int | None, int | None]:
    """Bytes of the tables, per binding: trials read the versions of their observation, and are not asked themselves."""
    by_id = {e.id: e.counters.table_bytes for e in live}
    return {a.binding: by_id.get(a.observation_id) for a in observed}


def _sized(
    execution: Execution, sizes: Mapping[int | None, int | None], tables: tuple[tuple[str, int], ...]
) -> Execution:
    read = execution.counters.table_bytes
    counters = replace(execution.counters, table_bytes=sizes.get(execution.binding) if read is None else read)
    return replace(execution, counters=counters, table_sizes=tables)


def last_captured(artifacts: Sequence[PlanArtifact]) -> list[PlanArtifact]:
    """All bindings of the newest observation that got as far as a plan."""
    return _last_run([a for a in artifacts if a.captured])


def _last_run(artifacts: Sequence[PlanArtifact]) -> list[PlanArtifact]:
    return [a for a in artifacts if a.stamp.run_id == artifacts[-1].stamp.run_id]
