"""A policy is for one query: in any spelling, and for no other."""

from __future__ import annotations

import pytest

from planopt_assets.observe.sql.same_query import why_different

pytestmark = pytest.mark.fast

TABLES = {"sales": [("shop", "bigint"), ("amount", "double")], "shops": [("shop", "bigint"), ("city", "string")]}
DECLARED = "SELECT s.shop, sum(amount) AS total FROM sales s WHERE s.shop > 3 GROUP BY s.shop"


@pytest.mark.parametrize(
    "text",
    [
        DECLARED,
        f"  {DECLARED} ;\n",
        DECLARED.lower(),
        "SELECT x.shop, -- per shop\n sum(x.amount) total\nFROM sales AS x\nWHERE x.shop > 3\nGROUP BY x.shop",
    ],
    ids=["the same", "blanks and a semicolon", "lower case", "other aliases, comments and layout"],
)
def test_another_spelling_is_the_same_query(text: str) -> None:
    assert why_different(text, DECLARED, TABLES) == ""


@pytest.mark.parametrize(
    "text",
    [
        DECLARED.replace("> 3", "> 4"),
        DECLARED.replace("sum", "min"),
        DECLARED.replace("sales s", "shops s").replace("amount", "shop"),
        DECLARED + " LIMIT 10",
    ],
    ids=["another literal", "another function", "another table", "a limit"],
)
def test_another_query_is_another_query(text: str) -> None:
    assert why_different(text, DECLARED, TABLES) == "the text is another query than the declared one"


def test_what_cannot_be_compared_is_not_taken_for_the_same() -> None:
    assert why_different("SELECT a FROM elsewhere", DECLARED, TABLES).startswith(
        "the text differs from the declared one and cannot be compared with it: "
    )
