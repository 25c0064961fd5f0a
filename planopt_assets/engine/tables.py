"""Registered tables without Spark: where they are, which version is the newest, and what it says about itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt_assets.engine.delta_log import read_table_facts
from planopt_assets.model.inputs import PinnedTable

if TYPE_CHECKING:
    from planopt_assets.model.table_facts import TableFacts


class Pins:
    """The version of every table, looked up once: what commits meanwhile does not exist for this run."""

    def __init__(self) -> None:
        self._facts: dict[str, TableFacts] = {}

    def pin(self, name: str, location: str) -> PinnedTable:
        facts = self.facts(name, location)
        return PinnedTable(name, location, facts.table_id, facts.version)

    def facts(self, name: str, location: str) -> TableFacts:
        if location not in self._facts:
            self._facts[location] = read_table_facts(name, location)
        return self._facts[location]
