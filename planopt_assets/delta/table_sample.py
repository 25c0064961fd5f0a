"""Draws rows from the files of a table, without Spark: the same rows for the same files."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from planopt_assets.delta.refusals import refusal, unreachable_table
from planopt_assets.model.table_sample import TableSample

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyarrow.fs import FileSystem

    from planopt_assets.model.data_file import DataFile
    from planopt_assets.model.table_facts import TableFacts

ROWS, FILES, GROUPS = 40_000, 64, 4


def table_sample(
    folder: FileSystem, facts: TableFacts, files: Sequence[DataFile], columns: Sequence[str]
) -> TableSample:
    """Up to 40,000 rows from up to 64 files, evenly spread over four row groups; files are drawn by their path's hash.

    A file that cannot be read is left out: readiness reports it. Nested columns are not drawn.
    """
    physical = {c.name: c.physical_name or c.name for c in facts.columns}
    wanted = {name: physical[name] for name in columns if name in physical and name not in facts.partition_columns}
    drawn = sorted(files, key=lambda f: hashlib.sha256(f.path.encode()).digest())[:FILES]
    values: dict[str, list[Any]] = {name: [] for name in [*wanted, *facts.partition_columns]}
    origin: list[str] = []
    for file in drawn:
        try:
            rows = _rows(folder, file, wanted, ROWS // max(1, len(drawn)))
        except OSError as error:
            raise unreachable_table(facts.name, facts.location, refusal(error)) from error
        if rows is None:
            continue
        count = len(next(iter(rows.values()))) if rows else 0
        origin += [file.path] * count
        for name, found in rows.items():
            values[name] += found
        for name, value in file.partition:
            values[name] += [value] * count
    return TableSample(values, origin)


def _rows(folder: FileSystem, file: DataFile, wanted: Mapping[str, str], most: int) -> dict[str, list[Any]] | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with folder.open_input_file(unquote(file.path)) as source:
            parquet = pq.ParquetFile(source)
            held = [p for p in wanted.values() if p in parquet.schema_arrow.names]
            groups = _spread(parquet.num_row_groups, GROUPS)
            table = parquet.read_row_groups(groups, columns=held, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        if refusal(error):
            raise
        return None
    places = _spread(table.num_rows, most)
    return {
        name: _taken(table[path], places) if path in held else [None] * len(places) for name, path in wanted.items()
    }


def _spread(count: int, most: int) -> list[int]:
    """Up to so many places of a sequence, evenly spread.

    >>> _spread(10, 4), _spread(3, 4)
    ([0, 2, 5, 7], [0, 1, 2])
    """
    return [place * count // most for place in range(most)] if count > most else list(range(count))


def _taken(column: pa.ChunkedArray, places: Sequence[int]) -> list[Any]:
    import pyarrow as pa

    try:
        return column.take(places).to_pylist()
    except pa.ArrowNotImplementedError:  # views of texts, as delta-rs writes them, cannot be taken from
        values = column.to_pylist()
        return [values[place] for place in places]
