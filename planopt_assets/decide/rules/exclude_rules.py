"""Exclude one optimizer rule that changed the plan and, by the row counts, made it more expensive. Exploration, opt-in.

Excludable rules (`EXCLUDABLE_RULES`) only make plans cheaper. They never change results. Each is proposed only on its
own evidence, one at a time, and only if the workload's `knobs.allow` names the setting.

Worked: Spark moved a semi-join below another join. It passed 5,900,000 of 6,000,000 rows (98 %), and had to shuffle and
sort them: 6,000,000 x (150 + 100) ns = 1.5 s, for hardly any effect. The join above kept 600,000. After it, the
semi-join would have a tenth of the work. Saved: 5,400,000 x 250 ns = 1.35 s.

`MergeSubplans` is not excludable. It reads a table once for two sub-queries, with their predicates joined by OR. For an
OR, Parquet and Delta skip what both sides skip. So two separate reads never read less in sum. Measured, with two
predicates that match 10,000 rows each: 20,000 either way; with one that cannot be pushed: 100,000 merged, 110,000
apart.
"""

from __future__ import annotations

from collections.abc import Callable

from planopt_assets.decide.answer import Answer, cannot_tell, no_change, propose
from planopt_assets.decide.join_sides import SHUFFLED_JOINS
from planopt_assets.decide.row_prices import SHUFFLE_ROW_NS, SORT_ROW_NS
from planopt_assets.decide.setting_in_force import in_force
from planopt_assets.model.evidence import Evidence, ObservedExecution
from planopt_assets.model.signals import Join

NAME = "exclude_rules"
KNOB = "spark.sql.optimizer.excludedRules"

LETS_THROUGH = 0.9  # a semi-join that keeps at least this share filters hardly anything
KEEPS_FEW = 0.5  # share that the join above it keeps, at most

_CATALYST = "org.apache.spark.sql.catalyst.optimizer"


def exclude_rules(evidence: Evidence) -> Answer:
    """Propose to exclude the rule that costs most."""
    if in_force(evidence, KNOB) is not None:
        return no_change("optimizer rules are already excluded", {})
    told = [e for e in evidence.executions if e.effective_rules is not None]
    if not told:
        return cannot_tell("effective_rules is missing: it is unknown which rules changed the plan", {})
    savings = {rule: sum(cost(e) for e in told if rule in (e.effective_rules or ())) for rule, cost in _COSTS.items()}
    arithmetic: dict[str, int | float | str] = {
        "rules_looked_at": len(savings),
        "rules_effective": sum(any(r in (e.effective_rules or ()) for e in told) for r in savings),
    }
    rule, saving = max(savings.items(), key=lambda one: (one[1], one[0]))
    if saving <= 0:
        return no_change("no excludable rule made the plan more expensive", arithmetic)
    return propose(
        {KNOB: rule},
        f"{rule.removeprefix(_CATALYST + '.')} changed the plan, and by the row counts it cost more than it saved",
        saved_cpu_ns=saving,
        arithmetic={**arithmetic, "rule": rule},
    )


def _useless_semi_joins(execution: ObservedExecution) -> int:
    """Saving if shuffled semi- and anti-joins that filter hardly anything ran above the join they were moved below."""
    return sum(_saved_above(j, execution.joins) for j in execution.joins if j.kind in ("LeftSemi", "LeftAnti"))


def _saved_above(semi: Join, joins: tuple[Join, ...]) -> int:
    rows = semi.left.rows
    if semi.strategy not in SHUFFLED_JOINS or not rows or semi.rows is None or semi.rows < LETS_THROUGH * rows:
        return 0
    above = [j.rows for j in joins if j is not semi and semi.rows in (j.left.rows, j.right.rows) and j.rows is not None]
    kept = min(above, default=rows)
    return (rows - kept) * (SHUFFLE_ROW_NS + SORT_ROW_NS) if kept <= KEEPS_FEW * rows else 0


_COSTS: dict[str, Callable[[ObservedExecution], int]] = {
    f"{_CATALYST}.PushDownLeftSemiAntiJoin": _useless_semi_joins,
    f"{_CATALYST}.PushLeftSemiLeftAntiThroughJoin": _useless_semi_joins,
}
