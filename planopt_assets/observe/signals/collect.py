"""All signals of one execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planopt_assets.model.plan import Plan
from planopt_assets.model.signals import Signals
from planopt_assets.model.udf import UdfAudit
from planopt_assets.observe.signals.aggregations import aggregations, spills
from planopt_assets.observe.signals.functions import functions
from planopt_assets.observe.signals.joins import Groupable, Targets, joins
from planopt_assets.observe.signals.scans import Fact, scans
from planopt_assets.observe.signals.shuffles import resizable_exchanges
from planopt_assets.observe.signals.stages import stages
from planopt_assets.observe.signals.tree import Tree


def collect(
    initial: Plan,
    final: Plan,
    splits: Mapping[str, list[int]],
    scan_facts: Sequence[Fact],
    udfs: UdfAudit,
    targets: Targets,
    plan_dependent: tuple[str, ...] = (),
    groupable: Groupable | None = None,
) -> Signals:
    """From the initial plan, the final plan with its metrics, and the facts about scans and functions.

    `splits` are the tasks of scans by table. `targets` are the hint names of the inputs of each join in the final plan.
    `groupable` is what the query's text says about a join that its rows could be grouped before.
    """
    before, after = Tree(initial), Tree(final)
    found = scans(after, splits, scan_facts)
    return Signals(
        exchanges=resizable_exchanges(after),
        scans=found,
        joins=joins(after, before, targets, groupable),
        aggregations=aggregations(after),
        spills=spills(after),
        stages=stages(after, found),
        functions=functions(after, udfs),
        plan_dependent=plan_dependent,
    )
