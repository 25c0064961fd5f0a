"""Queries kept as text: `-- name`, the query on one line, an empty line."""

from __future__ import annotations

import re
from pathlib import Path

_CASE = re.compile(r"^-- (\w+)\n([^\n]+)$", re.MULTILINE)


def queries_in(name: str) -> dict[str, str]:
    """The queries of a file in the folder `sql` beside this one, by name."""
    text = (Path(__file__).parent / "sql" / name).read_text(encoding="utf-8")
    found = _CASE.findall(text)
    queries = dict(found)
    assert len(queries) == len(found) == text.count("-- "), f"{name} has a query that is not read, or twice one name"
    return queries
