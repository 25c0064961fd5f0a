"""What a fingerprint does not see, and what it never fails to see."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.canonical import Canonical
from planopt_assets.observe.sql.canonical import canonical_form
from planopt_assets.observe.sql.edits import edit_list
from planopt_assets.observe.sql.tokens import SPARK
from planopt_tests.fresh_python import ROOT, output_of
from planopt_tests.observe.shop_tables import SHOP_SCHEMAS
from planopt_tests.observe.sql_files import queries_in
from planopt_tests.observe.tpc import tpc_queries, tpc_schemas

pytestmark = pytest.mark.fast

QUERIES = queries_in("canonical.sql")
EXAMPLES = {file.stem: file.read_text(encoding="utf-8") for file in sorted(ROOT.glob("examples/tpch/queries/*.sql"))}


def canonical(sql: str) -> Canonical:
    return canonical_form(sql, SHOP_SCHEMAS)


def fingerprint(sql: str) -> str:
    found = canonical(sql)
    assert found.form == "sqlglot", f"{found.reason}: {sql}"
    return found.fingerprint


# Every query that is written down somewhere


@pytest.mark.parametrize("name", QUERIES)
def test_canonical_text_is_its_own_canonical_text(name: str) -> None:
    first = canonical(QUERIES[name])
    assert first.form == "sqlglot", first.reason
    assert canonical(first.sql).fingerprint == first.fingerprint


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_has_a_canonical_text(name: str) -> None:
    found = canonical_form(EXAMPLES[name], tpc_schemas("tpch"))
    assert (found.form, found.reason) == ("sqlglot", "")


@pytest.mark.parametrize(("benchmark", "queries"), [("tpch", 22), ("tpcds", 99)])
def test_every_tpc_query_has_a_canonical_text_of_its_own(benchmark: str, queries: int) -> None:
    schemas = tpc_schemas(benchmark)
    found = {name: canonical_form(text, schemas) for name, text in tpc_queries(benchmark).items()}
    assert {name: c.reason for name, c in found.items() if c.form != "sqlglot"} == {}
    assert len({c.fingerprint for c in found.values()}) == len(found) == queries
    assert all(canonical_form(c.sql, schemas).fingerprint == c.fingerprint for c in found.values())


def test_different_queries_have_different_fingerprints() -> None:
    # The one pair that differs only in an alias.
    same = {"unaliased_table", "aliased_table"}
    prints = {name: fingerprint(text) for name, text in QUERIES.items() if name not in same}
    assert len(set(prints.values())) == len(prints)


def test_fingerprints_are_those_that_stores_already_hold() -> None:
    lines = (ROOT / "planopt_tests/observe/sql/fingerprints.txt").read_text(encoding="utf-8").splitlines()
    assert [f"{fingerprint(text)} {name}" for name, text in QUERIES.items()] == lines


def test_canonical_text_in_full() -> None:
    text = """
        WITH spend AS (SELECT shop, sum(amount) AS total FROM sales GROUP BY shop)  -- per shop
        SELECT h.City, total FROM spend JOIN shops h ON h.shop = spend.shop WHERE total > :least ORDER BY total
    """
    assert canonical(text).sql == (
        "WITH `t0` AS (SELECT `t1`.`shop`, SUM(`t1`.`amount`) AS `c0` FROM `sales` AS `t1` GROUP BY `t1`.`shop`) "
        "SELECT `t3`.`City`, `t2`.`c0` AS `total` FROM `t0` AS `t2` JOIN `shops` AS `t3` ON `t3`.`shop` = `t2`.`shop` "
        "WHERE `t2`.`c0` > :least ORDER BY `t2`.`c0`"
    )


def test_no_alias_gets_the_name_of_a_column() -> None:
    odd = {"odd": [("c0", "int"), ("c2", "int"), ("t0", "int")]}
    assert canonical_form("SELECT k + j AS x FROM odd, (SELECT 1 AS k, 2 AS j)", odd).sql == (
        "SELECT `c1` + `c3` AS `x` FROM `odd` AS `t1`, (SELECT 1 AS `c1`, 2 AS `c3`)"
    )


# What does not matter

SAME = {
    "table alias": ("SELECT a.id FROM sales a", "SELECT other.id FROM sales AS other"),
    "alias or none": ("SELECT s.id FROM sales s WHERE s.shop = 1", "SELECT id FROM sales WHERE shop = 1"),
    "table name as qualifier": ("SELECT sales.id FROM sales", "SELECT id FROM sales"),
    "identifier case": ("SELECT ID, s.SHOP FROM Sales S", "select id, S.shop from SALES s"),
    "output name case": ("SELECT id AS Number FROM sales", "SELECT id AS NUMBER FROM sales"),
    "quotes": ("SELECT `id`, `s`.`shop` FROM `sales` `s`", "SELECT id, s.shop FROM sales s"),
    "comments": ("SELECT id /* the key */ FROM sales -- all", "SELECT id FROM sales"),
    "comment inside two words": (
        "SELECT shop FROM sales GROUP /* by */ BY shop",
        "SELECT shop FROM sales GROUP BY shop",
    ),
    "last semicolon": ("SELECT id FROM sales;", "SELECT id FROM sales"),
    "star": ("SELECT * FROM shops", "SELECT shop, city, region FROM shops"),
    "star of one table": ("SELECT h.*, 1 AS x FROM shops h", "SELECT shop, city, region, 1 AS x FROM shops"),
    "star except": ("SELECT * EXCEPT (region) FROM shops", "SELECT shop, city FROM shops"),
    "derived table alias": (
        "SELECT d.k FROM (SELECT shop AS k FROM sales) d",
        "SELECT e.k FROM (SELECT shop AS k FROM sales) AS e",
    ),
    "derived column alias": (
        "SELECT d.k AS x FROM (SELECT shop AS k FROM sales) d",
        "SELECT d.m AS x FROM (SELECT shop AS m FROM sales) d",
    ),
    "one alias in two scopes": (
        "SELECT x.id FROM sales x WHERE EXISTS (SELECT 1 FROM shops x WHERE x.region = 1)",
        "SELECT y.id FROM sales y WHERE EXISTS (SELECT 1 FROM shops z WHERE z.region = 1)",
    ),
    "CTE and its columns": (
        "WITH a AS (SELECT shop AS k FROM sales) SELECT k AS x FROM a",
        "WITH b AS (SELECT shop AS j FROM sales) SELECT b.j AS x FROM b",
    ),
    "CTE column list": (
        "WITH a(k) AS (SELECT shop FROM sales) SELECT k AS x FROM a",
        "WITH a(j) AS (SELECT shop FROM sales) SELECT j AS x FROM a",
    ),
    "lateral view": (
        "SELECT tag AS x FROM sales LATERAL VIEW explode(tags) e AS tag",
        "SELECT f.t AS x FROM sales LATERAL VIEW explode(tags) f AS t",
    ),
    "alias in a hint": (
        "SELECT /*+ BROADCAST(h) */ id FROM sales JOIN shops h ON sales.shop = h.shop",
        "SELECT /*+ broadcast(x) */ id FROM sales s JOIN shops x ON s.shop = x.shop",
    ),
    "struct field case": ("SELECT address.CITY AS x FROM sales", "SELECT address.city AS x FROM sales"),
    "table alias like a struct": (
        "SELECT address.geo.lat AS x FROM sales JOIN shops address ON sales.shop = address.shop",
        "SELECT s.address.geo.lat AS x FROM sales s JOIN shops h ON s.shop = h.shop",
    ),
    "alias of the right side of a union": (
        "SELECT shop AS a FROM sales UNION SELECT region AS b FROM shops",
        "SELECT shop AS a FROM sales UNION SELECT region AS c FROM shops",
    ),
    "name of no one": (
        "SELECT id FROM sales WHERE shop IN (SELECT shop AS a FROM shops)",
        "SELECT id FROM sales WHERE shop IN (SELECT shop AS b FROM shops)",
    ),
    "qualifier behind DISTINCT": (
        "SELECT DISTINCT s.shop FROM sales s ORDER BY s.shop",
        "SELECT DISTINCT shop FROM sales ORDER BY shop",
    ),
    "alias with or without AS": ("SELECT id x FROM sales", "SELECT id AS x FROM sales"),
    "parameter with a space": ("SELECT id FROM sales WHERE id > :a", "SELECT id FROM sales WHERE id > : a"),
}


@pytest.mark.parametrize("case", SAME)
def test_the_fingerprint_does_not_see(case: str) -> None:
    one, other = SAME[case]
    assert fingerprint(one) == fingerprint(other)
    assert edit_list(one, other, SHOP_SCHEMAS) == ()


# What matters

JOINED = "SELECT s.id FROM sales s {} shops h ON s.shop = h.shop"
DIFFERENT = {
    "predicate": ("SELECT id FROM sales WHERE id < 24", "SELECT id FROM sales WHERE id <= 24"),
    "literal": ("SELECT id FROM sales WHERE id < 24", "SELECT id FROM sales WHERE id < 25"),
    "literal type": ("SELECT 1.0 AS x", "SELECT 1.0BD AS x"),
    "literal size": ("SELECT 1 AS x", "SELECT 1L AS x"),
    "letter case of a string": ("SELECT 'a' AS x", "SELECT 'A' AS x"),
    "escaped quote": ("SELECT 'it''s' AS x", "SELECT 'it' 's' AS x"),
    "raw string": (r"SELECT r'\n' AS x", r"SELECT '\n' AS x"),
    "join type": (JOINED.format("JOIN"), JOINED.format("LEFT JOIN")),
    "join condition": (JOINED.format("JOIN"), JOINED.format("JOIN").replace("h.shop", "h.region")),
    "semi and anti": (JOINED.format("LEFT SEMI JOIN"), JOINED.format("LEFT ANTI JOIN")),
    "side of a join": (JOINED.format("LEFT JOIN"), JOINED.format("RIGHT JOIN")),
    "projection": ("SELECT id FROM sales", "SELECT shop AS id FROM sales"),
    "order of projections": ("SELECT id, shop FROM sales", "SELECT shop, id FROM sales"),
    "output name": ("SELECT id AS a FROM sales", "SELECT id AS b FROM sales"),
    "name Spark gives": (
        "SELECT sum(a) FROM (SELECT id AS a FROM sales)",
        "SELECT sum(b) FROM (SELECT id AS b FROM sales)",
    ),
    "which of two tables": (
        "SELECT a.id FROM sales a JOIN sales b ON a.id = b.shop",
        "SELECT b.id FROM sales a JOIN sales b ON a.id = b.shop",
    ),
    "parameter": ("SELECT id FROM sales WHERE id > :low", "SELECT id FROM sales WHERE id > :high"),
    "parameter case": ("SELECT id FROM sales WHERE id > :low", "SELECT id FROM sales WHERE id > :LOW"),
    "order": ("SELECT id FROM sales ORDER BY id", "SELECT id FROM sales ORDER BY id DESC"),
    "nulls": ("SELECT id FROM sales ORDER BY id", "SELECT id FROM sales ORDER BY id NULLS LAST"),
    "limit": ("SELECT id FROM sales LIMIT 5", "SELECT id FROM sales LIMIT 6"),
    "no limit": ("SELECT id FROM sales LIMIT 5", "SELECT id FROM sales"),
    "hint": ("SELECT id FROM sales", "SELECT /*+ REPARTITION(3) */ id FROM sales"),
    "argument of a hint": ("SELECT /*+ REPARTITION(2) */ id FROM sales", "SELECT /*+ REPARTITION(3) */ id FROM sales"),
    "distinct": ("SELECT shop FROM sales", "SELECT DISTINCT shop FROM sales"),
    "distinct count": ("SELECT count(shop) AS n FROM sales", "SELECT count(DISTINCT shop) AS n FROM sales"),
    "union": ("SELECT 1 AS x UNION SELECT 2", "SELECT 1 AS x UNION ALL SELECT 2"),
    "parentheses": (
        "(SELECT 1 AS x UNION SELECT 2) EXCEPT SELECT 1",
        "SELECT 1 AS x UNION (SELECT 2 EXCEPT SELECT 1)",
    ),
    "precedence": ("SELECT id + 1 * 2 AS x FROM sales", "SELECT (id + 1) * 2 AS x FROM sales"),
    "grouping": ("SELECT count(*) AS n FROM sales GROUP BY shop", "SELECT count(*) AS n FROM sales GROUP BY note"),
    "grouping sets": (
        "SELECT count(*) AS n FROM sales GROUP BY ROLLUP (shop, note)",
        "SELECT count(*) AS n FROM sales GROUP BY CUBE (shop, note)",
    ),
    "frame": (
        "SELECT sum(id) OVER (ORDER BY id ROWS 1 PRECEDING) AS x FROM sales",
        "SELECT sum(id) OVER (ORDER BY id ROWS 2 PRECEDING) AS x FROM sales",
    ),
    "key of a map": ("SELECT attrs.k AS x FROM sales", "SELECT attrs.K AS x FROM sales"),
    "name of a field that is made": ("SELECT struct(id) AS x FROM sales", "SELECT struct(ID) AS x FROM sales"),
    "name that becomes a field": (
        "SELECT struct(a) AS x FROM (SELECT id AS a FROM sales)",
        "SELECT struct(b) AS x FROM (SELECT id AS b FROM sales)",
    ),
    "sample": (
        "SELECT id FROM sales TABLESAMPLE (10 PERCENT) REPEATABLE (1)",
        "SELECT id FROM sales TABLESAMPLE (10 PERCENT) REPEATABLE (2)",
    ),
    "version": ("SELECT id FROM sales VERSION AS OF 1", "SELECT id FROM sales VERSION AS OF 2"),
    "outer lateral view": (
        "SELECT id FROM sales LATERAL VIEW explode(tags) e AS t",
        "SELECT id FROM sales LATERAL VIEW OUTER explode(tags) e AS t",
    ),
    "percentile": (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) AS x FROM sales",
        "SELECT percentile_approx(id, 0.5) AS x FROM sales",
    ),
    "unit of an interval": ("SELECT INTERVAL 3 DAYS AS x", "SELECT INTERVAL 3 HOURS AS x"),
    "format": ("SELECT date_format(day, 'yyyy') AS x FROM sales", "SELECT date_format(day, 'YYYY') AS x FROM sales"),
    "null-safe": ("SELECT id FROM sales WHERE note = 'a'", "SELECT id FROM sales WHERE note <=> 'a'"),
    "identifier clause": ("SELECT * FROM IDENTIFIER(:a)", "SELECT * FROM IDENTIFIER(:b)"),
    "path": ("SELECT * FROM delta.`/a/B`", "SELECT * FROM delta.`/a/b`"),
    "pivot": (
        "SELECT * FROM (SELECT shop, note FROM sales) PIVOT (count(*) FOR note IN ('a' AS x))",
        "SELECT * FROM (SELECT shop, note FROM sales) PIVOT (count(*) FOR note IN ('a' AS y))",
    ),
    "lambda": ("SELECT transform(tags, x -> x) AS y FROM sales", "SELECT transform(tags, x -> x || x) AS y FROM sales"),
    "window name": (
        "SELECT sum(id) OVER w AS x FROM sales WINDOW w AS (ORDER BY id), v AS (ORDER BY shop)",
        "SELECT sum(id) OVER v AS x FROM sales WINDOW w AS (ORDER BY id), v AS (ORDER BY shop)",
    ),
    "shadowing alias": (
        "SELECT -id AS id FROM sales ORDER BY id",
        "SELECT -id AS id FROM sales ORDER BY sales.id",
    ),
    "step of a path": ("SELECT parse_json(note):a AS x FROM sales", "SELECT parse_json(note):A AS x FROM sales"),
    "field or column": (
        "SELECT address.city AS x FROM sales JOIN shops address ON sales.shop = address.shop",
        "SELECT sales.address.city AS x FROM sales JOIN shops address ON sales.shop = address.shop",
    ),
    "table a parser misreads": ("SELECT 1 FROM (TABLE shops)", "SELECT 1 FROM (TABLE regions)"),
    "script": (
        "SELECT TRANSFORM(id) USING 'a' AS (x) FROM sales",
        "SELECT TRANSFORM(id) USING 'b' AS (x) FROM sales",
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_the_fingerprint_sees(case: str) -> None:
    one, other = DIFFERENT[case]
    assert canonical(one).fingerprint != canonical(other).fingerprint
    assert edit_list(one, other, SHOP_SCHEMAS) != ()


def test_a_star_stands_for_the_columns_of_today() -> None:
    wider = {**SHOP_SCHEMAS, "shops": [*SHOP_SCHEMAS["shops"], ("owner", "string")]}
    for text in ("SELECT * FROM shops", "SELECT * FROM shops JOIN regions USING (region)"):
        assert canonical_form(text, wider).fingerprint != fingerprint(text)


# Any layout, any name, any small change

KEYWORDS = re.compile(r"\b(select|from|where|join|on|group by|order by|and|or|as|with|sum|count|left|limit|desc)\b")
TEMPLATES = (
    "with {a} as (select shop, sum(amount) as {x} from sales {b} where {b}.id > 10 group by shop) "
    "select {c}.shop, {c}.{x} as total, {d}.city from {a} {c} left join shops {d} on {d}.shop = {c}.shop "
    "where {x} > 2.5 and {d}.city = 'c1' order by total desc, {c}.shop limit 7",
    "select {a}.note as remark, count(*) as n from sales {a} join (select shop as {x}, region as {y} from shops where "
    "region < 2) {b} on {a}.shop = {b}.{x} where {b}.{y} >= 0 or exists (select 1 from regions {c} where "
    "{c}.region = {b}.{y} and {c}.name <> 'west') group by {a}.note order by n limit 3",
)
NAMES = st.lists(st.from_regex(r"\A[a-z]{2}[a-z0-9]{2,5}_x\Z"), min_size=6, max_size=6, unique=True)
SPACES = st.sampled_from([" ", "\n", "\t", "  \n  ", " /* note */ ", " -- note\n", "/**/ "])


@st.composite
def spellings(draw: st.DrawFn) -> tuple[str, str]:
    """One query in its plain spelling and in another one."""
    template = draw(st.sampled_from(TEMPLATES))
    plain = template.format(a="qa", b="qb", c="qc", d="qd", x="qx", y="qy")
    named = template.format(**dict(zip("abcdxy", draw(NAMES), strict=True)))
    shouted = KEYWORDS.sub(lambda word: draw(st.sampled_from([word[0], word[0].upper(), word[0].title()])), named)
    return plain, "".join(draw(SPACES) if c == " " else c for c in shouted)


@settings(deadline=None, max_examples=40)
@given(spellings())
def test_no_spelling_changes_the_fingerprint(spelling: tuple[str, str]) -> None:
    plain, other = spelling
    assert fingerprint(other) == fingerprint(plain)
    assert edit_list(plain, other, SHOP_SCHEMAS) == ()


OTHER_WORDS = (
    "<→> >→< =→< >=→<= <>→= and→or or→and desc→asc left→inner sum→max count→max 10→11 2.5→2.50 'c1'→'c2' "
    "'west'→'West' 7→8 3→2 2→1 0→1 1→2 city→region note→day amount→id total→totals n→m name→region "
    "remark→remarks id→shop regions→shops"
)
MUTATIONS = dict(pair.split("→") for pair in OTHER_WORDS.split())


@st.composite
def mutants(draw: st.DrawFn) -> tuple[str, str]:
    """A query, and the same with one word changed."""
    text = draw(st.sampled_from(TEMPLATES)).format(a="qa", b="qb", c="qc", d="qd", x="qx", y="qy")
    tokens = [t for t in SPARK.tokenize(text) if text[t.start : t.end + 1] in MUTATIONS]
    token = draw(st.sampled_from(tokens))
    word = text[token.start : token.end + 1]
    return text, text[: token.start] + MUTATIONS[word] + text[token.end + 1 :]


@settings(deadline=None, max_examples=80)
@given(mutants())
def test_every_change_of_a_word_changes_the_fingerprint_and_is_listed(mutant: tuple[str, str]) -> None:
    text, changed = mutant
    assert canonical(changed).fingerprint != fingerprint(text)
    edits = edit_list(text, changed, SHOP_SCHEMAS)
    assert edits
    assert all(edit.before != edit.after or edit.kind == "moved" for edit in edits)


# The same everywhere


def test_the_same_text_in_every_process_and_for_any_order_of_schemas() -> None:
    code = (
        "from planopt_assets.observe.sql.canonical import canonical_form\n"
        "from planopt_assets.observe.sql.edits import edit_list\n"
        "from planopt_tests.observe.shop_tables import SHOP_SCHEMAS as S\n"
        "from planopt_tests.observe.sql_files import queries_in\n"
        "texts = list(queries_in('canonical.sql').values())\n"
        "for text, other in zip(texts, texts[1:]):\n"
        "    print(canonical_form(text, dict({} S.items())), edit_list(text, other, S))\n"
    )
    first = output_of(code.format("").replace("dict( S.items())", "S"), hash_seed=1)
    again = output_of(code.replace("dict({} S.items())", "dict(reversed(S.items()))"), hash_seed=2)
    assert first == again
    assert len(first.splitlines()) == len(QUERIES) - 1
