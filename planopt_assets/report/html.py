"""The report: one self-contained HTML file, readable offline."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader

from planopt_assets.decide.parallelism import remark
from planopt_assets.report.why import why_facts

if TYPE_CHECKING:
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Workload


def write_report(workload: Workload, standings: Mapping[str, Standing], path: Path) -> Path:
    """Write the report of all queries. The same rows give the same bytes."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    queries = [_view(s) for s in standings.values()]
    text = environment.get_template("report.html").render(
        workload=workload, queries=queries, bars=[q for q in queries if q["gain"]]
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _view(standing: Standing) -> dict[str, Any]:
    facts = why_facts(standing)
    gain = standing.gain
    return {
        **facts,
        "change": standing.policy.describe(),
        "gain_words": gain.describe() if gain else "",
        "remark": remark(facts["depends_on_cores"]),
    }
