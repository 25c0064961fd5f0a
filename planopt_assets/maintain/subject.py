"""All that proposals for one table are made of."""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.maintain.growth import Growth
from planopt_assets.maintain.prices import ROW_BYTES
from planopt_assets.maintain.table_use import QueryUse
from planopt_assets.maintain.writes import NO_WRITES, Writes
from planopt_assets.model.data_file import DataFile
from planopt_assets.model.table_facts import TableFacts
from planopt_assets.model.table_sample import TableSample


@dataclass(frozen=True, slots=True)
class Subject:
    """One table at one version, its queries and its writers."""

    facts: TableFacts
    files: tuple[DataFile, ...]
    sample: TableSample
    uses: tuple[QueryUse, ...]
    grown: Growth
    cores: int
    commits_since_checkpoint: int = 0
    laid_out: bool = False  # by planopt, and not taken back
    writes: Writes = NO_WRITES

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files)

    @property
    def rows(self) -> int:
        known = [f.rows for f in self.files if f.rows is not None]
        return sum(known) if len(known) == len(self.files) else self.bytes // ROW_BYTES

    @property
    def row_bytes(self) -> float:
        return max(1.0, self.bytes / max(1, self.rows))
