"""A store in which a person decided, and the ways in which its promotions get damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from deltalake import DeltaTable

from planopt_assets.job.in_force import InForce, read_in_force
from planopt_assets.model.promotion import Promotion
from planopt_assets.model.workload import Query, Workload
from planopt_assets.promote.transitions import Event, Fix, Revert, next_generation
from planopt_assets.store.promotions import chains
from planopt_assets.store.snapshot import Snapshot
from planopt_assets.store.store import Store
from planopt_tests.no_spark import no_spark
from planopt_tests.rows import FEWER

PIN = Fix(FEWER, "I know it", "ada")
ROLLBACK = Revert("original", "too slow", "ada")
Damage = Callable[[Workload], None]


def two_queries(folder: Path) -> Workload:
    """A workload without tables; its store is empty."""
    queries = (Query("q", sql="SELECT 1"), Query("other", sql="SELECT 2"))
    return Workload("tests", folder / "planopt.yaml", str(folder / "store"), (), queries)


def decide(workload: Workload, query_id: str, *events: Event) -> list[Promotion]:
    """A person's commands, as `planopt pin` and `planopt rollback` commit them."""
    made = list(chains(Snapshot(workload.store, workload.name), [query_id]).of(query_id))
    for event in events:
        made.append(next_generation(workload.name, query_id, tuple(made), event))
        Store(workload.store, workload.name, no_spark).commit(made[-1], f"run-{query_id}-{len(made)}")
    return made


def ask(workload: Workload, query_id: str = "q") -> InForce:
    return read_in_force(workload, query_id, timeout_s=60.0)


def table(workload: Workload) -> Path:
    return Path(workload.store) / "active_policies"


def heads(workload: Workload) -> Path:
    return Path(workload.store) / "_heads"


def last_commit(workload: Workload) -> Path:
    return max((table(workload) / "_delta_log").glob("*.json"))


def last_file(workload: Workload) -> Path:
    """The data file of the last commit."""
    text = last_commit(workload).read_text()
    (found,) = [f for f in table(workload).glob("*.parquet") if f.name in text]
    return found


def empty(workload: Workload) -> None:
    last_commit(workload).write_bytes(b"")


def delete(workload: Workload) -> None:
    last_commit(workload).unlink()


def hide_the_row(workload: Workload) -> None:
    """One flipped bit in the key of an action: a reader skips what it does not know."""
    file = last_commit(workload)
    file.write_bytes(file.read_bytes().replace(b'"add"', b'"adf"'))


def travel_back(workload: Workload) -> None:
    delta = DeltaTable(str(table(workload)))
    delta.restore(delta.version() - 1)


def delete_the_row(workload: Workload) -> None:
    last_file(workload).unlink()


def flip_a_bit_of_the_row(workload: Workload) -> None:
    file = last_file(workload)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def move_away(workload: Workload) -> None:
    table(workload).rename(Path(workload.store).parent / "away")


OF_ONE_QUERY: list[Damage] = [delete, hide_the_row, travel_back, delete_the_row, flip_a_bit_of_the_row]
OF_THE_TABLE: list[Damage] = [empty, move_away]
