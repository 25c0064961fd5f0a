"""Tables for people: one line each, and everything that is known of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from planopt_assets.maintain.quantities import hours, megabytes, number
from planopt_assets.report.columns import Cell, print_columns
from planopt_assets.report.layout_verdicts import print_verdict, verdict_facts
from planopt_assets.report.maintenance_actions import action_facts, action_lines
from planopt_assets.report.terminal import console

if TYPE_CHECKING:
    from planopt_assets.loop.table_standing import TableStanding
    from planopt_assets.maintain.layout_memory import Remembered
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.table_readiness import TableReadiness

Seen = tuple["TableReadiness", Sequence["LayoutProposal"]]
NOTHING: Mapping[str, Any] = MappingProxyType({})
_SEVERITIES = {"error": "red", "warning": "yellow", "note": "dim"}


def table_facts(
    readiness: TableReadiness, proposals: Sequence[LayoutProposal], known: Mapping[str, Remembered] = NOTHING
) -> dict[str, Any]:
    """One object per table, as `planopt tables --json` prints it; `known` is what is remembered of proposals, by id."""
    return {
        "table": readiness.table,
        "version": readiness.version,
        "ready": readiness.ready,
        "integrity": readiness.integrity,
        "files": readiness.files,
        "bytes": readiness.bytes,
        "rows": readiness.rows,
        "debt_files": readiness.debt,
        "read_by": list(readiness.read_by),
        "findings": [asdict(f) for f in readiness.findings],
        "proposals": [_proposal(p, known.get(p.id)) for p in proposals],
    }


def why_table_facts(standing: TableStanding, seen: Seen, known: Mapping[str, Remembered] = NOTHING) -> dict[str, Any]:
    """The same with all details: columns, sizes, growth, earlier looks, verdicts and actions."""
    readiness, proposals = seen
    return {
        **table_facts(readiness, proposals, known),
        "location": readiness.location,
        "sizes": [asdict(s) for s in readiness.sizes],
        "columns": [asdict(c) for c in readiness.columns],
        "clustered_by": list(readiness.clustering_columns),
        "partitioned_by": list(readiness.partition_columns),
        "protocol": asdict(readiness.protocol),
        "partitions": readiness.partitions,
        "largest_partition_bytes": readiness.largest_partition_bytes,
        "median_partition_bytes": readiness.median_partition_bytes,
        "deletion_vector_files": readiness.deletion_vector_files,
        "deleted_rows": readiness.deleted_rows,
        "commits_since_checkpoint": readiness.commits_since_checkpoint,
        "log_files": readiness.log_files,
        "log_bytes": readiness.log_bytes,
        "log_retention_hours": readiness.log_retention_hours,
        "deleted_file_retention_hours": readiness.deleted_file_retention_hours,
        "commits_per_day": readiness.commits_per_day,
        "files_per_day": readiness.files_per_day,
        "bytes_per_day": readiness.bytes_per_day,
        "history": [
            {
                "at": r.stamp.recorded_at.isoformat(timespec="seconds"),
                "version": r.version,
                "files": r.files,
                "debt": r.debt,
            }
            for r in standing.history
        ],
        "verdicts": [verdict_facts(v) for v in standing.verdicts],
        "actions": [action_facts(a) for a in standing.actions],
    }


def print_tables(facts: Iterable[Mapping[str, Any]]) -> None:
    """One line per table: size, files, debt, who reads it, what is proposed and what is wrong."""
    header = ("table", "version", "size", "files", "too many", "read by", "proposed", "findings")
    print_columns(console(), header, map(_row, facts))


def print_why_table(facts: Mapping[str, Any]) -> None:
    out = console()
    state = "ready" if facts["ready"] else "not ready"
    size = f"{number(facts['files'])} files, {megabytes(facts['bytes'])}, {number(facts['debt_files'])} files too many"
    out.print(
        f"{facts['table']}: {state}, version {facts['version']}, {size}", style="bold", markup=False, soft_wrap=True
    )
    out.print(f"read by {', '.join(facts['read_by']) or 'no query'}; integrity {facts['integrity']}", soft_wrap=True)
    for line in _state_lines(facts):
        out.print(line, markup=False, soft_wrap=True)
    for finding in facts["findings"]:
        command = f"\n           {finding['command']}" if finding["command"] else ""
        out.print(
            f"\n{finding['severity']:<9}{finding['cause']}: {finding['consequence']}{command}",
            markup=False,
            soft_wrap=True,
        )
    if facts["columns"]:
        out.print()
        rows = [
            (
                c["column"],
                str(c["files_with_range"]),
                "-" if c["depth"] is None else f"{c['depth']:.1f}",
                ", ".join(c["used_by"]),
            )
            for c in facts["columns"]
        ]
        print_columns(out, ("column", "files with a range", "files of one value", "used by"), rows)
    for proposal in facts["proposals"]:
        _print_proposal(proposal)
    for verdict in facts["verdicts"]:
        print_verdict(verdict)
    for action in facts["actions"]:
        out.print("\n" + "\n           ".join(action_lines(action)), markup=False, soft_wrap=True)


def _state_lines(facts: Mapping[str, Any]) -> list[str]:
    """Growth, protocol, retention, log; partitions and deletion vectors where there are any. Unknown is left out."""
    lines = []
    if facts["files_per_day"] is not None:
        commits = "" if facts["commits_per_day"] is None else f" in {facts['commits_per_day']:,.1f} commits"
        size = megabytes(facts["bytes_per_day"])
        lines.append(f"grows by {facts['files_per_day']:,.0f} files and {size} a day{commits}")
    if (protocol := facts["protocol"])["min_reader"]:
        features = ", ".join(dict.fromkeys([*protocol["reader_features"], *protocol["writer_features"]]))
        versions = f"reader version {protocol['min_reader']}, writer version {protocol['min_writer']}"
        lines.append(f"protocol: {versions}{f' ({features})' if features else ''}")
    if facts["deleted_file_retention_hours"] is not None:
        kept = hours(facts["deleted_file_retention_hours"])
        lines.append(f"retention: replaced files {kept}, log {hours(facts['log_retention_hours'])}")
    if facts["log_files"] is not None:
        tail = f"{number(facts['commits_since_checkpoint'])} commits since the checkpoint"
        lines.append(f"log: {number(facts['log_files'])} files, {megabytes(facts['log_bytes'])}, {tail}")
    if facts["partitions"] is not None:
        largest, middle = (megabytes(facts[f"{which}_partition_bytes"]) for which in ("largest", "median"))
        by, count = ", ".join(facts["partitioned_by"]), number(facts["partitions"])
        lines.append(f"partitions by {by}: {count}, largest {largest}, median {middle}")
    if facts["deletion_vector_files"]:
        marked = f"{number(facts['deleted_rows'])} deleted rows in {number(facts['deletion_vector_files'])} files"
        lines.append(f"deletion vectors: {marked}")
    return lines


def _print_proposal(proposal: Mapping[str, Any]) -> None:
    out = console()
    even = "" if proposal["break_even_days"] is None else f"; break-even after {proposal['break_even_days']:.1f} days"
    out.print(f"\nproposed {proposal['words']}: {proposal['reason']}{even}", markup=False, soft_wrap=True)
    if proposal["bytes_rewritten"]:
        size = f"{megabytes(proposal['bytes_rewritten'])} of {megabytes(proposal['bytes_before'])}"
        files = f"files {number(proposal['files_before'])} -> {number(proposal['files_after'])}"
        cost = f"rewrites {size}, {files}, about {proposal['rewrite_cpu_s']:.1f} s CPU"
        out.print(f"           {cost}", markup=False, soft_wrap=True)
    if proposal["state"]:
        said = f"{proposal['state'].replace('_', ' ')}: {proposal['state_why']}"
        out.print(f"           {said}", markup=False, soft_wrap=True)
    if proposal["writers"]:
        out.print(f"           writers: {proposal['writers']}", markup=False, soft_wrap=True)
    if proposal["locks_out"]:
        out.print(f"           locks out: {proposal['locks_out']}", markup=False, soft_wrap=True)
    rows = [
        (
            e["query_id"],
            f"{e['runs_per_day']:g}",
            f"{e['files_before']:,} -> {e['files_after']:,}",
            f"{megabytes(e['bytes_before'])} -> {megabytes(e['bytes_after'])}",
            f"{e['saving_cpu_ns'] / 1e9:+.2f} s",
        )
        for e in proposal["expected"]
    ]
    if rows:
        print_columns(out, ("query", "runs a day", "files read", "bytes read", "CPU saved a run"), rows)
    for name, value in proposal["arithmetic"].items():
        out.print(
            f"           {name} = {value:,}" if isinstance(value, int) else f"           {name} = {value}", markup=False
        )


def _row(facts: Mapping[str, Any]) -> list[str | Cell]:
    worst = next((f["severity"] for f in facts["findings"] if f["severity"] != "note"), "")
    said = ", ".join(dict.fromkeys(f["cause"] for f in facts["findings"] if f["severity"] != "note"))
    return [
        facts["table"],
        str(facts["version"]) if facts["version"] >= 0 else "-",
        megabytes(facts["bytes"]),
        number(facts["files"]),
        number(facts["debt_files"]),
        ", ".join(facts["read_by"]) or "-",
        "; ".join(map(_proposed, facts["proposals"])) or "-",
        Cell(said or "ready", _SEVERITIES.get(worst, "green")),
    ]


def _proposed(proposal: Mapping[str, Any]) -> str:
    """With the reason why it is not tried, if it is not: `planopt why TABLE` has all of it."""
    if proposal["state"] in (None, "due"):
        return str(proposal["words"])
    said = proposal["state_why"].partition(":")[0] if proposal["state"] != "proven" else "proven"
    return f"{proposal['words']} ({said})"


def _proposal(proposal: LayoutProposal, known: Remembered | None) -> dict[str, Any]:
    return {
        "id": proposal.id,
        "state": known.state if known else None,
        "state_why": known.why if known else None,
        "error_budget": known.error.facts() if known else None,
        "words": proposal.describe(),
        "action": proposal.action,
        "columns": list(proposal.columns),
        "target_file_bytes": proposal.target_file_bytes,
        "properties": dict(proposal.properties),
        "files_before": proposal.files_before,
        "bytes_before": proposal.bytes_before,
        "files_after": proposal.files_after,
        "bytes_rewritten": proposal.bytes_rewritten,
        "rewrite_cpu_s": proposal.rewrite_cpu_ns / 1e9,
        "saving_cpu_s_per_day": proposal.saving_cpu_ns_per_day / 1e9,
        "break_even_days": proposal.break_even_days,
        "writers": proposal.writers,
        "locks_out": proposal.locks_out,
        "reason": proposal.reason,
        "gain": list(proposal.gain),
        "lose": list(proposal.lose),
        "expected": [asdict(e) for e in proposal.expected],
        "arithmetic": dict(proposal.arithmetic),
    }
