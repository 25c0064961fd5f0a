"""Table properties that keep a layout: proposed where the log speaks for them, each with its cost for those who write.

A property that somebody has set, to whatever value, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planopt_assets.maintain.permission import locked_out, protocol_with
from planopt_assets.maintain.prices import MERGE_ROW_NS
from planopt_assets.maintain.subject import Subject
from planopt_assets.model.decision import Arithmetic
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.table_properties import (
    AUTO_COMPACT,
    AUTO_COMPACT_FILES,
    DELETION_VECTORS,
    OPTIMIZE_WRITE,
)

MANY_AT_ONCE = 4  # files of one append
FEWEST_CHANGES = 3  # commits that delete or update rows: fewer are no habit
COPIED_FOR_ONE = 10  # rows that are written again for each one that changes
NOT_WITH_VECTORS = frozenset({"icebergCompatV1", "icebergCompatV2"})  # table features


@dataclass(frozen=True, slots=True)
class Wish:
    """A property that the log speaks for."""

    reason: str
    writers: str  # what it costs those who write to the table, and those who read what they wrote
    arithmetic: Arithmetic


Answer = Wish | str
"""A wish, or why there is none."""


def keeping(subject: Subject, found: Sequence[LayoutProposal]) -> tuple[LayoutProposal, ...]:
    """The proposals of a table with those of its properties; the first one says of the other properties why not."""
    answers = {name: _answer(subject, name, ask) for name, ask in PROPERTIES}
    everything = [*found, *(_proposal(subject, name, a) for name, a in answers.items() if isinstance(a, Wish))]
    unasked = tuple((name, f"not proposed: {a}") for name, a in answers.items() if isinstance(a, str))
    if not everything:
        return ()
    first = everything[0]
    return replace(first, arithmetic=(*first.arithmetic, *unasked)), *everything[1:]


def set_instead(proposal: LayoutProposal, others: Sequence[LayoutProposal]) -> str:
    """The property among others that is the same remedy for less; empty: there is none."""
    if AUTO_COMPACT not in dict(proposal.properties):
        return ""
    return OPTIMIZE_WRITE if any(OPTIMIZE_WRITE in dict(p.properties) for p in others) else ""


def _answer(subject: Subject, name: str, ask: Callable[[Subject], Answer]) -> Answer:
    value = subject.facts.property(name)
    return ask(subject) if value is None else f"it is set to {value}"


def _proposal(subject: Subject, name: str, wish: Wish) -> LayoutProposal:
    facts, properties = subject.facts, ((name, "true"),)
    return LayoutProposal(
        facts.name,
        facts.table_id,
        facts.version,
        "properties",
        properties=properties,
        files_before=len(subject.files),
        files_after=len(subject.files),
        bytes_before=subject.bytes,
        writers=wish.writers,
        locks_out=locked_out(facts.protocol, protocol_with(facts.protocol, properties)),
        reason=wish.reason,
        arithmetic=wish.arithmetic,
        evidence_ids=(facts.ref,),
    )


def _optimized_writes(subject: Subject) -> Answer:
    """Writers that leave many files at once: let each write merge its own."""
    at_once = subject.grown.files_per_append
    if at_once is None:
        return "the log tells of no append"
    if at_once < MANY_AT_ONCE:
        return f"an append leaves {at_once:.1f} files on average, which merging would not make much fewer"
    return Wish(
        f"an append leaves {at_once:.0f} files on average, so the debt comes back",
        f"every write shuffles its rows once more, and leaves about 1 file instead of {at_once:.0f}",
        (("files_per_append", at_once),),
    )


def _auto_compaction(subject: Subject) -> Answer:
    """Appends that leave many small files: let each be merged afterwards, with those of earlier ones.

    Delta counts small files in the memory of the process that writes them. A process acts on its first write to a
    partition, and then whenever enough files have come together. The log does not tell processes apart: only a commit
    that leaves enough files alone is sure to be acted on.
    """
    writes = subject.writes
    if not writes.appends:
        return "the log tells of no append"
    if 2 * writes.compactable < writes.appends:
        return (
            f"it is not sure to act: after the first write of a process it needs {AUTO_COMPACT_FILES} small files in a "
            f"partition, and {writes.compactable} of {writes.appends} appends leave so many, none more than "
            f"{writes.most_small_files}"
        )
    if subject.facts.property(OPTIMIZE_WRITE) == "true":
        return f"{OPTIMIZE_WRITE} is on, which merges the files of a write before they are written"
    return Wish(
        f"{writes.compactable} of {writes.appends} appends leave at least {AUTO_COMPACT_FILES} small files in a "
        f"partition, so auto compaction acts on them; {OPTIMIZE_WRITE} costs writers less: this is for those who do "
        "not want it",
        "a write that leaves so many files is followed by a second job, for which it waits: all small files of its "
        "partitions, also of earlier writes, are read and written again in a commit of its own",
        (
            ("appends", writes.appends),
            ("appends_it_acts_on", writes.compactable),
            ("small_files_it_needs", AUTO_COMPACT_FILES),
        ),
    )


def _deletion_vectors(subject: Subject) -> Answer:
    """Deletes, updates and merges that copy whole files for a few rows: let them mark the rows instead.

    Worked: 6 updates changed 60 rows and wrote 3,000,000 others again, 72 MB. The table has 48 MB: it was written anew
    more than once, and its layout with it.
    """
    writes = subject.writes
    forbidding = sorted(NOT_WITH_VECTORS.intersection(subject.facts.protocol.features))
    if forbidding:
        return f"{forbidding[0]} forbids them"
    if writes.row_changes < FEWEST_CHANGES:
        return f"the log tells of {writes.row_changes} commits that delete or update rows, {FEWEST_CHANGES} are needed"
    copied = (
        f"{writes.row_changes} commits that deleted or updated {writes.changed_rows:,} rows wrote "
        f"{writes.copied_rows:,} others again, {writes.copied_bytes / 1e6:,.1f} MB"
    )
    if writes.copied_rows < COPIED_FOR_ONE * writes.changed_rows:
        return f"{copied}: fewer than {COPIED_FOR_ONE} for each"
    if writes.copied_bytes < subject.bytes:
        return f"{copied}: less than the table has, {subject.bytes / 1e6:,.1f} MB"
    return Wish(
        f"{copied}; the table has {subject.bytes / 1e6:,.1f} MB, so its layout is written over again and again",
        f"a delete, update or merge marks rows instead of copying their files, about "
        f"{writes.copied_bytes / writes.row_changes / 1e6:,.1f} MB less each, and writes updated rows into new small "
        "files. Readers pay: every scan reads the marks and throws the marked rows away, until OPTIMIZE or REORG TABLE "
        "… APPLY (PURGE) writes these files anew. Taken back, marks and protocol stay",
        (
            ("commits", writes.row_changes),
            ("changed_rows", writes.changed_rows),
            ("copied_rows", writes.copied_rows),
            ("copied_bytes", writes.copied_bytes),
            ("copied_cpu_ns", writes.copied_rows * MERGE_ROW_NS),
        ),
    )


PROPERTIES: tuple[tuple[str, Callable[[Subject], Answer]], ...] = (
    (OPTIMIZE_WRITE, _optimized_writes),  # first: every row is written once
    (AUTO_COMPACT, _auto_compaction),  # instead of the first one: rows are written twice and more
    (DELETION_VECTORS, _deletion_vectors),  # last: it raises the protocol
)
