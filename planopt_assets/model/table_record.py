"""A table as an observation read it, as it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from planopt_assets.model.table_facts import Protocol
from planopt_assets.model.table_layout import Layout


@dataclass(frozen=True, slots=True)
class TableRecord:
    """A row of `input_tables`."""

    query_id: str
    observation_id: str
    table: str
    location: str
    table_id: str
    version: int
    protocol: Protocol
    contract: Mapping[str, Any]  # schema and constraints of this table, as `observe/tables/contract.py` makes it
    layout: Layout | None  # None: not recorded
    metadata: str | None = None  # in place of DDL, which Delta does not give
    committed_at: datetime | None = None
    unknown_reader_features: tuple[str, ...] = ()  # a reason not to read it
    unknown_writer_features: tuple[str, ...] = ()  # a reason not to maintain it
    statistics_columns: tuple[str, ...] = ()
    files: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ReadLayout:
    """How a table of an observation was laid out and how large it was, and nothing else of it."""

    observation_id: str
    table: str
    layout: Layout | None
    bytes: int | None = None
