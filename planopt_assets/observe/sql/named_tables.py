"""Which tables a text names, known without Spark. Pure."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from planopt_assets.model.workload import LONGEST_SQL
from planopt_assets.observe.sql.tokens import SPARK


def named_tables(sql: str) -> frozenset[str]:
    """The tables that a query surely reads, in lower case. Empty if the text is no query or cannot be parsed.

    >>> sorted(named_tables("WITH c AS (SELECT * FROM a) SELECT b.d FROM c JOIN main.x JOIN B"))
    ['a', 'b']
    >>> named_tables("DROP TABLE a")
    frozenset()
    """
    if len(sql) > LONGEST_SQL:
        return frozenset()
    try:
        statements = SPARK.parse(sql)
    except (SqlglotError, RecursionError):
        return frozenset()
    if len(statements) != 1 or not isinstance(tree := statements[0], exp.Query):
        return frozenset()
    named = {t.name.lower() for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier) and not t.db}
    return frozenset(named - {cte.alias.lower() for cte in tree.find_all(exp.CTE)})
