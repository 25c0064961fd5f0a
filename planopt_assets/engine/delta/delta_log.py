"""A table's newest version and metadata, from its log alone: no Spark, no list of files.

delta-rs refuses a table with an unknown reader feature, and loads the list of all files of every other table. Here only
three small kinds of actions are replayed, from the newest checkpoint on, whatever features the table has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planopt_assets.delta.log_files import Json, LogFiles
from planopt_assets.delta.own_commits import rows_head
from planopt_assets.observe.tables.table_metadata import protocol_of, table_facts

if TYPE_CHECKING:
    from planopt_assets.model.table_facts import TableFacts

_REPLAYED = ("protocol", "metaData", "domainMetadata")


def newest_version(location: str) -> int:
    """The version a reader sees now, from one listing of the log. A log with a gap is an error."""
    log = LogFiles(location, location)
    newest = log.newest()
    log.commits(newest)
    return newest


def read_table_facts(name: str, location: str, version: int | None = None) -> TableFacts:
    """The facts about a table at a version, by default the newest."""
    log = LogFiles(name, location)
    newest = log.newest()
    version = newest if version is None else version
    try:
        state = _replay(log, version)
        committed_at, head = _committed_at(log, version), log.head(version)
        checksum = log.checksum(version)
        if state.protocol is None or state.metadata is None:
            raise log.damaged(f"its log has no protocol or no metadata up to version {version}")
        if not _agrees(checksum, state.protocol, state.metadata):
            raise log.damaged(f"its checksum file and its commits differ in schema or protocol at version {version}")
        return table_facts(
            name,
            location,
            version,
            protocol=state.protocol,
            metadata=state.metadata,
            domains=state.domains,
            committed_at_ms=committed_at,
            files=checksum.get("numFiles"),
            size=checksum.get("tableSizeBytes"),
            head=head,
            rows_head=rows_head(log, version),
        )
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # JSON, but not what Delta writes
        raise log.damaged(f"its metadata at version {version} is malformed: {error!r}") from error


@dataclass
class _State:
    """The newest action of each kind so far."""

    protocol: Json | None = None
    metadata: Json | None = None
    domains: dict[str, str] = field(default_factory=dict)

    def apply(self, action: Json) -> None:
        if protocol := action.get("protocol"):
            self.protocol = protocol
        if metadata := action.get("metaData"):
            # A map is an object in JSON and a list of pairs in Parquet.
            self.metadata = {**metadata, "configuration": dict(metadata.get("configuration") or {})}
        if domain := action.get("domainMetadata"):
            self.domains.pop(domain["domain"], None)
            if not domain.get("removed"):
                self.domains[domain["domain"]] = domain["configuration"]


def _replay(log: LogFiles, version: int) -> _State:
    state = _State()
    commits = log.commits(version)
    for name in log.checkpoint(version)[1]:
        for action in log.checkpoint_actions(name, _REPLAYED):
            state.apply(action)
    for commit in commits:
        for action in log.commit_actions(commit):
            state.apply(action)
    return state


def _committed_at(log: LogFiles, version: int) -> int | None:
    """The time of a commit, as the commit records it, usually in its first line."""
    info: Json = next((a["commitInfo"] for a in log.commit_actions(version) if "commitInfo" in a), {})
    return info.get("inCommitTimestamp") or info.get("timestamp")


def _agrees(checksum: Json, protocol: Json, metadata: Json) -> bool:
    """Whether a checksum file has this protocol and metadata. A difference shows that a commit was truncated."""
    noted = checksum.get("metadata") or metadata
    same = all(noted.get(key) == metadata.get(key) for key in ("id", "schemaString", "configuration"))
    return same and protocol_of(checksum.get("protocol") or protocol) == protocol_of(protocol)
