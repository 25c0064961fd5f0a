"""One commit to a table in a folder or in object storage, without Spark: 8 ms where a Spark append takes 400 ms.

delta-rs commits by creating a file that must not exist, which is safe between processes; in object storage that is a
conditional put. (Delta's writer for local files checks first and renames later.) delta-rs does not skip a repeated
transaction. So the transaction is looked up here, in the snapshot that the commit must follow. If that snapshot is no
longer the newest, it is read again. That also shows a commit of our own whose answer was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random

from planopt_assets.delta.place import place
from planopt_assets.delta.refusals import refusal
from planopt_assets.errors import StoreUnreadable, StoreWriteFailed
from planopt_assets.store.opened import opened
from planopt_assets.store.sequence import last_number_of, note, numbered
from planopt_assets.store.table_heads import note_version
from planopt_assets.store.write_profile import settings, writer_properties

if TYPE_CHECKING:
    import pyarrow as pa

    from planopt_assets.delta.place import Place

_ACCESS = "the address, the credentials in the environment and the access"
_SPACE = "that the store can be written and has space"


class _OthersWereFaster(Exception):
    """The snapshot is no longer the newest."""


def commit_through_delta_rs(root: str, table: str, rows: pa.Table, *, app_id: str, version: int, after: int) -> None:
    """Append rows with a number after this one, unless this or a later version of the transaction is committed.

    Creates a missing table.
    """
    try:
        _commit(root, table, rows, app_id, version, after)
    except _OthersWereFaster as error:
        raise StoreWriteFailed(
            f"could not append to {table}: others committed again and again in between",
            where=root,
            fix="run again when fewer runs write to the same store: nothing was half-written",
        ) from error


@retry(
    retry=retry_if_exception_type(_OthersWereFaster),
    stop=stop_after_attempt(50),
    wait=wait_random(0, 0.05),
    reraise=True,
)
def _commit(root: str, name: str, rows: pa.Table, app_id: str, version: int, after: int) -> None:
    from deltalake import CommitProperties, PostCommitHookProperties, Transaction, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError
    from pyarrow import ArrowException

    folder, table = place(f"{root}/{name}"), None
    try:
        table = opened(root, name)
        if table is not None and (table.transaction_version(app_id) or 0) >= version:
            return
        if table is None and not place(root).keeps_conditions():
            raise StoreWriteFailed(
                "this storage ignores the condition of a put (`If-None-Match`), so two writers could lose commits",
                where=root,
                fix="use storage that supports conditional writes (see docs/cluster.md): nothing was written",
            )
        new, number = numbered(rows, max(after, last_number_of(table) if table is not None else 0))
        transactions = [Transaction(app_id, version), *note(number, table.version() + 1 if table is not None else 0)]
        write_deltalake(
            table or folder.location,
            new,
            mode="append" if table else "error",  # a table that was created meanwhile may have the transaction
            schema_mode="merge" if table else None,  # columns added since the table was made
            commit_properties=CommitProperties(max_commit_retries=0, app_transactions=transactions),
            post_commithook_properties=PostCommitHookProperties(cleanup_expired_logs=False),
            writer_properties=writer_properties(),
            storage_options=folder.options,
            configuration=None if table else settings(folder.location),
        )
    except CommitFailedError as error:
        raise _OthersWereFaster from error
    except (DeltaError, OSError, ArrowException) as error:
        if table is None and _was_created(folder):  # two processes created the table at once
            raise _OthersWereFaster from error
        why = refusal(error)
        if why and _is_committed(root, name, app_id, version):  # only the answer was lost
            note_version(root, name)
            return
        raise StoreWriteFailed(
            f"could not append to {name}: {why or str(error).strip().splitlines()[0][:300]}",
            where=root,
            fix=f"check {_ACCESS if why else _SPACE}, then run again: nothing was half-written",
        ) from error
    note_version(root, name, table)


def _is_committed(root: str, name: str, app_id: str, version: int) -> bool:
    try:
        table = opened(root, name)
    except StoreUnreadable:
        return False
    return table is not None and (table.transaction_version(app_id) or 0) >= version


def _was_created(folder: Place) -> bool:
    try:
        return folder.has_table()
    except OSError:
        return False
