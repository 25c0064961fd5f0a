"""The canonical form of a query: it ignores layout, comments, aliases and letter case, and nothing else.

sqlglot only parses the query. Its generator is not used because it can change the meaning (`percentile_cont` becomes
`percentile_approx`). The canonical text is made of the query's own tokens: aliases become `t0`, `t1`… and `c0`, `c1`…,
columns of tables get a qualifier, and stars are written out. It gives the same result as the original, with the same
column names.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.errors import ParseError

from planopt_assets.model.canonical import Canonical
from planopt_assets.model.ids import content_id
from planopt_assets.model.workload import LONGEST_SQL
from planopt_assets.observe.sql.binder import Schemas, resolve_names
from planopt_assets.observe.sql.render import ParsedQuery, render
from planopt_assets.observe.sql.tokens import AS, SPARK, NotCanonical, spark_tokens

_EXPRESSION_ID = re.compile(r"#(\d+)L?")
_CTE_ID = re.compile(r"\b(CTERelation(?:Def|Ref)|UnionLoop(?:Ref)?) (\d+)")
_RANDOM = re.compile(r"\b(randn?|uuid|shuffle|randstr|uniform)\(|^\W*Sample ")
_DRAWN_SEED = re.compile(r"(?<=[(, ])-?\d{15,}(?=[), ]|$)")


def canonical_form(sql: str, schemas: Schemas) -> Canonical:
    """The canonical form of a text over tables with these columns. It never fails.

    >>> one = canonical_form("SELECT a.x AS y FROM t AS a -- all of it", {"t": [("x", "int")]})
    >>> one.sql
    'SELECT `t0`.`x` AS `y` FROM `t` AS `t0`'
    >>> one.fingerprint == canonical_form("select X y\\nfrom T", {"t": [("x", "int")]}).fingerprint
    True

    If there is no canonical form, `reason` says why, and the fingerprint is that of the exact text. The fingerprint of
    the analysed plan replaces it later.
    """
    try:
        rendered = render(parse_query(sql, schemas))
    except NotCanonical as why:
        return _without_form(sql, str(why))
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        where = f" at line {found.get('line')}, column {found.get('col')}" if found else ""
        return _without_form(sql, f"sqlglot cannot parse it{where}: {found.get('description', 'syntax error')}")
    except RecursionError:
        return _without_form(sql, "it is nested too deep")
    except Exception as error:  # noqa: BLE001  # a defect of the parser must not stop the observation
        return _without_form(sql, f"sqlglot fails on it: {type(error).__name__}")
    content = {"sql": rendered.folded, "stars": rendered.kept_stars}
    return Canonical("sqlglot", rendered.text, content_id("cql", content))


def parse_query(sql: str, schemas: Schemas) -> ParsedQuery:
    """Parse a text and resolve its names."""
    if len(sql) > LONGEST_SQL:
        raise NotCanonical("it is longer than any query may be")
    text, tokens = spark_tokens(sql)
    statements = SPARK.parse(text)
    if len(statements) != 1 or statements[0] is None:
        raise NotCanonical("it is not one statement")
    after_as = frozenset(b.start for a, b in pairwise(tokens) if a.token_type is AS)
    return ParsedQuery(text, tokens, statements[0], resolve_names(statements[0], schemas, after_as))


def canonical_from_analyzed(plan_text: str, reason: str = "", first_id: int = 0) -> Canonical:
    """The canonical form from the analysed plan: for DataFrame queries, and if `canonical_form` gives a reason.

    Expression ids are renumbered by first appearance. Numbers below `first_id` are not ids, as in `observe.normalise`.

    >>> canonical_from_analyzed("Filter (a#17 > 1)\\n+- Relation [a#17,b#18]", "a DataFrame query").sql
    'Filter (a#0 > 1)\\n+- Relation [a#0,b#1]'
    """
    ids: dict[str, int] = {}
    ctes: dict[str, int] = {}

    def renumbered(found: re.Match[str]) -> str:
        return f"#{ids.setdefault(found[1], len(ids))}" if int(found[1]) >= first_id else found[0]

    def cte(found: re.Match[str]) -> str:
        return f"{found[1]} {ctes.setdefault(found[2], len(ctes))}"

    lines = [_DRAWN_SEED.sub("seed", line) if _RANDOM.search(line) else line for line in plan_text.splitlines()]
    text = _CTE_ID.sub(cte, _EXPRESSION_ID.sub(renumbered, "\n".join(lines)))
    return Canonical("analyzed_plan", text, content_id("cql", {"plan": text}), reason or "there is no SQL text")


def _without_form(sql: str, reason: str) -> Canonical:
    return Canonical("analyzed_plan", sql, content_id("cql", {"text": sql}), reason)
