"""A file system that Spark writes. delta-rs reads it where it knows the scheme."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from planopt_assets.delta.place import Place

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


class Hadoop(Place):
    """No small file is kept there."""

    @cached_property
    def files(self) -> FileSystem:
        from deltalake.exceptions import DeltaError
        from deltalake.fs import DeltaStorageHandler
        from pyarrow.fs import PyFileSystem

        try:
            return PyFileSystem(DeltaStorageHandler(self.location))
        except DeltaError as error:  # a scheme that it does not know
            raise OSError(f"delta-rs cannot read there: {error}") from error

    def has_table(self) -> bool:
        from deltalake import DeltaTable

        return DeltaTable.is_deltatable(self.location)

    def _only_spark(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError("only Spark writes there, and only tables")

    read = sizes = replace = create = remove = remove_folder = _only_spark
