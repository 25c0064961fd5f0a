"""Some files of a table that is too large to rewrite for a trial: always the same ones, spread over its partitions."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from planopt_assets.model.data_file import DataFile


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


def describe_subset(chosen: Sequence[DataFile], files: Sequence[DataFile]) -> str:
    """
    >>> one, two = DataFile("a", 3_000_000_000), DataFile("b", 1_000_000_000)
    >>> describe_subset([two], [one, two])
    '1 of 2 files, 1.0 of 4.0 GB'
    """
    some, all_ = (sum(f.bytes for f in group) / 1e9 for group in (chosen, files))
    return f"{len(chosen)} of {len(files)} files, {some:.1f} of {all_:.1f} GB"
