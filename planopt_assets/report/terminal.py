"""Terminal output: progress during a run, tables at the end. Plain lines when the output is not a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

    from planopt_assets.loop.agenda import Agenda
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.gate import Gate
    from planopt_assets.model.workload import Workload
    from planopt_assets.store.lineage import Node

COLORS = {
    "accept": "green",
    "reject": "red",
    "inconclusive": "yellow",
    "refused": "red",
    "cannot_tell": "yellow",
    "broken": "red",
}
_NEEDS = {"needed": "yellow", "done": "green", "depends": "default", "off": "dim"}
_WIDTH = None if sys.stdout.isatty() else 160  # a pipe has no width; the default would fold at 80
_OUT = Console(highlight=False, width=_WIDTH)
_ERR = Console(stderr=True, highlight=False)


class Progress:
    """One line per step on standard error: elapsed time, stage, query, what happens."""

    def __init__(self, workload: str, queries: Sequence[str], *, quiet: bool) -> None:
        self._queries, self._quiet, self._workload = queries, quiet, workload
        self._started = time.monotonic()

    def __enter__(self) -> Progress:
        if not self._quiet:
            _ERR.print(f"{self._workload}: {len(self._queries)} queries to run; starting Spark")
        return self

    def __exit__(self, *_: object) -> None:
        if not self._quiet:
            _ERR.print()

    def tell(self, stage: str, query: str, words: str) -> None:
        if not self._quiet:
            elapsed = int(time.monotonic() - self._started)
            number = f"{self._queries.index(query) + 1}/{len(self._queries)}" if query in self._queries else ""
            _ERR.print(
                f"{elapsed // 60}:{elapsed % 60:02d}  {stage:<9}{number:>6}  {query:<26} {words}",
                markup=False,
                soft_wrap=True,
            )


def print_standings(standings: Iterable[Standing]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("query", "verdict", "what changed", "gain (interval)", "equal", "in force", "why"):
        table.add_column(name, overflow="fold")
    for standing in standings:
        deciding = standing.deciding
        equal = {True: "yes", False: "no", None: "-"}[deciding.results_equal if deciding else None]
        changed = standing.policy.describe() if standing.outcome in ("accept", "reject", "inconclusive") else "-"
        color = COLORS.get(standing.outcome, "default")
        gain = standing.gain.describe() if standing.gain else "-"
        why = escape(_decided_because(standing))
        in_force = f"g{standing.active.generation}" if standing.active else "original"
        if standing.broken is not None:
            in_force = "unknown"
        if standing.active is not None and standing.active.state != "accepted":
            in_force += f" {standing.active.state}"
        verdict = f"[{color}]{standing.outcome}[/{color}]"
        table.add_row(standing.query_id, verdict, changed, gain, equal, in_force, why)
    _OUT.print(table)


def print_agenda(agenda: Agenda) -> None:
    """One line per query: the need of each stage, the expected gain and cost of its trial, and its place."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("#", "query", *(s.stage for i in agenda.items[:1] for s in i.steps), "saves", "trial", "rank", "why"):
        table.add_column(name, overflow="fold")
    for item, facts in zip(agenda.items, agenda.facts(), strict=True):
        promise = item.promise
        tried = promise.trial_cost_ns > 0
        first = next((s for s in item.steps if s.need == "needed"), None)
        words = f"{first.stage}: {first.why}" if first else "nothing to do"
        table.add_row(
            str(facts["order"] or "-"),
            item.query_id,
            *(f"[{_NEEDS[s.need]}]{s.need}[/{_NEEDS[s.need]}]" for s in item.steps),
            f"{promise.gain_ns_per_run / 1e9:.2f} s a run" if tried else "-",
            f"{promise.trial_cost_ns / 1e9:.1f} s" if tried else "-",
            f"{promise.rank:.1f}" + (f" (x {promise.discount:g})" if promise.discount != 1 else "") if tried else "-",
            escape(words),
        )
    _OUT.print(table)
    if not agenda.queries:
        _OUT.print("Nothing to do: queries, tables and settings are unchanged since the last run.")


