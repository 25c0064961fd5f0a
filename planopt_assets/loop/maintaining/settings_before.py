"""What an action has set on a table, as it was before: to put it back, also after others have written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_assets.engine.delta.delta_log import read_table_facts
from planopt_assets.errors import TableUnreadable, UndoRefused

if TYPE_CHECKING:
    from planopt_assets.model.layout_proposal import LayoutProposal
    from planopt_assets.model.table_facts import TableFacts


@dataclass(frozen=True, slots=True)
class Settings:
    """Properties (None: not set) and clustering columns (None: the action has nothing to do with them)."""

    properties: dict[str, str | None]
    clustering: tuple[str, ...] | None

    def __bool__(self) -> bool:
        return bool(self.properties) or self.clustering is not None

    def are_in(self, facts: TableFacts) -> bool:
        """Whether a table has them now."""
        same = all(facts.property(name) == value for name, value in self.properties.items())
        return same and self.clustering in (None, facts.clustering_columns)


def settings_before(proposal: LayoutProposal, location: str, version: int) -> Settings:
    """What a proposal sets, as it was at a version."""
    try:
        old = read_table_facts(proposal.table, location, version)
    except TableUnreadable as error:
        names = ", ".join([name for name, _ in proposal.properties] or ["its clustering columns"])
        raise UndoRefused(
            f"version {version} is no longer in its log, so nobody knows what {names} was",
            where=f"table {proposal.table}",
            fix="ALTER TABLE … SET or UNSET TBLPROPERTIES",
        ) from error
    properties = {name: old.property(name) for name, _ in proposal.properties}
    return Settings(properties, old.clustering_columns if proposal.action == "cluster" else None)


def still_set(proposal: LayoutProposal, before: Settings, now: TableFacts) -> Settings:
    """Of the settings before an action those to put back: what others have changed since is theirs."""
    wanted = dict(proposal.properties)
    properties = {n: value for n, value in before.properties.items() if now.property(n) == wanted[n] != value}
    changed = before.clustering is not None and now.clustering_columns == proposal.columns != before.clustering
    return Settings(properties, before.clustering if changed else None)
