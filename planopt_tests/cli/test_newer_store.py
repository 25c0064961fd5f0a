"""A store that a newer planopt wrote: commands that read show it with a note, those that write refuse."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from planopt_assets.store.schemas import SCHEMA_VERSION, TABLES
from planopt_tests.cli.conftest import Planopt

pytestmark = pytest.mark.fast

NEWER = {
    "schema_version": SCHEMA_VERSION + 1,
    "workload": "tests",
    "run_id": "r",
    "recorded_at": datetime(2026, 1, 1, tzinfo=UTC),
    "sequence": 1,
}


@pytest.fixture
def newer(folder: Path) -> Path:
    """A policy in force and an edge, with a column that this planopt has never heard of."""
    rows = {
        "lineage": {"query_id": "by_shop", "stage": "promote", "child_id": "ver-1", "parent_id": "obs-1"},
        "layout_verdicts": {
            "query_id": "",
            "table": "sales",
            "table_id": "t",
            "version": 0,
            "verdict_id": "ver-t",
            "proposal_id": "lay_1",
            "outcome": "reject",
            "reason": "it costs more",
        },
        "plan_artifacts": {"query_id": "by_shop", "observation_id": "obs-1", "status": "failed", "error": "no"},
    }
    for name, row in rows.items():
        made = pa.Table.from_pylist([{**NEWER, **row}], TABLES[name])
        write_deltalake(folder / "store" / name, made.append_column("aether", pa.array(["?"])), mode="append")
    return folder


@pytest.mark.parametrize(
    "command",
    [["status"], ["plan"], ["why", "by_shop"], ["why", "sales"], ["tables"], ["lineage", "ver-1"], ["check"]],
    ids=" ".join,
)
def test_commands_that_read_work_and_say_so(newer: Path, planopt: Planopt, command: list[str]) -> None:
    said = planopt(*command)
    assert said.code in (0, 3), said.err
    assert f"a newer planopt wrote this store (schema version {SCHEMA_VERSION + 1}" in said.err
    assert "It is only read: upgrade planopt" in said.err


MAINTAIN = [["maintain", "sales", *wish] for wish in ([], ["--apply"], ["--undo"], ["--vacuum"])]


def contents(folder: Path) -> dict[Path, bytes]:
    """Of the store and of the tables."""
    return {f: f.read_bytes() for part in ("store", "data") for f in (folder / part).rglob("*") if f.is_file()}


@pytest.mark.parametrize(
    "command",
    [["run"], ["pin", "by_shop", "--policy", "original"], ["rollback", "by_shop"], ["purge"], *MAINTAIN],
    ids=" ".join,
)
def test_commands_that_write_refuse_before_they_do(newer: Path, planopt: Planopt, command: list[str]) -> None:
    before = contents(newer)
    said = planopt(*command)
    assert said.code == 1
    assert "PLN-302" in said.err
    assert contents(newer) == before


@pytest.mark.parametrize("command", MAINTAIN, ids=" ".join)
def test_maintain_refuses_whichever_table_the_newer_planopt_wrote(
    folder: Path, planopt: Planopt, command: list[str]
) -> None:
    """A newer planopt that only laid a table out leaves newer rows in one table, which no query's standing reads."""
    row = {"query_id": "", "stage": "maintain", "child_id": "mnt-1", "parent_id": "ver-1"}
    write_deltalake(folder / "store" / "lineage", pa.Table.from_pylist([{**NEWER, **row}], TABLES["lineage"]))
    before = contents(folder)
    said = planopt(*command)
    assert (said.code, "PLN-302" in said.err) == (1, True)
    assert contents(folder) == before
