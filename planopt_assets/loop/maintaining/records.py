"""What maintaining stores: verdicts with their trials, and actions, each with edges to what it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.loop.maintain_step import STAGE
from planopt_assets.store.codecs.deciding import EDGES
from planopt_assets.store.codecs.maintaining import ACTIONS, LAYOUT_TRIALS, LAYOUT_VERDICTS
from planopt_assets.store.codecs.observing import EXECUTIONS
from planopt_assets.store.lineage import edges

if TYPE_CHECKING:
    from planopt_assets.loop.maintaining.layout_trial import Tried
    from planopt_assets.loop.run import Run
    from planopt_assets.model.maintenance_action import MaintenanceAction

NO_QUERY = ""  # the subject is a table


def keep_trial(run: Run, tried: Tried) -> None:
    """Verdicts are written last, so that each has its trials in the store."""
    linked = [e for v in tried.verdicts for e in edges(NO_QUERY, STAGE, v.id, [v.proposal_id, *v.trial_ids])]
    run.store.append(
        run.run_id,
        f"{STAGE}:trial:{'+'.join(v.id for v in tried.verdicts)}",
        {
            EXECUTIONS: [e for t in tried.trials if (e := t.execution) is not None],
            LAYOUT_TRIALS: list(tried.trials),
            EDGES: linked,
            LAYOUT_VERDICTS: list(tried.verdicts),
        },
    )


def keep_action(run: Run, action: MaintenanceAction) -> None:
    parents = [p for p in (action.verdict_id, action.proposal_id, action.undoes) if p]
    linked = edges(NO_QUERY, STAGE, action.id, parents) if parents else []
    run.store.append(run.run_id, f"{STAGE}:{action.id}:{action.status}", {EDGES: linked, ACTIONS: [action]})
