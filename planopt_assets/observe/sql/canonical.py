"""The canonical form of a query: equal for every layout, comment, alias and letter case, different for anything else.

sqlglot parses; its generator is not used, because it rewrites what it writes (`percentile_cont` becomes
`percentile_approx`). The canonical text is the query's own sequence of tokens, in which aliases are called `t0`, `t1`…
and `c0`, `c1`…, columns of tables are qualified and stars are written out. So nothing can get lost on the way, and
the text still gives the result of the original, under the same column names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token

from planopt_assets.model.canonical import Canonical
from planopt_assets.model.ids import content_id
from planopt_assets.observe.sql.binder import Schemas, resolve_names
from planopt_assets.observe.sql.names import Names
from planopt_assets.observe.sql.render import Rendered, render
from planopt_assets.observe.sql.tokens import AS, SPARK, NotCanonical, spark_tokens

_EXPRESSION_ID = re.compile(r"#(\d+)L?")
_CTE_ID = re.compile(r"\b(CTERelation(?:Def|Ref)|UnionLoop(?:Ref)?) (\d+)")
_RANDOM = re.compile(r"\b(randn?|uuid|shuffle|randstr|uniform)\(|^\W*Sample ")
_DRAWN_SEED = re.compile(r"(?<=[(, ])-?\d{15,}(?=[), ]|$)")


def canonical_form(sql: str, schemas: Schemas) -> Canonical:
    """The canonical form of a text over tables with these columns; never fails, but may say why there is none.

    >>> one = canonical_form("SELECT a.x AS y FROM t AS a -- all of it", {"t": [("x", "int")]})
    >>> one.sql
    'SELECT `t0`.`x` AS `y` FROM `t` AS `t0`'
    >>> one.fingerprint == canonical_form("select X y\\nfrom T", {"t": [("x", "int")]}).fingerprint
    True

    Without one, the fingerprint is that of the exact text, until the plan's takes its place.
    """
    try:
        rendered = canonical_text(sql, schemas)
    except NotCanonical as why:
        return _without_form(sql, str(why))
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        where = f" at line {found.get('line')}, column {found.get('col')}" if found else ""
        return _without_form(sql, f"sqlglot cannot parse it{where}: {found.get('description', 'syntax error')}")
    except RecursionError:
        return _without_form(sql, "it is nested too deep")
    except Exception as error:  # noqa: BLE001  # a defect of the parser must not stop what only describes a query
        return _without_form(sql, f"sqlglot fails on it: {type(error).__name__}")
    content = {"sql": rendered.folded, "stars": rendered.kept_stars}
    return Canonical("sqlglot", rendered.text, content_id("cql", content))


def canonical_text(sql: str, schemas: Schemas) -> Rendered:
    """The canonical text in both spellings: as it is run, and as it is compared."""
    parsed = parse_query(sql, schemas)
    return render(parsed.text, parsed.tokens, parsed.tree, parsed.names)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A text without comments, with what each of its names means."""

    text: str
    tokens: list[Token]
    tree: exp.Expr
    names: Names


def parse_query(sql: str, schemas: Schemas) -> ParsedQuery:
    """Parse a text and resolve its names."""
    text, tokens = spark_tokens(sql)
    statements = SPARK.parse(text)
    if len(statements) != 1 or statements[0] is None:
        raise NotCanonical("it is not one statement")
    after_as = frozenset(b.start for a, b in pairwise(tokens) if a.token_type is AS)
    names = resolve_names(statements[0], schemas, after_as)
    return ParsedQuery(text, tokens, statements[0], names)


def canonical_from_analyzed(plan_text: str, reason: str = "", first_id: int = 0) -> Canonical:
    """The analysed plan in place of a text: for DataFrame queries, and where `canonical_form` gives a reason.

    Ids are renumbered by first appearance; numbers below `first_id` are none, as in `observe.normalise`.

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
