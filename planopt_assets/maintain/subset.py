"""Some files of a table that is too large to rewrite for a trial: always the same ones, spread over its partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from planopt_assets.model.data_file import DataFile


@dataclass(frozen=True, slots=True)
class Subset:
    """The files that a trial reads in place of the whole table.

    >>> some = Subset(files=20, of_files=100, bytes=20_000_000_000, of_bytes=100_000_000_000)
    >>> some.describe(), some.share
    ('20 of 100 files, 20.0 of 100.0 GB', 0.2)
    """

    files: int
    of_files: int
    bytes: int
    of_bytes: int

    @property
    def share(self) -> float:
        """Of the table's files."""
        return self.files / self.of_files

    def describe(self) -> str:
        return f"{self.files} of {self.of_files} files, {self.bytes / 1e9:.1f} of {self.of_bytes / 1e9:.1f} GB"


def size_of(chosen: Sequence[DataFile], files: Sequence[DataFile]) -> Subset:
    """
    >>> one, two = DataFile("a", 3_000_000_000), DataFile("b", 1_000_000_000)
    >>> size_of([two], [one, two]).describe()
    '1 of 2 files, 1.0 of 4.0 GB'
    """
    some, whole = (sum(f.bytes for f in group) for group in (chosen, files))
    return Subset(len(chosen), len(files), some, whole)


def subset_of(files: Sequence[DataFile], limit: float, seed: int) -> tuple[DataFile, ...]:
    """As many files as fit into the limit, at least one, in an order drawn from the seed and the names alone.

    Worked: 100 files of 1 GB and a limit of 20 GB: 20 of them. The names of data files are drawn by Delta, so that
    their hashes take every partition and every age by its share.
    """
    drawn = sorted(files, key=lambda file: sha256(f"{seed}/{file.path}".encode()).digest())
    chosen: list[DataFile] = []
    left = limit
    for file in drawn:
        if chosen and file.bytes > left:
            continue
        chosen.append(file)
        left -= file.bytes
    return tuple(sorted(chosen, key=lambda file: file.path))
