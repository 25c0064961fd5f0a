"""Registered tables without Spark: location, newest version, and the facts at that version."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planopt_assets.delta.log_size import log_size
from planopt_assets.delta.place import place
from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.errors import TableUnreadable
from planopt_assets.model.conditions import TableState
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.location import is_folder

if TYPE_CHECKING:
    from planopt_assets.model.table_facts import TableFacts


def pinned(name: str, location: str, facts: TableFacts) -> PinnedTable:
    return PinnedTable(name, location, facts.table_id, facts.version, facts.head, facts.rows_head)


class Pins:
    """Every table as it was when first read. This run ignores later commits and later damage."""

    def __init__(self) -> None:
        self._seen: dict[str, TableFacts | TableUnreadable] = {}
        self._sizes: dict[str, int | None] = {}

    def pin(self, name: str, location: str) -> PinnedTable:
        facts = self.facts(name, location)
        return pinned(name, location, facts)

    def state(self, name: str, location: str, *, in_catalog: bool = False) -> TableState:
        """The table and its size. Its location is kept where nothing else tells it without Spark."""
        facts = self.facts(name, location)
        return TableState(name, facts.table_id, self.size(name, location), location if in_catalog else None)

    def size(self, name: str, location: str) -> int | None:
        """The bytes of a table, from its checksum file, else counted in its log. None: its log cannot be read."""
        if location not in self._sizes:
            try:
                facts = self.facts(name, location)
                counted = facts.bytes is not None
                self._sizes[location] = facts.bytes if counted else log_size(name, location, facts.version)
            except TableUnreadable:
                self._sizes[location] = None
        return self._sizes[location]

    def missing(self, name: str, location: str) -> TableUnreadable | None:
        """The error of a table whose folder has no log; None if there is one, or if only opening it would tell."""
        if not is_folder(location) or place(location).has_table():
            return None
        try:
            self.facts(name, location)
        except TableUnreadable as error:
            return error
        return None

    def facts(self, name: str, location: str) -> TableFacts:
        """Cached by location: two names of one folder are the same table at the same version."""
        if location not in self._seen:
            try:
                self._seen[location] = read_table_facts(name, location)
            except TableUnreadable as error:
                self._seen[location] = error
        seen = self._seen[location]
        if isinstance(seen, TableUnreadable):
            raise seen
        return replace(seen, name=name)
