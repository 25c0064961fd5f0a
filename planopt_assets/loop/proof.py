"""What a verdict was given under: the circumstances of its trials, from the observation on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from planopt_assets.promote.dependence import circumstances_of, conditions_of
from planopt_assets.store.codecs.observing import DETAILS

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.conditions import Circumstances, Conditions
    from planopt_assets.model.policy import Policy
    from planopt_assets.model.signals import Join


@dataclass(frozen=True, slots=True)
class Proof:
    """Trials of one query on one set of inputs: what they ran on, and the joins of the query as original."""

    circumstances: Circumstances
    joins: tuple[Join, ...]

    def conditions(self, policy: Policy) -> Conditions:
        return conditions_of(policy, self.circumstances, self.joins)


def proof_of(run: Run, standing: Standing) -> Proof:
    """Trials run in the session, on the versions and with the parameters of the observation."""
    observed = sorted(standing.artifacts, key=lambda a: a.binding)
    ids = [a.observation_id for a in observed]
    details = {d.observation_id: d for d in run.snapshot.read(DETAILS, observation_id=ids)}
    in_catalog, pins = {t.name for t in run.workload.tables if t.catalog}, run.workspace.pins
    tables = [pins.state(t.name, t.location, in_catalog=t.name in in_catalog) for t in observed[0].tables]
    joins = tuple(join for o in ids if (signals := details[o].signals) for join in signals.joins)
    # A cluster may have grown or shrunk since the observation: the trials ran on what it has now.
    proven = replace(circumstances_of(observed, details[ids[0]], tables), cores=run.workspace.cores)
    return Proof(proven, joins)
