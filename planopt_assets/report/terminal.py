"""Terminal output: progress during a run, tables at the end. Plain lines when the output is not a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.tree import Tree

from planopt_assets.decide.parallelism import by_cores, remark
from planopt_assets.model.printable import printable
from planopt_assets.report.columns import Cell, print_columns

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import ConsoleOptions, RenderableType

    from planopt_assets.loop.agenda import Agenda, Item, TableItem
    from planopt_assets.loop.run_cost import RunCost
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
_NEEDS = {"needed": "yellow", "done": "green", "depends": "", "off": "dim"}


class _Terminal(Console):
    """Shows text from outside without its control characters: those that reach the terminal are rich's own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def _out() -> Console:
    """Standard output as it is now. A pipe has no width: as wide as `COLUMNS` says, and without it not folded at 80."""
    known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return _Terminal(highlight=False, width=None if known else 160)


console = _out
"""For the other modules that print tables."""

_ERR = _Terminal(stderr=True, highlight=False)


class Progress:
    """One line per step on standard error: elapsed time, stage, query, what happens."""

    def __init__(self, workload: str, queries: Sequence[str], *, quiet: bool, tables: int = 0) -> None:
        self._queries, self._quiet, self._workload, self._tables = queries, quiet, workload, tables
        self._started = time.monotonic()

    def __enter__(self) -> Progress:
        if not self._quiet:
            looked_at = f", {self._tables} tables to look at" if self._tables else ""
            _ERR.print(f"{self._workload}: {len(self._queries)} queries to run{looked_at}")
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
    shown = list(standings)
    header = ("query", "verdict", "what changed", "gain (interval)", "equal", "in force", "why")
    print_columns(_out(), header, map(_standing_row, shown))
    if said := remark(by_cores(*(policy for standing in shown for policy in standing.shown_policies))):
        _out().print(said, soft_wrap=True, markup=False)


def _standing_row(standing: Standing) -> list[str | Cell]:
    outcome, deciding = standing.outcome, standing.deciding
    equal = {True: "yes", False: "no", None: "-"}[deciding.results_equal if deciding else None]
    changed = standing.policy.describe() if outcome in ("accept", "reject", "inconclusive") else "-"
    gain = standing.gain.describe() if standing.gain else "-"
    verdict, in_force = Cell(outcome, COLORS.get(outcome, "")), _in_force(standing, changed)
    return [standing.query_id, verdict, changed, gain, equal, in_force, _decided_because(standing)]


def print_agenda(agenda: Agenda, cost: RunCost) -> None:
    """One line per query: the need of each stage, the expected gain and cost of its trial, and its place."""
    stages = [s.stage for i in agenda.items[:1] for s in i.steps]
    rows = (_item_row(item, facts["order"]) for item, facts in zip(agenda.items, agenda.facts(), strict=True))
    print_columns(_out(), ("#", "query", *stages, "saves", "trial", "rank", "why"), rows)
    if agenda.table_items:
        _out().print()
        print_columns(_out(), ("table", "readiness", "maintain", "why"), map(_table_row, agenda.table_items))
    for one in [layout for i in agenda.table_items for layout in i.layouts]:
        said = f"{one.proposal.describe()}: {one.state.replace('_', ' ')}: {one.why}"
        _out().print(f"\n{said}", markup=False, soft_wrap=True)
    if cost.at_most_s or cost.not_now:
        _out().print(f"\n{cost.describe()}", markup=False, soft_wrap=True)
    if not agenda.queries and not agenda.tables:
        _out().print("Nothing to do: queries, tables and settings are unchanged since the last run.")


def _table_row(item: TableItem) -> list[str | Cell]:
    first = next((s for s in item.steps if s.needed), item.readiness)
    return [item.table, *(Cell(s.need, _NEEDS[s.need]) for s in item.steps), first.why]


def _item_row(item: Item, order: int | None) -> list[str | Cell]:
    promise = item.promise
    tried = promise.trial_cost_ns > 0
    first = next((s for s in item.steps if s.need == "needed"), None)
    discount = f" (x {promise.discount:g})" if promise.discount != 1 else ""
    return [
        str(order or "-"),
        item.query_id,
        *(Cell(s.need, _NEEDS[s.need]) for s in item.steps),
        f"{promise.gain_ns_per_run / 1e9:.2f} s a run" if tried else "-",
        f"{promise.trial_cost_ns / 1e9:.1f} s" if tried else "-",
        f"{promise.rank:.1f}{discount}" if tried else "-",
        f"{first.stage}: {first.why}" if first else "nothing to do",
    ]


def print_diff(facts: dict[str, Any]) -> None:
    _out().print(f"{facts['id']}: original -> {facts['policy']} ({facts['role']})", style="bold", markup=False)
    _out().print(facts["diff"] or "the plan does not change", markup=False, soft_wrap=True)
    _out().print("\ntext, since the previous observation:" if facts["edits"] else "\nthe text is unchanged")
    for edit in facts["edits"]:
        _out().print(f"  {edit}", markup=False, soft_wrap=True)