def print_diff(facts: dict[str, Any]) -> None:
    _OUT.print(f"{facts['id']}: original -> {facts['policy']} ({facts['role']})", style="bold", markup=False)
    _OUT.print(facts["diff"] or "the plan does not change", markup=False, soft_wrap=True)
    _OUT.print("\ntext, since the previous observation:" if facts["edits"] else "\nthe text is unchanged")
    for edit in facts["edits"]:
        _OUT.print(f"  {edit}", markup=False, soft_wrap=True)


def print_gates(gates: Mapping[str, Mapping[str, Gate]]) -> None:
    """Failed gates with their reason, then how many passed. So a run without failures still prints a line."""
    failed = [(name, query, gate) for name, of in gates.items() for query, gate in of.items() if not gate.passed]
    if failed:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("gate", "query", "severity", "why"):
            table.add_column(column, overflow="fold")
        for name, query, gate in failed:
            severity = "[red]error[/red]" if gate.severe else "[yellow]warn[/yellow]"
            table.add_row(name, query, severity, escape(gate.words))
        _OUT.print(table)
    asked = sum(len(of) for of in gates.values())
    _OUT.print(f"{asked - len(failed)} of {asked} gates passed ({', '.join(gates)})", soft_wrap=True)


def _decided_because(standing: Standing) -> str:
    """Why the accepted change was proposed. For any other outcome, its reason."""
    if standing.outcome == "accept":
        return "; ".join(d.reason for d in standing.proposed)
    return standing.reason


def print_closing(workload: Workload, report: Path) -> None:
    _OUT.print()
    for name, value in (("report", report), ("store", workload.store), ("Dagster", f"planopt ui -w {workload.file}")):
        _OUT.print(f"{name + ':':<9}{value}", soft_wrap=True)


def print_lineage(node: Node) -> None:
    tree = Tree(escape(node.describe()))
    _grow(tree, node, set())
    _OUT.print(tree, soft_wrap=True)


def _grow(tree: Tree, node: Node, shown: set[str]) -> None:
    """A row that was shown before is named again, but its parents are not repeated."""
    for parent in node.parents:
        branch = tree.add(escape(parent.describe()))
        if parent.id not in shown:
            shown.add(parent.id)
            _grow(branch, parent, shown)


def print_why(facts: dict[str, Any]) -> None:
    _OUT.print(f"{facts['id']}: {facts['outcome']}, {facts['reason']}", style="bold", soft_wrap=True, markup=False)
    _OUT.print(f"in force: {facts['in_force']}\n", soft_wrap=True)
    for decision in facts["decisions"]:
        _OUT.print(
            f"decide   {decision['rule']}: {decision['kind']}, {decision['reason']}", soft_wrap=True, markup=False
        )
        for name, value in decision["arithmetic"].items():
            _OUT.print(f"           {name} = {value:,}" if isinstance(value, int) else f"           {name} = {value}")
    for candidate in facts["candidates"]:
        _OUT.print(f"\nreplan   {candidate['policy']}: {candidate['reason']}", soft_wrap=True, markup=False)
        _OUT.print(candidate["diff"], markup=False)
    for verdict in facts["verdicts"]:
        _OUT.print(
            f"\nvalidate {verdict['policy']}: {verdict['outcome']}, {verdict['reason']} ({verdict['pairs']} pairs)",
            soft_wrap=True,
            markup=False,
        )
        table = Table(box=None, pad_edge=False)
        for name in ("criterion", "passed", "baseline", "candidate", "threshold", "note"):
            table.add_column(name, overflow="fold")
        for c in verdict["criteria"]:
            table.add_row(
                c["name"],
                str(c["passed"]),
                _number(c["baseline"]),
                _number(c["candidate"]),
                escape(c["threshold"]),
                escape(c["note"]),
            )
        _OUT.print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
