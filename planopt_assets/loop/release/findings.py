"""What a changed query lost or gained, from two planned sides. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from planopt_assets.decide.planned_cost import density, planned_cpu_ns
from planopt_assets.loop.release.side import Side
from planopt_assets.model.scan import ConjunctOutcome, ScanFacts, ScanOutcome
from planopt_assets.observe.plans.diff import plan_diff, pushed_diff

Severity = Literal["error", "warning", "note"]
COST_LIMIT = 1.25  # of the modelled cost; the model is too coarse to tell less
COST_FLOOR_NS = 50_000_000  # below it nobody notices
BYTES_LIMIT = 1.05
CHOOSES_FILES = ("files", "partitions")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a release changes. An `error` holds it back."""

    severity: Severity
    kind: str  # plan | contract | pushdown | cost | measured | results | refused | settings
    words: str


def compared(before: Side, after: Side) -> list[Finding]:
    """All findings about one binding, the worst first."""
    found = [*_contract(before, after), *_pushdown(before, after), *_cost(before, after)]
    if plan_changes(before, after):
        found.append(Finding("note", "plan", "the plan changes"))
    order: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda f: order[f.severity])


def plan_changes(before: Side, after: Side) -> str:
    """The difference of the two plans, operator by operator, and of what scans push down."""
    parts = (plan_diff(before.plan, after.plan, {}, {}), pushed_diff(before.plan, after.plan))
    return "\n".join(part for part in parts if part)


def _contract(before: Side, after: Side) -> Iterator[Finding]:
    """Whoever reads the result relies on its columns, by name and type. A name may stand there several times."""
    was, now = _types(before), _types(after)
    for name, kinds in was.items():
        found = now.get(name, [])
        if not found:
            yield Finding("error", "contract", f"column {name} is gone from the result")
        elif len(found) < len(kinds):
            yield Finding("error", "contract", f"column {name} was there {len(kinds)} times and is {len(found)} times")
        elif found[: len(kinds)] != kinds:
            words = f"column {name} was {', '.join(kinds)} and is {', '.join(found[: len(kinds)])}"
            yield Finding("error", "contract", words)
    if added := [name for name in now if len(now[name]) > len(was.get(name, []))]:
        yield Finding("note", "contract", f"new in the result: {', '.join(added)}")
    elif before.output != after.output and sorted(before.output) == sorted(after.output):
        yield Finding("warning", "contract", "the columns of the result are in another order")


def _types(side: Side) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, kind in side.output:
        found.setdefault(name, []).append(kind)
    return found


def _pushdown(before: Side, after: Side) -> Iterator[Finding]:
    """A predicate that no longer chooses files, and a table of which clearly more is read.

    Both together are a loss. So is the first alone where a table has one file: reading it whole, it cannot tell what a
    larger one would skip.
    """
    for table in sorted({s.table for s in before.scans} & {s.table for s in after.scans}):
        was, now = _bytes(before.scans, table), _bytes(after.scans, table)
        grew = was is not None and now is not None and now > BYTES_LIMIT * was
        more = f"{table}: {now:,} bytes are read instead of {was:,}" if grew else ""
        idle = [c for o in _of(after.outcomes, table) for c in o.conjuncts if c.used not in CHOOSES_FILES]
        if idle and _choosing(after, table) < _choosing(before, table):
            lost = more or f"{table}: a predicate no longer chooses files"
            error = grew or _one_file(after.scans, table)
            yield Finding("error" if error else "warning", "pushdown", f"{lost}. {_why(idle[0])}")
        elif grew:
            yield Finding("warning", "pushdown", more)


def _one_file(scans: Sequence[ScanFacts], table: str) -> bool:
    return all((s.funnel.total.files or 0) <= 1 for s in scans if s.table == table)


def _choosing(side: Side, table: str) -> int:
    return sum(c.used in CHOOSES_FILES for o in _of(side.outcomes, table) for c in o.conjuncts)


def _why(conjunct: ConjunctOutcome) -> str:
    fix = f". Fix: {conjunct.fix}" if conjunct.fix else ""
    return f"{conjunct.text}: {conjunct.reason}{fix}"


def _of(outcomes: Sequence[ScanOutcome], table: str) -> list[ScanOutcome]:
    return [o for o in outcomes if o.table == table]


def _bytes(scans: Sequence[ScanFacts], table: str) -> int | None:
    """All that is left to read of a table when planning ends. None: a scan does not tell."""
    funnels = [s.funnel for s in scans if s.table == table]
    sizes = [f.total.bytes if f.scanned.bytes is None else f.scanned.bytes for f in funnels]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _cost(before: Side, after: Side) -> Iterator[Finding]:
    known = density((*before.scans, *after.scans))
    was, now = (planned_cpu_ns(side.plan, side.scans, known) for side in (before, after))
    words = f"modelled CPU {was / 1e9:.2f} -> {now / 1e9:.2f} s ({now / was:.2f} x)"
    if now > COST_LIMIT * was and now - was > COST_FLOOR_NS:
        yield Finding("error", "cost", f"{words}, more than {COST_LIMIT:g} x")
    elif now != was:
        yield Finding("note", "cost", words)