def print_gates(gates: Mapping[str, Mapping[str, Gate]]) -> None:
    """Failed gates with their reason, then how many passed. So a run without failures still prints a line."""
    asked = [(name, query, gate) for name, of in gates.items() for query, gate in of.items()]
    failed = [(name, query, gate) for name, query, gate in asked if gate.observed and not gate.passed]
    unobserved = [(name, query, gate) for name, query, gate in asked if not gate.observed]
    if failed or unobserved:
        rows = [
            (name, query, Cell("error", "red") if gate.severe else Cell("warn", "yellow"), gate.words)
            for name, query, gate in failed
        ]
        for query, why, names in _alike(unobserved):
            shown = "every gate" if len(names) == len(gates) > 1 else ", ".join(names)
            rows.append((shown, query, Cell("-", "yellow"), why))
        print_columns(_out(), ("gate", "query", "severity", "why"), rows)
    passed = f"{len(asked) - len(failed) - len(unobserved)} of {len(asked)} gates passed"
    missing = f", {len(unobserved)} not observed" if unobserved else ""
    _out().print(f"{passed}{missing} ({', '.join(gates)})", soft_wrap=True)


def _alike(gates: Iterable[tuple[str, str, Gate]]) -> list[tuple[str, str, list[str]]]:
    """Query, words and the gates that say the same of it: a query that never ran is one line, not nine."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, query, gate in gates:
        found.setdefault((query, gate.words), []).append(name)
    return [(query, words, names) for (query, words), names in found.items()]


def _in_force(standing: Standing, changed: str) -> str:
    """The generation, and its policy if that is not the one tried last."""
    if standing.broken is not None:
        return "unknown"
    if (active := standing.active) is None:
        return "original"
    state = " not applied" if standing.vetoed else "" if standing.state == "accepted" else f" {standing.state}"
    words = active.policy.describe()
    return f"g{active.generation}{state}" + ("" if words == changed else f": {words}")


def _decided_because(standing: Standing) -> str:
    """Why it is not applied, the reason of a pin, or why the change was proposed. For any other outcome, its reason."""
    if standing.vetoed:
        return f"the policy in force is not applied: {standing.vetoed}"
    if standing.active is not None and standing.active.fixed:
        return f"pinned by {standing.active.who or 'a person'}: {standing.active.reason}"
    if standing.suspended:
        return f"suspended: {standing.suspended}"
    if standing.outcome == "accept":
        return "; ".join(d.reason for d in standing.proposed if d.policy_after.within(standing.policy))
    return standing.reason


def print_closing(workload: Workload, report: Path) -> None:
    _out().print()
    for name, value in (("report", report), ("store", workload.store), ("Dagster", f"planopt ui -w {workload.file}")):
        _out().print(f"{name + ':':<9}{value}", soft_wrap=True)


def print_lineage(node: Node) -> None:
    tree = Tree(escape(node.describe()))
    _grow(tree, node, set())
    _out().print(tree, soft_wrap=True)


def _grow(tree: Tree, node: Node, shown: set[str]) -> None:
    """A row that was shown before is named again, but its parents are not repeated."""
    for parent in node.parents:
        branch = tree.add(escape(parent.describe()))
        if parent.id not in shown:
            shown.add(parent.id)
            _grow(branch, parent, shown)


def print_why(facts: dict[str, Any]) -> None:
    _out().print(f"{facts['id']}: {facts['outcome']}, {facts['reason']}", style="bold", soft_wrap=True, markup=False)
    _out().print(f"in force: {facts['in_force']}", soft_wrap=True, markup=False)
    for said in facts["depends_on"]:
        _out().print(f"  {said}", soft_wrap=True, markup=False)
    if found := facts["confirmation"]:
        _out().print(f"confirmation: {found['reason']}", soft_wrap=True, markup=False)
    _out().print(f"error budget: {facts['error_budget_words']}", soft_wrap=True, markup=False)
    if said := remark(facts["depends_on_cores"]):
        _out().print(said, soft_wrap=True, markup=False)
    for used in facts["production"]:
        drawn = f", {used['controls']} of them controls" if used["controls"] else ""
        runs = f"{used['runs']} runs{drawn} from {used['since']} to {used['until']}, {used['failed']} failed"
        failure = f"; last at {used['last_failure']['at']}: {used['last_failure']['note']}" if used["failed"] else ""
        _out().print(f"production {used['policy']}: {runs}{failure}", soft_wrap=True, markup=False)
    _out().print()
    for decision in facts["decisions"]:
        about = decision["rule"] + (f" beyond {decision['beyond']}" if decision["beyond"] else "")
        _out().print(f"decide   {about}: {decision['kind']}, {decision['reason']}", soft_wrap=True, markup=False)
        for name, value in decision["arithmetic"].items():
            _out().print(f"           {name} = {value:,}" if isinstance(value, int) else f"           {name} = {value}")
    for candidate in facts["candidates"]:
        _out().print(f"\nreplan   {candidate['policy']}: {candidate['reason']}", soft_wrap=True, markup=False)
        _out().print(candidate["diff"], markup=False)
    for verdict in facts["verdicts"]:
        looked = ", ".join(filter(None, [f"{verdict['pairs']} pairs", verdict["error_words"]]))
        words = f"\nvalidate {verdict['policy']}: {verdict['outcome']}, {verdict['reason']} ({looked})"
        _out().print(words, soft_wrap=True, markup=False)
        print_columns(_out(), CRITERIA, criterion_rows(verdict["criteria"]))


CRITERIA = ("criterion", "passed", "baseline", "candidate", "threshold", "note")


def criterion_rows(criteria: Iterable[Mapping[str, Any]]) -> Iterable[Sequence[str]]:
    """What the judge looked at, on a policy or on a layout."""
    return (
        (c["name"], str(c["passed"]), _number(c["baseline"]), _number(c["candidate"]), c["threshold"], c["note"])
        for c in criteria
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
