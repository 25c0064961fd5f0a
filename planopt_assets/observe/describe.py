"""An observation for people, as Markdown: the plan, what its scans skipped, and where its columns come from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from planopt_assets.observe.plans.diff import outline
from planopt_assets.observe.pushdown.render import markdown

if TYPE_CHECKING:
    from planopt_assets.model.column_lineage import ColumnLineage
    from planopt_assets.model.plan import Plan
    from planopt_assets.model.scan import ScanOutcome
    from planopt_assets.model.udf import UdfAudit


def describe(
    initial: Plan,
    splits: Mapping[str, list[int]],
    outcomes: Sequence[ScanOutcome],
    lineage: ColumnLineage,
    udfs: UdfAudit,
) -> str:
    """The observation without any times: the same inputs give the same text."""
    return "\n\n".join(
        [
            "**Plan**\n\n```\n" + "\n".join(outline(initial, dict(splits))) + "\n```",
            f"**Scans**\n\n{markdown(outcomes)}",
            f"**Columns**\n\n{_columns(lineage)}",
            *([f"**User-defined functions** ({udfs.worst})\n\n{_functions(udfs)}"] if udfs.functions else []),
        ]
    )


def _columns(lineage: ColumnLineage) -> str:
    made = [f"| {name} | {', '.join(origins) or 'no column'} |" for name, origins in lineage.outputs]
    read = [f"Reads {table}: {', '.join(columns) or 'rows only'}." for table, columns in lineage.required.items()]
    return "\n".join(["| column | comes from |", "|---|---|", *made, "", *read])


def _functions(udfs: UdfAudit) -> str:
    return "\n".join(
        f"- `{u.name}({', '.join(u.arguments)})`: {u.kind}, {u.evaluation}, rung {u.rung}, returns {u.returns}"
        for u in udfs.functions
    )
