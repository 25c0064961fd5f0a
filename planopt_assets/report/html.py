"""The report: one self-contained HTML file, readable offline."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_assets import __version__
from planopt_assets.decide.parallelism import by_cores, remark
from planopt_assets.model.ids import content_id
from planopt_assets.report.applied_layouts import layout_view
from planopt_assets.store.schemas import ABOUT_TABLES

if TYPE_CHECKING:
    from planopt_assets.loop.laid_out import LaidOut
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.snapshot import Snapshot

_TEMPLATE = Path(__file__).parent / "report.html"


def write_report(
    workload: Workload,
    standings: Mapping[str, Standing],
    path: Path,
    made_of: str = "",
    layouts: Sequence[LaidOut] = (),
) -> Path:
    """Write the report of all queries, and of the layouts that are on tables. The same rows give the same bytes.

    `made_of` becomes its last line.
    """
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATE.parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    queries = [_view(s) for s in standings.values()]
    text = environment.get_template(_TEMPLATE.name).render(
        workload=workload,
        queries=queries,
        bars=[q for q in queries if q["gain"]],
        layouts=[layout_view(one) for one in layouts],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n{_last_line(made_of)}" if made_of else text, encoding="utf-8")
    return path


def made_of(
    workload: Workload, snapshot: Snapshot, standings: Mapping[str, Standing], layouts: Sequence[LaidOut] = ()
) -> str:
    """Names everything a report is made of: planopt, the workload, the stored rows, the inputs of each query."""
    return content_id(
        "rep",
        {
            "planopt": [__version__, _TEMPLATE.read_text(encoding="utf-8")],
            "workload": [workload.name, workload.objective, workload.mode],
            "rows": {name: files for name, files in snapshot.files.items() if name not in ABOUT_TABLES},
            "inputs": [[s.query_id, s.query_fingerprint, s.input_fingerprint] for s in standings.values()],
            "layouts": [one.action.id for one in layouts],
        },
    )


def shows(path: Path, made_of: str) -> bool:
    """Whether a report made of this is there, whole: the name is on its last line."""
    line = _last_line(made_of).encode()
    try:
        with path.open("rb") as file:
            file.seek(-len(line), os.SEEK_END)
            return file.read() == line
    except OSError:
        return False


def _last_line(made_of: str) -> str:
    return f"<!-- {made_of} -->\n"


def _view(standing: Standing) -> dict[str, Any]:
    """What the template shows of a query; the facts of `planopt why` have ids too, which take longer than the page."""
    deciding, gain = standing.deciding, standing.gain
    return {
        "id": standing.query_id,
        "outcome": standing.outcome,
        "reason": standing.reason,
        "remark": remark(by_cores(*standing.shown_policies, *(c.policy for c in standing.candidates))),
        "change": standing.policy.describe(),
        "gain": gain,
        "gain_words": gain.describe() if gain else "",
        "results_equal": deciding.results_equal if deciding else None,
        "in_force": standing.in_force,
        "confirmation": standing.confirmation.reason if standing.confirmation else "",
        "error_budget": standing.error_budget.describe(),
        "decisions": standing.decisions,
        "candidates": standing.candidates,
        "verdicts": standing.verdicts,
    }
