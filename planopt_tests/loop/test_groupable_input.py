"""Which join input a query's text would let a rewrite group first, by the columns in the logs of its tables."""

from __future__ import annotations

import pytest

from planopt_assets.loop.seen import groupable_input
from planopt_assets.model.table_facts import Column, Protocol, TableFacts
from planopt_assets.observe.signals.joins import Groupable

pytestmark = pytest.mark.fast


def table(name: str, **columns: str) -> TableFacts:
    return TableFacts(name, f"/{name}", name, 1, Protocol(1, 2), tuple(Column(n, t) for n, t in columns.items()))


SHOPS = table("Shops", shop="long", city="string")
SALES = table("sales", id="long", shop_id="long", amount="decimal(15,2)", price="double", items="integer")
TEXT = "SELECT city, {} AS n FROM shops LEFT JOIN `Sales` s ON shop = shop_id GROUP BY city"


def test_a_text_that_can_be_rewritten_names_the_tables_as_they_are_registered() -> None:
    for aggregate in ("count(price)", "sum(amount)", "sum(items)", "max(id)"):
        assert groupable_input(TEXT.format(aggregate), [SHOPS, SALES]) == Groupable("sales", "Shops", is_left=True)
    inner = TEXT.replace("LEFT ", "").format("count(*)")
    assert groupable_input(inner, [SHOPS, SALES]) == Groupable("sales", "Shops", is_left=False)


@pytest.mark.parametrize(
    "text", [TEXT.format("sum(price)"), TEXT.format("sum(id)"), TEXT.format("avg(amount)"), "SELECT 1", "not sql", None]
)
def test_for_any_other_text_there_is_none(text: str | None) -> None:
    assert groupable_input(text, [SHOPS, SALES]) is None


def test_without_the_facts_of_a_table_there_is_none() -> None:
    assert groupable_input(TEXT.format("count(price)"), [SALES]) is None


def test_a_column_of_type_char_may_be_counted_and_nothing_else() -> None:
    coded = TableFacts("sales", "/", "x", 1, Protocol(1, 2), (
        Column("shop_id", "long"), Column("code", "string", length="char(3)")))  # fmt: skip
    assert groupable_input(TEXT.format("max(code)"), [SHOPS, coded]) is None
    assert groupable_input(TEXT.format("count(code)"), [SHOPS, coded]) is not None
