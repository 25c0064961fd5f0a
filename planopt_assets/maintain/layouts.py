"""Layouts of a table as ranges: the files of today, the same files merged, and a sample sorted anew.

Nothing is rewritten: merged files have the union of their ranges, and a sorted sample has the ranges that the sorted
table would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planopt_assets.maintain.ranges import Numbers, Ranges, Scale
from planopt_assets.model.data_file import DataFile
from planopt_assets.model.table_facts import TableFacts
from planopt_assets.model.table_sample import TableSample

MOST_FILES = 256
"""Of a simulated layout. A table of more files is simulated with these, and files are counted in proportion."""
_BITS, _RANGES = 10, 1000  # of each column in a Z-order, as Delta cuts it


@dataclass(frozen=True, slots=True)
class Layout:
    """Files as ranges, with the bytes of each; a simulated file stands for `scale` files of the real table."""

    ranges: Ranges
    bytes: Numbers
    scale: float = 1.0

    @property
    def files(self) -> int:
        return round(self.ranges.files * self.scale)

    @property
    def total_bytes(self) -> float:
        return float(self.bytes.sum())


def scales_of(
    facts: TableFacts, columns: Sequence[str], files: Sequence[DataFile], sample: TableSample
) -> dict[str, Scale]:
    """One scale per column, for the ranges in the log and for the sample."""
    kinds = {c.name: c.type for c in facts.columns}
    found = {}
    for column in columns:
        known: list[Any] = [v for f in files if (r := f.value_range(column)) for v in r]
        found[column] = Scale(kinds[column], [*known, *sample.columns.get(column, ())])
    return found


def layout_of_bins(bins: Sequence[Sequence[DataFile]], scales: Mapping[str, Scale]) -> Layout:
    """Each bin as one file: with bins of one file each, the table as it is."""
    least, greatest = {}, {}
    for column, scale in scales.items():
        pairs = [[f.value_range(column) or (None, None) for f in files] for files in bins]
        least[column] = np.array([_least([scale.number(low) for low, _ in p]) for p in pairs])
        greatest[column] = np.array([-_least([-scale.number(high) for _, high in p]) for p in pairs])
    sizes = np.array([float(sum(f.bytes for f in files)) for files in bins])
    return Layout(Ranges(len(bins), least, greatest, scales), sizes)


def _least(values: Sequence[float]) -> float:
    """Unknown as soon as one file does not tell."""
    return float("nan") if any(np.isnan(v) for v in values) else min(values)


def layout_with_statistics(
    files: Sequence[DataFile], sample: TableSample, scales: Mapping[str, Scale], columns: Sequence[str]
) -> Layout:
    """The files of today, once their statistics have these columns too: sampled files stand for all of them."""
    rows_of: dict[str, list[int]] = {}
    for place, path in enumerate(sample.file):
        rows_of.setdefault(path, []).append(place)
    seen = [f for f in files if f.path in rows_of]
    now = layout_of_bins([[f] for f in seen], scales)
    least, greatest = dict(now.ranges.least), dict(now.ranges.greatest)
    for column in columns:
        values = scales[column].numbers(sample.columns[column])
        found = [values[rows_of[f.path]] for f in seen]
        known = [v[~np.isnan(v)] for v in found]
        least[column] = np.array([float(v.min()) if len(v) else float("nan") for v in known])
        greatest[column] = np.array([float(v.max()) if len(v) else float("nan") for v in known])
    scale = len(files) / max(1, len(seen))
    return Layout(Ranges(len(seen), least, greatest, scales), now.bytes * scale, scale)


def sorted_layout(
    files: Sequence[DataFile],
    sample: TableSample,
    scales: Mapping[str, Scale],
    columns: Sequence[str],
    target_file_bytes: int,
) -> Layout:
    """The table Z-ordered by columns into files of a size, each partition by itself."""
    numbers = {name: scale.numbers(sample.columns[name]) for name, scale in scales.items() if name in sample.columns}
    partition_of = {f.path: f.partition for f in files}
    size_of: dict[object, int] = {}
    for file in files:
        size_of[file.partition] = size_of.get(file.partition, 0) + file.bytes
    whole = {p: max(1, -(-size // target_file_bytes)) for p, size in size_of.items()}
    scale = max(1.0, sum(whole.values()) / MOST_FILES)
    rows_of: dict[object, list[int]] = {}
    for place, path in enumerate(sample.file):
        rows_of.setdefault(partition_of[path], []).append(place)
    least: dict[str, list[float]] = {name: [] for name in numbers}
    greatest: dict[str, list[float]] = {name: [] for name in numbers}
    sizes: list[float] = []
    for partition, size in size_of.items():
        rows = np.array(rows_of.get(partition, ()), dtype=np.int64)
        count = max(1, round(whole[partition] / scale))
        order = rows[_z_order([numbers[c][rows] for c in columns])] if len(rows) else rows
        for part in np.array_split(order, count):
            sizes.append(size / count)
            for name, values in numbers.items():
                known = values[part][~np.isnan(values[part])] if len(part) else np.array([])
                least[name].append(float(known.min()) if len(known) else float("nan"))
                greatest[name].append(float(known.max()) if len(known) else float("nan"))
    ranges = Ranges(
        len(sizes), {n: np.array(v) for n, v in least.items()}, {n: np.array(v) for n, v in greatest.items()}, scales
    )
    return Layout(ranges, np.array(sizes), sum(whole.values()) / len(sizes))


def _z_order(columns: Sequence[Numbers]) -> NDArray[np.int64]:
    """The order of rows along Delta's Z-curve; one column is plainly sorted, NULLs first.

    Delta cuts each column into up to 1,000 ranges and interleaves the bits of their numbers. A column with few values
    has few ranges and so small numbers: its bits come after the high bits of a column with many.
    """
    filled = [np.where(np.isnan(c), -np.inf, c) for c in columns]
    if len(filled) == 1:
        return np.argsort(filled[0], kind="stable")
    curve = np.zeros(len(filled[0]), dtype=np.int64)
    ranges = [_range_numbers(c) for c in filled]
    for bit in range(_BITS):
        for place, number in enumerate(reversed(ranges)):
            curve |= ((number >> bit) & 1) << (bit * len(ranges) + place)
    return np.argsort(curve, kind="stable")


def _range_numbers(values: Numbers) -> NDArray[np.int64]:
    """The number of the range that each value falls into."""
    ends = np.sort(values)[np.arange(1, _RANGES) * len(values) // _RANGES]
    return np.searchsorted(np.unique(ends), values, side="left")
