"""The schema of every table that planopt stores, in one file per group of nouns, as `store/codecs/`.

A new column goes at the end of its table, is nullable, and raises `SCHEMA_VERSION`. Reading needs no migration: columns
that an older row lacks are null. Writing adds the columns (the writer merges schemas), so the first append of a newer
planopt upgrades the store.
"""

from __future__ import annotations

import pyarrow as pa

from planopt_assets.store.schemas.columns import TEXT, table
from planopt_assets.store.schemas.deciding import DECIDING
from planopt_assets.store.schemas.maintaining import MAINTAINING
from planopt_assets.store.schemas.observing import OBSERVING

SCHEMA_VERSION = 10

ABOUT_TABLES = frozenset(MAINTAINING)
"""Stored tables whose subject is a table of the user, not a query; they exist once such a table was looked at."""

_LINEAGE: dict[str, pa.Schema] = {
    # edges: from a row to the rows it was made from, and to source tables at a version
    "lineage": table(
        child_kind=TEXT,
        child_id=TEXT,
        parent_kind=TEXT,
        parent_id=TEXT,
        stage=TEXT,
    ),
}

TABLES: dict[str, pa.Schema] = {**OBSERVING, **DECIDING, **MAINTAINING, **_LINEAGE}
