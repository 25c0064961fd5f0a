"""From asset pages to the documentation in the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg

_DOCS = Path(__file__).parents[2] / "docs"


def doc_link(page: str) -> dict[str, Any]:
    """The page's place as metadata. Empty where planopt was installed without its docs."""
    file = _DOCS / page
    return {"docs": dg.MetadataValue.path(str(file))} if file.is_file() else {}
