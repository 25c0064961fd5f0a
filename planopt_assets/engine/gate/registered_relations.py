"""The tables a query may read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath


@dataclass(frozen=True, slots=True)
class RegisteredRelations:
    """The Delta tables that queries may read: by root path, and by name in the catalog.

    >>> RegisteredRelations.of({"orders": "file:///data//orders/"}, ["Sales.Orders"])
    RegisteredRelations(paths=frozenset({'/data/orders'}), names=frozenset({'spark_catalog.sales.orders'}))
    """

    paths: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, paths: Mapping[str, str], catalog: Iterable[str] = ()) -> RegisteredRelations:
        return cls(
            frozenset(_one_spelling(path) for path in paths.values()),
            frozenset(_full_name(_parts(name)) for name in catalog),
        )

    def has_path(self, path: str) -> bool:
        return _one_spelling(path) in self.paths

    def has_name(self, parts: list[str]) -> bool:
        return _full_name(parts) in self.names


NOTHING_REGISTERED = RegisteredRelations()


def _one_spelling(path: str) -> str:
    """One text per place: no `file:` for local paths, no double or trailing slash, symbolic links followed."""
    scheme, separator, rest = path.partition("://")
    if separator and scheme != "file":
        return f"{scheme}://{normpath(rest)}"
    return str(Path(re.sub(r"^file:/*", "/", path)).resolve())


def _parts(name: str) -> list[str]:
    return [quoted or plain for quoted, plain in re.findall(r"`([^`]+)`|([^.`]+)", name)]


def _full_name(parts: list[str]) -> str:
    """`orders` is `spark_catalog.default.orders`; Spark's catalog does not tell upper from lower case."""
    defaults = {1: ["spark_catalog", "default"], 2: ["spark_catalog"]}
    full = [*defaults.get(len(parts), []), *parts]
    return ".".join(f"`{part}`" if "." in part else part for part in full).lower()
