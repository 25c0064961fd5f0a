"""Repairs a store: damaged tables are written anew from every row that can be read, chains from their heads.

Nothing is deleted. A table that was damaged moves to `_damaged/<time>/` in the store, and so do damaged heads. A table
without damage is not touched. Needs no Spark. Runs on the store must not be in progress.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from planopt_assets.errors import StoreUnreadable, StoreWriteFailed
from planopt_assets.model.location import is_folder
from planopt_assets.store.chain_repair import Mended, mended_chains, write_heads
from planopt_assets.store.codecs.deciding import PROMOTIONS
from planopt_assets.store.head_files import FOLDER, HeadUnreadable
from planopt_assets.store.opened import REPAIR_A_COPY
from planopt_assets.store.salvage import DAMAGED, Salvaged, damage_of, salvage
from planopt_assets.store.schemas import TABLES
from planopt_assets.store.sequence import APPLICATION, highest, note
from planopt_assets.store.table_heads import new_head, read_table_head, table_head_file, write_table_head

STAGING = "_repair"


@dataclass(frozen=True, slots=True)
class TableRepair:
    """One damaged table."""

    table: str
    damage: tuple[str, ...]
    rows_kept: int
    rows_lost: int | None  # None: nobody knows

    def words(self) -> str:
        """
        >>> print(TableRepair("verdicts", ("commit 3 in its log is empty",), 7, 0).words())
        verdicts: 7 rows kept, none lost
          commit 3 in its log is empty
        """
        lost = {None: "an unknown number", 0: "none"}.get(self.rows_lost, str(self.rows_lost))
        return "\n  ".join((f"{self.table}: {self.rows_kept} rows kept, {lost} lost", *self.damage))

    def facts(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "damage": list(self.damage),
            "rows_kept": self.rows_kept,
            "rows_lost": self.rows_lost,
        }


@dataclass(frozen=True, slots=True)
class Repair:
    """What was damaged in a store, and what became of it."""

    root: str
    moved_to: str
    tables: tuple[TableRepair, ...]
    chains: tuple[Mended, ...]

    @property
    def needed(self) -> bool:
        return bool(self.tables or self.chains)

    def words(self, *, dry_run: bool) -> str:
        if not self.needed:
            return f"Nothing is damaged in {self.root}."
        said = [table.words() for table in self.tables]
        said += [f"query {chain.query_id} of {chain.workload}: {chain.what}" for chain in self.chains]
        end = "Nothing was changed: run `planopt repair`." if dry_run else f"What was damaged is in {self.moved_to}."
        return "\n".join((*said, end))

    def facts(self) -> dict[str, Any]:
        return {
            "store": self.root,
            "damaged": self.needed,
            "moved_to": self.moved_to if self.needed else None,
            "tables": [table.facts() for table in self.tables],
            "queries": [chain.facts() for chain in self.chains],
        }


def repair(root: str, *, stamp: str, run_id: str, dry_run: bool = False) -> Repair:
    """Repair every table and chain of a store; with `dry_run` only say what is damaged. `stamp` names the folder."""
    if not is_folder(root):
        raise StoreUnreadable("the store is not in a folder", where=root, fix=REPAIR_A_COPY)
    from deltalake.exceptions import DeltaError

    aside = Path(root, DAMAGED, stamp)
    try:
        if not dry_run:
            _finish(root)
        found = [_repaired(root, name, aside, dry_run=dry_run) for name in TABLES if name != PROMOTIONS.table]
        tables = [table for table in found if table is not None]
        promotions, chains = _repaired_promotions(root, aside, run_id, dry_run=dry_run)
    except (OSError, DeltaError, HeadUnreadable) as error:
        raise StoreWriteFailed(
            f"the store could not be repaired: {error}",
            where=root,
            fix="check that the store can be written and has space, then run `planopt repair` again",
        ) from error
    return Repair(root, str(aside), (*tables, *promotions), chains)


def _repaired(root: str, name: str, aside: Path, *, dry_run: bool) -> TableRepair | None:
    damage = damage_of(root, name)
    if not damage:
        return None
    found = salvage(root, name, damage)
    if not dry_run:
        _mend(root, found, aside)
    return _told(found)


def _repaired_promotions(
    root: str, aside: Path, run_id: str, *, dry_run: bool
) -> tuple[tuple[TableRepair, ...], tuple[Mended, ...]]:
    name = PROMOTIONS.table
    damage = damage_of(root, name)
    found = salvage(root, name, damage)
    chains = mended_chains(root, found.rows.to_pylist(), run_id, rows_are_lost=found.lost != 0)
    mended = tuple(chain for chain in chains if chain.needed)
    if not dry_run:
        if any(chain.rewritten for chain in mended):
            rows = pa.Table.from_pylist([row for chain in chains for row in chain.rows], schema=TABLES[name])
            _replace(root, replace(found, rows=rows), aside)
        elif damage:
            _mend(root, found, aside)
        write_heads(root, mended, aside)
    return ((_told(found),) if damage else ()), mended


def _mend(root: str, found: Salvaged, aside: Path) -> None:
    """Where only the head is damaged, the table stays as it is."""
    name = found.name
    if _head_can_be_read(root, name) or not Path(root, name).exists() or damage_of(root, name, by_head=False):
        _replace(root, found, aside)
    else:
        _set_aside_head(root, name, aside)
        _note_anew(root, name)


def _head_can_be_read(root: str, name: str) -> bool:
    try:
        read_table_head(root, name)
    except HeadUnreadable:
        return False
    return True


def _told(found: Salvaged) -> TableRepair:
    return TableRepair(found.name, found.damage, found.rows.num_rows, found.lost)


def _replace(root: str, found: Salvaged, aside: Path) -> None:
    """The new table is written beside the old one, then takes its place. It remembers the same transactions."""
    from deltalake import CommitProperties, Transaction, write_deltalake

    name = found.name
    staged = Path(root, STAGING, name)
    shutil.rmtree(staged, ignore_errors=True)
    noted = max(
        found.transactions.get(APPLICATION, 0), highest(found.rows)
    )  # rows may outlive the commit that noted it
    known = {**found.transactions, **{told.app_id: told.version for told in note(noted, 0)}}
    transactions = [Transaction(app_id, version) for app_id, version in known.items()]
    write_deltalake(
        str(staged), found.rows, mode="error", commit_properties=CommitProperties(app_transactions=transactions)
    )
    if Path(root, name).exists():
        aside.mkdir(parents=True, exist_ok=True)
        Path(root, name).rename(aside / name)
    _set_aside_head(root, name, aside)
    staged.rename(Path(root, name))
    staged.parent.rmdir()
    _note_anew(root, name)


def _finish(root: str) -> None:
    """Put in place what a repair that was killed had written."""
    for staged in Path(root, STAGING).glob("*"):
        if not Path(root, staged.name).exists() and (staged / "_delta_log" / f"{0:020d}.json").exists():
            staged.rename(Path(root, staged.name))
        else:
            shutil.rmtree(staged)
    if Path(root, STAGING).exists():
        Path(root, STAGING).rmdir()


def _note_anew(root: str, name: str) -> None:
    from deltalake import DeltaTable

    location = f"{root}/{name}"
    write_table_head(root, name, new_head(location, DeltaTable(location)))


def _set_aside_head(root: str, name: str, aside: Path) -> None:
    """A copy: until the new one is written, the old one says that something is wrong."""
    head = Path(str(table_head_file(root, name)))
    if head.exists():
        (aside / FOLDER).mkdir(parents=True, exist_ok=True)
        shutil.copy2(head, aside / FOLDER / head.name)
