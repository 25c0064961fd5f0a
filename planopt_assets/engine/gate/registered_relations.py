"""The tables a query may read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath

from planopt_assets.model.location import scheme_and_rest


@dataclass(frozen=True, slots=True)
class RegisteredRelations:
    """The Delta tables that queries may read: registered name by root path.

    >>> RegisteredRelations.of({"orders": "file:///data//orders/"}).name_at("/data/orders")
    'orders'
    """

    names: Mapping[str, str] = field(default_factory=dict)  # by the one spelling of their paths

    @classmethod
    def of(cls, paths: Mapping[str, str]) -> RegisteredRelations:
        return cls({_one_spelling(path): name for name, path in paths.items()})

    def has_path(self, path: str) -> bool:
        return self.name_at(path) is not None

    def name_at(self, path: str) -> str | None:
        """The table at a path, in whatever spelling: URI, link, slashes."""
        return self.names.get(_one_spelling(path))


NOTHING_REGISTERED = RegisteredRelations()


def _one_spelling(path: str) -> str:
    """One text per place: no `file:` for local paths, no double or trailing slash, symbolic links followed."""
    scheme, rest = scheme_and_rest(path)
    if scheme not in ("", "file"):
        return f"{scheme}://{normpath(rest)}"
    return str(Path(re.sub(r"^file:/*", "/", path)).resolve())
