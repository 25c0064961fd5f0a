"""A layout taken back in one commit, only where no row written since would be lost; settings put back at any time."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from planopt_assets.delta.damages import file_damages
from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import FileChange, changes_rows, is_own, marked_commits
from planopt_assets.engine.delta.failures import conflicts, failures, first_line, repeated
from planopt_assets.engine.delta.own_session import cluster_by, marked_session, set_properties, unset_properties
from planopt_assets.engine.jvm.active_session import active
from planopt_assets.errors import UndoRefused
from planopt_assets.model.data_file import DataFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from planopt_assets.delta.log_files import Json

_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:/")
_ROW_IDS = "delta.rowTracking"  # a count that every writer moves on


def restore(spark: SparkSession, name: str, location: str, *, to: int, action_id: str) -> FileChange:
    """The files, properties and clustering columns of version `to` again, in one commit that changes no rows.

    Not by RESTORE: what others commit between a check and RESTORE's own reading would be lost, and no second RESTORE
    brings it back if they go on. Here the version that was checked is the one that Delta compares with at the commit:
    an append that comes in between stays, an update or delete of the same files is a conflict, and all is checked anew.
    The protocol is not lowered.

    Worked: planopt set a property as version 8 and ran OPTIMIZE as version 9 of 7. At version 9 it can be undone; after
    an append as version 10 it cannot, and neither if the append was version 9 and OPTIMIZE version 10: version 7 does
    not have those rows.
    """
    newest = LogFiles(name, location).newest()
    with _refused_by_spark(
        name, f"version {to} cannot be restored", fix="the table is as it was; check the error above"
    ):
        session = marked_session(spark, action_id)
        with active(session):
            repeated(lambda: _restored(session, name, location, to))
    done = marked_commits(location, newest, action_id)
    assert done is not None, "the exchange always commits"
    return done


def put_back(
    spark: SparkSession,
    name: str,
    location: str,
    *,
    properties: Mapping[str, str | None],
    clustering: Sequence[str] | None = None,
    action_id: str,
) -> FileChange:
    """Properties as they were (None: not set), and clustering columns (None: as they are).

    Rows that were written meanwhile are not touched. A second time does no harm.
    """
    newest = LogFiles(name, location).newest()
    with _refused_by_spark(name, "its properties cannot be changed", fix="check the error above and run it again"):
        session = marked_session(spark, action_id)
        with active(session):
            repeated(lambda: _put_back(session, location, properties, clustering))
    done = marked_commits(location, newest, action_id)
    assert done is not None, "a change of properties always commits"
    return done


def _put_back(
    session: SparkSession, location: str, properties: Mapping[str, str | None], clustering: Sequence[str] | None
) -> None:
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(session, location)
    if known := {key: value for key, value in properties.items() if value is not None}:
        set_properties(session, table, known)
    if new := [key for key, value in properties.items() if value is None]:
        unset_properties(session, table, new)
    if clustering is not None:
        cluster_by(session, table, clustering)


def _restored(session: SparkSession, name: str, location: str, to: int) -> None:
    """One attempt: read the newest version, check what lies between, and commit the exchange against that version."""
    from delta.tables import DeltaTable

    jvm: Any = session._jvm
    table: Any = DeltaTable.forPath(session, location)._jdt.table()
    log, none = table.deltaLog(), jvm.scala.Option.empty()
    now: Any = log.update(False, none, none)
    check_only_layout(LogFiles(name, location), name, after=to, newest=int(now.version()))
    then: Any = log.getSnapshotAt(to, *(getattr(log, f"getSnapshotAt$default${place}")() for place in (2, 3, 4)))
    new, old = _entries(now), _entries(then)
    back = [entry for path, entry in old.items() if path not in new]
    _check_files(session, name, location, [DataFile(str(e.path()), int(e.size())) for e in back])
    at = round(time.time() * 1000)
    gone = [entry.removeWithTimestamp(at, False) for path, entry in new.items() if path not in old]
    delta: Any = jvm.org.apache.spark.sql.delta
    domains = getattr(getattr(delta, "DomainMetadataUtils$"), "MODULE$").handleDomainMetadataForRestoreTable(then, now)
    actions = [*back, *gone, *_each(domains)]
    change = log.startTransaction(table.catalogTable(), jvm.scala.Option.apply(now))
    if not now.metadata().configuration().equals(then.metadata().configuration()):
        change.updateMetadata(_with_properties(now.metadata(), then.metadata().configuration()), False)
    operation = getattr(getattr(delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
    change.commit(jvm.org.apache.spark.api.python.PythonUtils.toSeq(actions), operation)


def _entries(snapshot: Any) -> dict[str, Any]:
    """The list of files by path, as Delta keeps it. A layout gives every file that it writes a new name."""
    return {str(entry.path()): entry for entry in snapshot.allFiles().collectAsList()}


def _each(sequence: Any) -> Iterator[Any]:
    found = sequence.iterator()
    while found.hasNext():
        yield found.next()


def _with_properties(metadata: Any, properties: Any) -> Any:
    kept = [getattr(metadata, f)() for f in ("id", "name", "description", "format", "schemaString", "partitionColumns")]
    return metadata.copy(*kept, properties, metadata.createdTime())


@contextmanager
def _refused_by_spark(name: str, what: str, *, fix: str) -> Iterator[None]:
    try:
        yield
    except conflicts() as error:
        raise UndoRefused(
            f"other writers were faster each time: {first_line(error)}",
            where=f"table {name}",
            fix="run it again when fewer write to the table",
        ) from error
    except failures() as error:
        raise UndoRefused(f"{what}: {first_line(error)}", where=f"table {name}", fix=fix) from error


def check_only_layout(log: LogFiles, name: str, *, after: int, newest: int) -> None:
    """Refuse if one of these versions has rows, a schema or properties of others: the version before has them not."""
    for version in range(after + 1, newest + 1):
        actions = list(log.commit_actions(version))
        if is_own(actions):  # the action itself, and what planopt did later and took back before this
            continue
        if not actions or changes_rows(actions) or _is_definition(actions):
            raise UndoRefused(
                f"version {version} was written after it began, and version {after} does not have what is in it",
                where=f"table {name}",
                fix="leave the layout as it is; a new proposal follows if it does harm",
            )


def _is_definition(actions: list[Json]) -> bool:
    """Whether a commit changes the schema, properties, the protocol or clustering columns."""
    domains = [action["domainMetadata"].get("domain") for action in actions if "domainMetadata" in action]
    kinds: set[Any] = {kind for action in actions for kind in action}
    return bool(kinds & {"metaData", "protocol"}) or any(domain != _ROW_IDS for domain in domains)


def _check_files(session: SparkSession, name: str, location: str, files: Sequence[DataFile]) -> None:
    """Refuse if a file that is needed again is gone, or is not what was written: VACUUM may have deleted it."""
    elsewhere = [f for f in files if _ABSOLUTE.match(f.path)]  # the table is a shallow clone
    own = [f for f in files if f not in elsewhere]
    damage = next(file_damages(LogFiles(name, location).folder, own, most_bytes=0), None)
    lost = damage.file if damage else next((f.path for f in elsewhere if not _exists(session, f.path)), "")
    if lost:
        raise UndoRefused(
            f"its old file {lost} is gone or damaged: VACUUM may have deleted it",
            where=f"table {name}",
            fix="leave the layout as it is: the table is as it was",
        )


def _exists(session: SparkSession, path: str) -> bool:
    jvm: Any = session._jvm
    file = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(path))
    return bool(file.getFileSystem(session._jsc.hadoopConfiguration()).exists(file))
