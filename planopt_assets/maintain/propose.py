"""Layout proposals for one table, from the stored scans of all queries that read it. Few, each with its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from planopt_assets.maintain.file_sizes import compaction_bins, target_file_bytes
from planopt_assets.maintain.findings import LONG_TAIL, MANY_SMALL
from planopt_assets.maintain.keep_properties import keeping
from planopt_assets.maintain.layouts import (
    Layout,
    layout_of_bins,
    layout_with_statistics,
    scales_of,
    sorted_layout,
)
from planopt_assets.maintain.predicates import columns_of
from planopt_assets.maintain.prices import (
    CHECKPOINT_NS,
    COMMIT_NS,
    MERGE_ROW_NS,
    SMALLEST_SORTED,
    SORT_ROW_NS,
    STATISTICS_ROW_NS,
)
from planopt_assets.maintain.subject import Subject
from planopt_assets.maintain.table_use import QueryUse
from planopt_assets.maintain.weigh import Weighed, weigh
from planopt_assets.model.layout_proposal import LayoutAction, LayoutProposal
from planopt_assets.model.table_facts import TableFacts
from planopt_assets.model.table_properties import STATISTICS

BETTER_THAN_MERGING = 1.1  # a sorted table has to be kept sorted: a little more than merging is not worth it
AS_GOOD = 0.95  # of the best net gain: fewer columns and larger files win then
FEWEST_SORTED = 4  # files: in fewer, sorting skips next to nothing, and is only another word for merging
SINGLES, PAIRED = 4, 3  # columns that are tried alone, and in pairs


def filter_columns(uses: Sequence[QueryUse]) -> tuple[str, ...]:
    """Columns by which files could be skipped, each once, in the order of the queries."""
    return tuple(dict.fromkeys(c for use in uses for scan in use.scans for c in columns_of(scan.test)))


def layout_proposals(subject: Subject) -> tuple[LayoutProposal, ...]:
    """The best rewrite of the table, merging as a second choice, and what concerns its log and properties alone."""
    if not subject.files or not subject.uses:
        return ()
    found = [*_rewrites(subject), *([checkpoint] if (checkpoint := _checkpoint(subject)) else [])]
    if subject.laid_out or any(p.rewrites for p in found):
        return keeping(subject, found)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Option:
    """One way to lay the table out."""

    action: LayoutAction
    columns: tuple[str, ...]
    target: int
    layout: Layout
    weighed: Weighed
    rewritten: int

    @property
    def name(self) -> str:
        size = f"{self.target // 2**20} MiB" if self.target else ""
        return " ".join(part for part in (self.action, ", ".join(self.columns), size) if part)


def _rewrites(subject: Subject) -> list[LayoutProposal]:
    """The best of merging files and sorting them anew, if it pays.

    Merging follows where sorting is better: sorted rows lose the order in which they came, and a query that gains
    nothing by the new one may shuffle more bytes than it may. Then merging is tried, instead of nothing.
    """
    scales = scales_of(subject.facts, filter_columns(subject.uses), subject.files, subject.sample)
    now = layout_of_bins([[f] for f in subject.files], scales)
    merged = _merged(subject, now)
    considered = [o for o in (merged, _told(subject, now), *_sorted_options(subject, now)) if o is not None]
    options = [o for o in considered if o.weighed.pays]
    if not options:
        return []
    best = max(o.weighed.net_ns for o in options)
    near = [o for o in options if o.weighed.net_ns >= AS_GOOD * best]
    chosen = min(near, key=lambda o: (len(o.columns), -o.target))
    second = [merged] if merged is not None and merged.weighed.pays and chosen is not merged else []
    if second and chosen.weighed.net_ns < BETTER_THAN_MERGING * second[0].weighed.net_ns:
        chosen, second = second[0], []
    return [_proposal(subject, option, considered) for option in (chosen, *second)]


def _merged(subject: Subject, now: Layout) -> _Option | None:
    target = target_file_bytes(subject.bytes, subject.cores)
    bins = compaction_bins(subject.files, target)
    rewritten = [f for b in bins if len(b) > 1 for f in b]
    if len(subject.files) - len(bins) < MANY_SMALL:
        return None
    after = layout_of_bins(bins, now.ranges.scales)
    size = sum(f.bytes for f in rewritten)
    grows = subject.grown.files or 0.0
    back = (len(subject.files) - len(bins)) / grows if grows > 0 else None
    weighed = _weighed(subject, now, after, round(size / subject.row_bytes * MERGE_ROW_NS), back)
    return _Option("compact", (), target, after, weighed, size)


def _told(subject: Subject, now: Layout) -> _Option | None:
    """Statistics of columns that queries filter on and the log does not tell: no data file is written."""
    missing = tuple(
        c
        for c, least in now.ranges.least.items()
        if bool(np.isnan(least).any()) and subject.sample.columns.get(c) and c not in subject.facts.partition_columns
    )
    if not missing:
        return None
    after = layout_with_statistics(subject.files, subject.sample, now.ranges.scales, missing)
    weighed = _weighed(subject, now, after, subject.rows * STATISTICS_ROW_NS)
    return _Option("statistics", missing, 0, after, weighed, 0)


def _sorted_options(subject: Subject, now: Layout) -> list[_Option]:
    """Single columns first; the best of them in pairs. Nothing to sort by where no query filters."""
    usable = [c for c in now.ranges.scales if c not in subject.facts.partition_columns and c in subject.sample.columns]
    if not subject.sample.rows:
        return []
    most = target_file_bytes(subject.bytes, subject.cores)
    targets = [t for t in (most, most // 2, most // 4) if t >= SMALLEST_SORTED]
    singles = [_sorted(subject, now, (c,), t) for c in usable for t in targets]
    ranked = sorted(singles, key=lambda o: -o.weighed.net_ns)
    promising = list(dict.fromkeys(o.columns[0] for o in ranked if o.weighed.saving_ns_per_day > 0))
    pairs = [_sorted(subject, now, pair, t) for pair in combinations(promising[:PAIRED], 2) for t in targets]
    kept = set(promising[:SINGLES])
    return [o for o in (*ranked, *pairs) if o.columns[0] in kept and o.layout.files >= FEWEST_SORTED]


def _sorted(subject: Subject, now: Layout, columns: tuple[str, ...], target: int) -> _Option:
    after = sorted_layout(subject.files, subject.sample, now.ranges.scales, columns, target)
    weighed = _weighed(subject, now, after, subject.rows * SORT_ROW_NS)
    action: LayoutAction = "cluster" if subject.facts.clustering_columns else "zorder"
    return _Option(action, columns, target, after, weighed, subject.bytes)


def _weighed(
    subject: Subject, now: Layout, after: Layout, rewrite_cpu_ns: int, regrowth_days: float | None = None
) -> Weighed:
    return weigh(
        subject.uses,
        subject.facts.version,
        now,
        after,
        row_bytes=subject.row_bytes,
        rewrite_cpu_ns=rewrite_cpu_ns,
        grown=subject.grown,
        regrowth_days=regrowth_days,
    )


def _proposal(subject: Subject, chosen: _Option, considered: Sequence[_Option]) -> LayoutProposal:
    facts, weighed = subject.facts, chosen.weighed
    best_of: dict[tuple[str, ...], _Option] = {}
    for option in considered:
        other = best_of.get(option.columns)
        if other is None or option.weighed.net_ns > other.weighed.net_ns:
            best_of[option.columns] = option
    arithmetic: dict[str, int | float | str] = {
        "rows": subject.rows,
        "cores": subject.cores,
        **weighed.arithmetic(),
        **{f"net_ns of {o.name}": round(o.weighed.net_ns) for o in best_of.values()},
    }
    if weighed.regrowth_days is not None:
        arithmetic["debt_is_back_after_days"] = weighed.regrowth_days
    return LayoutProposal(
        facts.name,
        facts.table_id,
        facts.version,
        chosen.action,
        columns=chosen.columns,
        target_file_bytes=chosen.target or None,
        properties=_statistics(facts, chosen.columns),
        files_before=len(subject.files),
        bytes_before=subject.bytes,
        files_after=chosen.layout.files,
        bytes_rewritten=chosen.rewritten,
        expected=weighed.expected,
        rewrite_cpu_ns=weighed.rewrite_cpu_ns,
        break_even_days=weighed.break_even_days,
        writers="none: new files are appended as before, and are merged or sorted by the next proposal",
        reason=_reason(subject, chosen),
        arithmetic=tuple(arithmetic.items()),
        evidence_ids=(facts.ref, *(use.observation_id for use in subject.uses)),
    )


def _reason(subject: Subject, chosen: _Option) -> str:
    weighed = chosen.weighed
    gains = sum(e.gains for e in weighed.expected)
    loses = sum(e.loses for e in weighed.expected)
    read = [
        sum(getattr(e, name) * e.runs_per_day for e in weighed.expected) for name in ("files_before", "files_after")
    ]
    words = (
        f"{len(subject.files)} files of {subject.bytes / len(subject.files) / 2**20:.1f} MiB on average become "
        f"{chosen.layout.files}; the files read a day fall from {read[0]:,.0f} to {read[1]:,.0f}, which saves about "
        f"{weighed.saving_ns_per_day / 1e9:.1f} s CPU a day for {weighed.rewrite_cpu_ns / 1e9:.1f} s once; "
        f"{gains} queries gain"
    )
    return f"{words}, {loses} lose" if loses else words


def _statistics(facts: TableFacts, columns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """A column without statistics skips nothing: new files must have its ranges."""
    missing = [c for c in columns if c not in facts.statistics_columns]
    if not missing:
        return ()
    return ((STATISTICS, ",".join([*facts.statistics_columns, *missing])),)


def _checkpoint(subject: Subject) -> LayoutProposal | None:
    """Every session that reads the table for the first time reads the whole tail of its log."""
    tail = subject.commits_since_checkpoint
    runs = sum(use.runs_per_day for use in subject.uses)
    saving = round(tail * COMMIT_NS * runs)
    if tail <= LONG_TAIL or saving * 30 <= CHECKPOINT_NS:
        return None
    facts = subject.facts
    return LayoutProposal(
        facts.name,
        facts.table_id,
        facts.version,
        "checkpoint",
        files_before=len(subject.files),
        files_after=len(subject.files),
        bytes_before=subject.bytes,
        rewrite_cpu_ns=CHECKPOINT_NS,
        break_even_days=CHECKPOINT_NS / saving,
        writers="none",
        reason=f"{tail} commits follow the last checkpoint; a run in a new session reads each of them",
        arithmetic=(("commits", tail), ("cpu_ns_per_commit", COMMIT_NS), ("runs_per_day", runs)),
        evidence_ids=(facts.ref, *(use.observation_id for use in subject.uses)),
    )
