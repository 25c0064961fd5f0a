"""A rewrite is found by its name; one that changes nothing, or is not there, is named as idle."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from planopt_assets.replan import rewritten_sql as module
from planopt_assets.replan.rewritten_sql import rewritten_sql

pytestmark = pytest.mark.fast

REWRITES = {
    "doubled": lambda sql, _: f"{sql} {sql}",
    "shouted": lambda sql, _: sql.upper(),
    "nothing": lambda sql, _: None,
    "the_same": lambda sql, _: sql,
    "by_type": lambda sql, columns_of: f"{sql} -- {columns_of('t')}",
}


@pytest.fixture(autouse=True)
def rewrites(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {f"planopt_assets.replan.rewrites.{name}": SimpleNamespace(rewrite=r) for name, r in REWRITES.items()}
    monkeypatch.setattr(module, "find_spec", found.get)
    monkeypatch.setattr(module, "import_module", found.get)


def test_rewrites_are_applied_in_turn() -> None:
    assert rewritten_sql("select 1", ["doubled", "shouted"]) == ("SELECT 1 SELECT 1", ())


@pytest.mark.parametrize("name", ["nothing", "the_same", "unknown", "../secrets", "os.path"])
def test_a_rewrite_that_changes_nothing_is_named(name: str) -> None:
    assert rewritten_sql("select 1", [name, "shouted"]) == ("SELECT 1", (name,))


def test_a_rewrite_can_ask_for_the_columns_of_a_table() -> None:
    assert rewritten_sql("select 1", ["by_type"], {"t": {"a": "int"}}.get) == ("select 1 -- {'a': 'int'}", ())
    assert rewritten_sql("select 1", ["by_type"]) == ("select 1 -- None", ())
