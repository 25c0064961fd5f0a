"""A layout taken back by RESTORE, only where no row written since would be lost; properties put back at any time."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from planopt_assets.delta.log_files import LogFiles
from planopt_assets.delta.own_commits import FileChange, changes_rows, is_own, marked_commits
from planopt_assets.engine.delta.own_session import marked_session, set_properties, unset_properties
from planopt_assets.engine.jvm.active_session import active
from planopt_assets.errors import UndoRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from planopt_assets.delta.log_files import Json


def restore(spark: SparkSession, name: str, location: str, *, applied: int, to: int, action_id: str) -> FileChange:
    """The files of version `to` again; `applied` is the last version of the change to take back.

    RESTORE marks the files as changed data: a stream that reads the table sees its rows once more. It does not lower
    the protocol. Worked: OPTIMIZE made version 8 of 7. At version 8 it can be undone; after an append as version 9 it
    cannot, since version 7 does not have those rows.
    """
    from delta.tables import DeltaTable

    log = LogFiles(name, location)
    newest = log.newest()
    _check_only_layout(log, name, applied, newest)
    session = marked_session(spark, action_id)
    gone = "its files may be gone (VACUUM); the table is as it was"
    with _refused_by_spark(name, f"version {to} cannot be restored", fix=gone):
        DeltaTable.forPath(session, location).restoreToVersion(to)
    done = marked_commits(location, newest, action_id)
    assert done is not None, "RESTORE always commits"
    if overtaken := _rows_between(LogFiles(name, location), newest, done.first):
        # It was not there when the check was made, and RESTORE read it: what it wrote has to come back.
        DeltaTable.forPath(session, location).restoreToVersion(done.first - 1)
        raise UndoRefused(
            f"version {overtaken} was written meanwhile, and version {to} does not have its rows; the table has them "
            f"again",
            where=f"table {name}",
            fix="leave the layout as it is",
        )
    return done


def put_back(
    spark: SparkSession, name: str, location: str, *, properties: Mapping[str, str | None], action_id: str
) -> FileChange:
    """Table properties as they were; None: not set. Rows that were written meanwhile are not touched."""
    from delta.tables import DeltaTable

    newest = LogFiles(name, location).newest()
    session = marked_session(spark, action_id)
    fix = "the table is as it was; check the error above"
    with _refused_by_spark(name, "its properties cannot be changed", fix=fix), active(session):
        table = DeltaTable.forPath(session, location)
        if known := {key: value for key, value in properties.items() if value is not None}:
            set_properties(session, table, known)
        if new := [key for key, value in properties.items() if value is None]:
            unset_properties(session, table, new)
    done = marked_commits(location, newest, action_id)
    assert done is not None, "a change of properties always commits"
    return done


@contextmanager
def _refused_by_spark(name: str, what: str, *, fix: str) -> Iterator[None]:
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        first_line = (str(error).splitlines() or [""])[0]
        raise UndoRefused(f"{what}: {first_line}", where=f"table {name}", fix=fix) from error


def _check_only_layout(log: LogFiles, name: str, applied: int, newest: int) -> None:
    for version in range(applied + 1, newest + 1):
        actions = list(log.commit_actions(version))
        if is_own(actions):  # what planopt did later, it took back before this
            continue
        if not actions or changes_rows(actions) or _is_schema(actions):
            raise UndoRefused(
                f"version {version} was written after it, and RESTORE would take that back too",
                where=f"table {name}",
                fix="leave the layout as it is; a new proposal follows if it does harm",
            )


def _rows_between(log: LogFiles, after: int, before: int) -> int | None:
    written = (v for v in range(after + 1, before) if changes_rows(log.commit_actions(v)))
    return next(written, None)


def _is_schema(actions: list[Json]) -> bool:
    kinds: set[Any] = {kind for action in actions for kind in action}
    return bool(kinds & {"metaData", "protocol"})
