"""How a location is reached. Nothing else asks whether one is a folder, object storage, or neither.

| location | tables are read by | and written by | small files beside them |
|---|---|---|---|
| a folder | delta-rs and Arrow | delta-rs: a commit creates a file that must not exist | yes |
| `s3://`, `gs://`, `abfss://` | delta-rs, obstore and Arrow | delta-rs: a commit is a conditional put | yes |
| any other URI | Hadoop's client; delta-rs reads a copy | Spark | no |
"""

from __future__ import annotations

import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from planopt_assets.model.location import Reach, plain_path, reach

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset
    from pyarrow.fs import FileSystem

LOG = "_delta_log"


class Place(ABC):
    """A table's folder or a store's. Paths of files are relative to it."""

    def __init__(self, location: str) -> None:
        self.location = location

    def __str__(self) -> str:
        return self.location

    @property
    def reach(self) -> Reach:
        return reach(self.location)

    @property
    def options(self) -> dict[str, str] | None:
        """What delta-rs is told besides the address. Never a credential: those come from the environment."""
        return None

    @property
    def keeps_files(self) -> bool:
        """Whether there are small files beside the tables. If not, only tables can be asked for."""
        return self.reach is not Reach.HADOOP

    @cached_property
    @abstractmethod
    def files(self) -> FileSystem: ...

    @abstractmethod
    def has_table(self) -> bool:
        """Whether there is a log, sound or not."""

    def table(self) -> DeltaTable:
        """The table at its newest version, as delta-rs opens it."""
        from deltalake import DeltaTable

        return DeltaTable(self.location, storage_options=self.options)

    def found_table(self) -> DeltaTable | None:
        """The same, or None if there is no log."""
        return self.table() if self.has_table() else None

    def dataset(self, names: Sequence[str], schema: pa.Schema) -> Dataset:
        """Some Parquet files as one."""
        import pyarrow.dataset as ds

        return ds.dataset(list(names), schema=schema, format="parquet", filesystem=self.files)

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """The content of a file. None: there is no such file."""

    @abstractmethod
    def sizes(self, folder: str = "") -> dict[str, int]:
        """The files of a folder by name, with their bytes. A folder that does not exist has none."""

    @abstractmethod
    def replace(self, path: str, content: bytes, *, durable: bool = False) -> None:
        """Create or replace a file at once: readers see the old content or the new. `durable`: forced to the disk."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> bool:
        """Create a file that must not exist. False: somebody else did. Of several at once, one does."""

    def keeps_conditions(self) -> bool:
        """Whether `create` can be relied on, and so a commit."""
        return True

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, or do nothing if it is gone."""

    @abstractmethod
    def remove_folder(self, path: str) -> None:
        """Remove a folder with everything in it, as far as possible."""


class Folder(Place):
    """A folder that this machine mounts."""

    @cached_property
    def files(self) -> FileSystem:
        from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

        return SubTreeFileSystem(self.location, LocalFileSystem())

    def has_table(self) -> bool:
        return Path(self.location, LOG).is_dir()

    def read(self, path: str) -> bytes | None:
        try:
            return Path(self.location, path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def sizes(self, folder: str = "") -> dict[str, int]:
        found = {}
        try:
            for file in Path(self.location, folder).iterdir():
                with suppress(FileNotFoundError):  # deleted meanwhile
                    if file.is_file():
                        found[file.name] = file.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return found

    def replace(self, path: str, content: bytes, *, durable: bool = False) -> None:
        """Written under another name, then renamed. Forcing to the disk takes milliseconds."""
        file = Path(self.location, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_name(f".{uuid.uuid4().hex}")
        try:
            with new.open("wb") as target:
                target.write(content)
                if durable:
                    target.flush()
                    os.fsync(target.fileno())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)

    def create(self, path: str, content: bytes) -> bool:
        file = Path(self.location, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with file.open("xb") as made:
                made.write(content)
        except FileExistsError:
            return False
        return True

    def remove(self, path: str) -> None:
        Path(self.location, path).unlink(missing_ok=True)

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(Path(self.location, path), ignore_errors=True)


def place(location: str) -> Place:
    """The place of a location as it is written in the workload file."""
    if reach(location) is Reach.FOLDER:
        return Folder(location)
    if reach(location) is Reach.OBJECTS:
        from planopt_assets.delta.object_storage import Objects

        return Objects(location)
    from planopt_assets.delta.hadoop import Hadoop

    return Hadoop(location)


def place_of(table: DeltaTable) -> Place:
    """Where an open table is. delta-rs writes the path of a folder as a URI."""
    uri = str(table.table_uri)
    return place(plain_path(unquote(uri)) if uri.startswith("file:") else uri.rstrip("/"))


def data_files(table: DeltaTable) -> list[str]:
    """The names of the files of a table's version, relative to the table. Only for tables without partitions."""
    return [unquote(uri).rpartition("/")[2] for uri in table.file_uris()]
