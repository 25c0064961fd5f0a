"""May planopt write to a table? Only where the workload file says so, and never so that others are locked out."""

from __future__ import annotations

from collections.abc import Sequence

from planopt_assets.model.layout_proposal import LayoutAction
from planopt_assets.model.table_facts import Protocol
from planopt_assets.model.table_properties import ADDS_FEATURE
from planopt_assets.model.workload import Mode, Table


def may_not_write(table: Table, mode: Mode, *, by_hand: bool, unknown_features: tuple[str, ...]) -> tuple[str, str]:
    """Why a table is not written, and what to do. Two empty texts if it may be.

    >>> may_not_write(Table("orders", "/data/orders"), "auto", by_hand=True, unknown_features=())[0]
    'the workload file does not say that planopt may change its layout'
    >>> may_not_write(Table("orders", "/data/orders", maintain="auto"), "auto", by_hand=False, unknown_features=())
    ('', '')
    """
    if unknown_features:
        named = ", ".join(f"`{name}`" for name in unknown_features)
        why = f"it needs {named} of its writers, which planopt does not have"
        return why, "maintain it with the software that has it"
    if table.maintain == "never":
        why = "the workload file does not say that planopt may change its layout"
        return why, f"if the table is yours, write `maintain: by_hand` or `maintain: auto` below `{table.name}:`"
    if by_hand:
        return "", ""
    if table.maintain == "by_hand":
        return "only a person may change its layout", f"planopt maintain {table.name} --apply"
    if mode != "auto":
        return f"the workload's mode is {mode}", f"planopt maintain {table.name} --apply, or `mode: auto`"
    return "", ""


def for_a_person(action: LayoutAction, subset: str = "") -> str:
    """Why automation never does this, whatever the workload file allows; empty if it may. `subset` is what was tried.

    >>> for_a_person("properties")
    'those who write to the table pay for it, and no trial measures them: that is for a person to decide'
    >>> for_a_person("compact", "20 of 266 files")
    'it was tried on 20 of 266 files only: that is for a person to decide'
    >>> for_a_person("checkpoint"), for_a_person("compact")
    ('', '')
    """
    if subset:
        return f"it was tried on {subset} only: that is for a person to decide"
    if action != "properties":
        return ""
    return "those who write to the table pay for it, and no trial measures them: that is for a person to decide"


def may_not_set(table: Table, protocol: Protocol, properties: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Why properties are not set, also on a person's word, and what to do: they would lock others out.

    >>> orders, vectors = Table("orders", "/data/orders"), [("delta.enableDeletionVectors", "true")]
    >>> may_not_set(orders, Protocol(1, 2), vectors)[0]
    'software without the table feature `deletionVectors` could no longer read it or write to it'
    >>> may_not_set(orders, Protocol(1, 2), [("delta.autoOptimize.autoCompact", "true")])
    ('', '')
    """
    after = protocol_with(protocol, properties)
    why = locked_out(protocol, after, table.features)
    if not why:
        return "", ""
    added = ", ".join(sorted({*after.reader_features} - {*protocol.reader_features}))
    return why, f"if nobody needs such software, write `features: [{added}]` below `{table.name}:`"


def protocol_with(before: Protocol, properties: Sequence[tuple[str, str]]) -> Protocol:
    """The protocol of a table once these properties are set.

    >>> protocol_with(Protocol.of(1, 2), [("delta.enableDeletionVectors", "true")])
    Protocol(min_reader=3, min_writer=7, reader_features=('deletionVectors',), writer_features=('appendOnly', \
'deletionVectors', 'invariants'))
    """
    added = {ADDS_FEATURE[name] for name, value in properties if name in ADDS_FEATURE and value == "true"}
    if added <= {*before.reader_features}:
        return before
    return Protocol.of(3, 7, {*before.reader_features, *added}, {*before.writer_features, *added})


def locked_out(before: Protocol, after: Protocol, allowed: tuple[str, ...] = ()) -> str:
    """Who could no longer use a table whose protocol became `after`. Empty: nobody, or the workload file allows it.

    >>> clustered = Protocol(1, 7, (), ("appendOnly", "clustering", "domainMetadata", "invariants"))
    >>> locked_out(Protocol(1, 2), clustered)
    'software without the table features `clustering`, `domainMetadata` could no longer write to it'
    >>> locked_out(Protocol(1, 2), clustered, ("clustering",))
    ''
    """
    read = _new(before.reader_features, after.reader_features, after.min_reader > before.min_reader)
    write = _new((*before.writer_features, *_IMPLIED.get(before.min_writer, ())), after.writer_features, False)
    needed = [name for name in dict.fromkeys((*read, *write)) if not _is_allowed(name, allowed)]
    if not needed:
        return ""
    named = ", ".join(f"`{name}`" for name in needed)
    verb = "read it or write to it" if any(name in read for name in needed) else "write to it"
    return f"software without the table feature{'s'[: len(needed) > 1]} {named} could no longer {verb}"


_LEGACY = ("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping")
_IMPLIED = {version: _LEGACY[:count] for version, count in ((2, 2), (3, 3), (4, 5), (5, 6), (6, 6))}
"""What a writer of an older protocol version has to know: the same as a table feature of version 7."""

_COMES_WITH = {"domainMetadata": "clustering"}
"""Features that another one brings with it: who allows the one allows the other."""


def _new(before: tuple[str, ...], after: tuple[str, ...], raised: bool) -> list[str]:
    added = sorted(set(after) - set(before))
    return added or (["a newer reader"] if raised else [])


def _is_allowed(name: str, allowed: tuple[str, ...]) -> bool:
    return name in allowed or _COMES_WITH.get(name) in allowed
