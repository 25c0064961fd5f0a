"""From asset pages to the documentation.

planopt has no public site. Where a team serves `docs/`, the workload file says so (`docs_url`), and pages link to it.
Elsewhere they name the page, and where it lies in the checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg

_DOCS = Path(__file__).parents[2] / "docs"


def with_doc_link(description: str, page: str, docs_url: str) -> str:
    """
    >>> with_doc_link("Every plan.", "observe.md", "https://docs.example.com/planopt/")
    'Every plan. [More](https://docs.example.com/planopt/observe.md).'
    >>> with_doc_link("Every plan.", "observe.md", "")
    'Every plan. More: `docs/observe.md` of planopt.'
    """
    return f"{description} " + (f"[More]({_url(page, docs_url)})." if docs_url else f"More: `docs/{page}` of planopt.")


def doc_metadata(page: str, docs_url: str) -> dict[str, Any]:
    """The page's URL, or its path. Empty where planopt was installed without its docs."""
    if docs_url:
        return {"docs": dg.MetadataValue.url(_url(page, docs_url))}
    file = _DOCS / page
    return {"docs": dg.MetadataValue.path(str(file))} if file.is_file() else {}


def _url(page: str, docs_url: str) -> str:
    return f"{docs_url.rstrip('/')}/{page}"
