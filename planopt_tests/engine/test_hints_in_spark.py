"""Hints really reach Spark: in SQL and in DataFrames, on the join they are for and on no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from planopt_assets.engine.frames.hints import JoinHints, _Tree
from planopt_assets.engine.frames.policy_text import policy_text
from planopt_assets.engine.jvm.bridge import Jvm
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import PolicyNotApplied, SqlRefused
from planopt_assets.model.hint import Hint
from planopt_assets.model.plan import Plan
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query
from planopt_assets.observe.plans.fingerprint import shape
from planopt_assets.observe.sql.tokens import SPARK
from planopt_assets.replan.text_joins import text_joins
from planopt_tests.conftest import make_tables, workload_of
from planopt_tests.replan.test_text_joins import COUNTED

pytestmark = pytest.mark.spark

OFF = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": "2"}
SORTED = Policy.of(OFF)
GROUPED = Query(
    "grouped",
    sql="SELECT s.city, g.n FROM (SELECT shop, count(*) AS n FROM sales WHERE id > :low GROUP BY shop) g "
    "JOIN shops s ON g.shop = s.shop",
    bindings=((("low", 10),), (("low", 900),)),
)
FRAME = Query("frame", python="queries:grouped", bindings=GROUPED.bindings)
MODULE = """
from pyspark.sql import functions as F

def grouped(spark, low):
    sales = spark.table("sales").where(F.col("id") > low)
    g = sales.groupBy("shop").agg(F.count("*").alias("n")).alias("g")
    s = spark.table("shops").alias("s")
    return g.join(s, F.col("g.shop") == F.col("s.shop")).select("s.city", "g.n")
"""


def hinted(*hints: str) -> Policy:
    return Policy.of(OFF, hints=hints)


def joins(plan: Plan) -> list[str]:
    return [" ".join(shape(node)) for node in plan.nodes if node.kind.endswith("Join")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_tables(tmp_path_factory.mktemp("hints"))
    (made / "queries.py").write_text(MODULE)
    return made


@pytest.fixture(scope="module")
def workspace(spark: SparkSession, folder: Path) -> Workspace:
    """One for all: each set of settings has a session of its own, and no test leaves anything in it."""
    return new_workspace(folder)


def new_workspace(folder: Path) -> Workspace:
    return Workspace(workload_of(folder, [GROUPED, FRAME], allow_python=True))


def run(workspace: Workspace, sql: str, policy: Policy) -> list[str]:
    """The joins a text is planned with."""
    plan, _ = workspace.plan(Query(f"q{abs(hash(sql))}", sql=sql), 0, workspace.arm(policy))
    return joins(plan)


# One hint, both kinds of query


@pytest.mark.parametrize("query", [GROUPED, FRAME], ids=["sql", "dataframe"])
@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("broadcast(join0.left g)", "BroadcastHashJoin Inner Left"),
        ("broadcast(join0.right s)", "BroadcastHashJoin Inner Right"),
        ("shuffle_hash(join0.right s)", "ShuffledHashJoin Inner Right"),
    ],
)
def test_a_hint_changes_the_join_it_is_for(workspace: Workspace, query: Query, hint: str, expected: str) -> None:
    assert joins(workspace.plan(query, 0, workspace.arm(SORTED))[0]) == ["SortMergeJoin Inner"]
    assert joins(workspace.plan(query, 0, workspace.arm(hinted(hint)))[0]) == [expected]


@pytest.mark.parametrize("query", [GROUPED, FRAME], ids=["sql", "dataframe"])
def test_a_merge_hint_keeps_a_join_from_being_broadcast(workspace: Workspace, query: Query) -> None:
    assert joins(workspace.plan(query, 0, workspace.baseline)[0])[0].startswith("BroadcastHashJoin")
    merged = workspace.arm(Policy.of(hints=["merge(join0.left g)"]))
    assert joins(workspace.plan(query, 0, merged)[0]) == ["SortMergeJoin Inner"]


def test_sql_and_dataframe_return_the_same_with_and_without_the_hint(workspace: Workspace) -> None:
    for binding in (0, 1):
        runs = [
            workspace.execute(query, binding, workspace.arm(policy), timeout_s=120)
            for query in (GROUPED, FRAME)
            for policy in (SORTED, hinted("broadcast(join0.left g)"))
        ]
        assert len({r.digest for r in runs}) == 1
        assert [joins(r.final)[0].split(" ")[0] for r in runs] == ["SortMergeJoin", "BroadcastHashJoin"] * 2
        plain, broadcast = runs[0].counters, runs[1].counters
        assert broadcast.shuffle_write_rows < plain.shuffle_write_rows  # `shops` is no longer shuffled


def test_policies_with_the_same_settings_share_a_session(workspace: Workspace) -> None:
    policies = (SORTED, hinted("broadcast(join0.left g)"), ORIGINAL)
    plain, broadcast, other = (workspace.isolated(workspace.arm(policy)) for policy in policies)
    assert broadcast is plain
    assert other is not plain


def test_a_hint_of_one_policy_is_not_in_another(workspace: Workspace) -> None:
    workspace.plan(GROUPED, 0, workspace.arm(hinted("broadcast(join0.left g)")))
    assert joins(workspace.plan(GROUPED, 0, workspace.arm(SORTED))[0]) == ["SortMergeJoin Inner"]


def test_spark_says_which_join_a_hint_reached(workspace: Workspace) -> None:
    outer = "SELECT a.id, s.city FROM sales a FULL JOIN shops s ON a.shop = s.shop"
    query = Query("outer", sql=outer)
    ((words, operator),) = workspace.hinted_joins(query, 0, workspace.arm(hinted("broadcast(join0.right s)")))
    assert words == "rightHint=(strategy=broadcast)"
    assert operator.startswith("SortMergeJoin")  # a full outer join cannot be broadcast
    assert workspace.hinted_joins(query, 0, workspace.arm(SORTED)) == []


# Shapes


TWICE = (
    "WITH d AS (SELECT a.shop, b.city FROM sales a JOIN shops b ON a.shop = b.shop) "
    "SELECT d.city, b.city AS other FROM d JOIN shops b ON d.shop = b.shop"
)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("broadcast(join0.right b)", ["SortMergeJoin Inner", "BroadcastHashJoin Inner Right"]),
        ("broadcast(join1.right b)", ["BroadcastHashJoin Inner Right", "SortMergeJoin Inner"]),
    ],
)
def test_of_one_alias_in_two_selects_the_numbered_one_is_meant(
    workspace: Workspace, hint: str, expected: list[str]
) -> None:
    assert run(workspace, TWICE, hinted(hint)) == expected


def test_a_self_join_is_hinted_on_one_side_only(workspace: Workspace) -> None:
    text = "SELECT l.id FROM sales l JOIN sales r ON l.id = r.id + 1"
    assert run(workspace, text, hinted("broadcast(join0.left l)")) == ["BroadcastHashJoin Inner Left"]
    assert run(workspace, text, hinted("broadcast(join0.right r)")) == ["BroadcastHashJoin Inner Right"]


def test_two_inputs_with_one_name_are_told_apart_in_the_plan(workspace: Workspace) -> None:
    text = "SELECT 1 AS one FROM shops JOIN shops USING (shop)"
    assert run(workspace, text, hinted("broadcast(join0.left shops)")) == ["BroadcastHashJoin Inner Left"]
    assert run(workspace, text, hinted("broadcast(join0.right shops)")) == ["BroadcastHashJoin Inner Right"]


def test_an_input_without_a_name_is_hinted_in_the_plan(workspace: Workspace) -> None:
    text = "SELECT 1 AS one FROM sales a JOIN sales b ON a.id = b.id JOIN shops c ON a.shop = c.shop"
    expected = ["BroadcastHashJoin Inner Left", "SortMergeJoin Inner"]
    assert run(workspace, text, hinted("broadcast(join0.left)")) == expected


def test_a_join_beside_a_sub_query_is_meant_not_the_one_in_it(workspace: Workspace) -> None:
    inner = "SELECT a.id FROM sales a JOIN shops b ON a.shop = b.shop"
    text = f"SELECT a.id FROM sales a JOIN shops b ON a.shop = b.shop WHERE a.id IN ({inner})"
    found = run(workspace, text, hinted("broadcast(join0.right b)"))
    assert found.count("BroadcastHashJoin Inner Right") == 1
    assert found.count("SortMergeJoin Inner") == 1


def test_text_and_plan_carry_hints_of_one_policy_together(workspace: Workspace) -> None:
    text = "SELECT 1 AS one FROM sales a JOIN sales b ON a.id = b.id JOIN shops c ON a.shop = c.shop"
    policy = hinted("broadcast(join0.left)", "shuffle_hash(join1.right b)")
    assert run(workspace, text, policy) == ["BroadcastHashJoin Inner Left", "ShuffledHashJoin Inner Right"]


# Not applied


@pytest.mark.parametrize("query", [GROUPED, FRAME], ids=["sql", "dataframe"])
@pytest.mark.parametrize(
    ("hint", "why"),
    [
        ("broadcast(join0.left x)", "that input is called g"),
        ("broadcast(join1.left g)", "the query has 1 joins"),
    ],
)
def test_a_hint_for_what_is_not_there_is_an_error_not_a_silent_run(
    workspace: Workspace, query: Query, hint: str, why: str
) -> None:
    with pytest.raises(PolicyNotApplied, match=why):
        workspace.plan(query, 0, workspace.arm(hinted(hint)))


def test_the_authors_own_hint_stays(workspace: Workspace) -> None:
    text = "SELECT /*+ MERGE(s) */ a.id FROM sales a JOIN shops s ON a.shop = s.shop"
    with pytest.raises(PolicyNotApplied, match="the query itself has a hint there"):
        run(workspace, text, hinted("broadcast(join0.right s)"))
    other = run(workspace, text, hinted("shuffle_hash(join0.left a)"))
    assert other == run(workspace, text, SORTED)  # both hints are on the join, and MERGE comes first for Spark


def test_what_a_rewrite_makes_of_a_text_goes_through_the_gate(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = new_workspace(folder)
    escape = "SELECT reflect('java.lang.System', 'getProperty', 'user.home') AS home"
    monkeypatch.setattr(
        "planopt_assets.engine.frames.policy_text.rewritten_sql", lambda sql, names, _: (escape if names else sql, ())
    )
    with pytest.raises(SqlRefused):
        workspace.frame(GROUPED, 0, workspace.arm(Policy.of(rewrites=["escape"])))
    assert workspace.frame(GROUPED, 0, workspace.baseline).columns == ["city", "n"]


def test_a_rewrite_that_changes_the_columns_of_the_result_is_not_applied(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "SELECT city, count(*) AS m FROM shops GROUP BY city"
    monkeypatch.setattr("planopt_assets.engine.frames.policy_text.rewritten_sql", lambda *_: (other, ()))
    with pytest.raises(PolicyNotApplied, match="other_name changes the columns of the result"):
        workspace.frame(GROUPED, 0, workspace.arm(Policy.of(rewrites=["other_name"])))


def test_a_rewrite_that_finds_nothing_is_not_applied(workspace: Workspace) -> None:
    with pytest.raises(PolicyNotApplied, match="no_such_rewrite leaves the text as it is"):
        workspace.frame(GROUPED, 0, workspace.arm(Policy.of(rewrites=["no_such_rewrite"])))
    with pytest.raises(PolicyNotApplied, match="is for SQL, the query is Python"):
        workspace.frame(FRAME, 0, workspace.arm(Policy.of(rewrites=["cnf"])))


# Text or plan


@pytest.mark.parametrize(
    ("sql", "hint", "in_text"),
    [
        ("SELECT 1 FROM a JOIN b ON a.k = b.k", "join0.right b", True),
        ("SELECT 1 FROM joined j JOIN c ON j.k = c.k", "join0.left j", True),
        ("SELECT 1 FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k", "join0.left", False),
        ("FROM a JOIN b ON a.k = b.k SELECT 1", "join0.right b", False),
        # The view has a join of its own, which the text does not show: the text's second join is the plan's third.
        ("SELECT 1 FROM joined j JOIN b ON j.k = b.k UNION ALL SELECT 2 FROM a JOIN b ON a.k = b.k", None, False),
    ],
)
def test_the_text_carries_a_hint_only_where_spark_then_finds_it(
    letters: SparkSession, sql: str, hint: str | None, in_text: bool
) -> None:
    target = Hint("broadcast", hint or "join1.right b")
    joins = JoinHints(Jvm(letters))
    text = policy_text(sql, Policy((target,)), letters.sql, joins)
    assert (text.sql != sql, text.plan_hints == (target,)) == (in_text, not in_text)
    frame = letters.sql(text.sql)
    frame = joins.hinted(frame, text.plan_hints) if text.plan_hints else frame
    assert joins.carried(frame) == {(target.join, target.side): ("broadcast",)}


# Every join of many shapes, in the analysed plan


@pytest.fixture(scope="module")
def letters(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    for name in "abcdef":
        session.range(3).withColumnRenamed("id", "k").createOrReplaceTempView(name)
    session.sql("CREATE TEMPORARY VIEW joined AS SELECT a.k FROM a JOIN b ON a.k = b.k")
    return session


@pytest.mark.parametrize("text", [t for t in COUNTED if t != "SELECT 1"])
def test_joins_of_a_text_are_numbered_as_spark_numbers_them(letters: SparkSession, text: str) -> None:
    plan: Any = letters.sql(text)._jdf.queryExecution().analyzed()
    tree = _Tree.of(Jvm(letters).tree(plan))
    parsed = SPARK.parse(text)[0]
    assert parsed is not None
    counted = text_joins(parsed).joins
    assert len(tree.joins) == len(counted)
    for join, number in zip(counted, tree.joins, strict=True):
        for side, child in zip((join.left, join.right), tree.children[number], strict=True):
            assert side is None or side.name in [tree.names[i] for i in tree.chain(child)]


SHAPES = [
    *[text for text, joined in COUNTED.items() if joined],
    "SELECT j.k FROM joined j JOIN c ON j.k = c.k",  # a view with a join in it
    "SELECT a.k, x.k FROM a JOIN LATERAL (SELECT k FROM b WHERE b.k = a.k) x JOIN c ON a.k = c.k",
    "SELECT k, count(*) FROM (SELECT a.k FROM a JOIN b ON a.k = b.k) GROUP BY k HAVING count(*) > 0 ORDER BY k LIMIT 2",
    "SELECT k, row_number() OVER (ORDER BY k) FROM a JOIN b USING (k)",
]


@pytest.mark.parametrize("text", SHAPES)
def test_any_input_of_any_join_can_be_hinted_in_the_plan(letters: SparkSession, text: str) -> None:
    hints = JoinHints(Jvm(letters))
    plain: DataFrame = letters.sql(text)
    expected = sorted(map(str, plain.collect()))
    analysed: Any = plain._jdf.queryExecution().analyzed()
    count = len(_Tree.of(Jvm(letters).tree(analysed)).joins)
    everywhere = [Hint("broadcast", f"join{n}.{side}") for n in range(count) for side in ("left", "right")]
    free = {(n, side) for n in range(count) for side in ("left", "right")}
    for hint in everywhere:
        with_hint = hints.hinted(plain, [hint])
        assert hints.carried(with_hint) == {(hint.join, hint.side): ("broadcast",)}
        assert _ids(with_hint) == _ids(plain)
    all_of_them = hints.hinted(plain, everywhere)
    assert hints.carried(all_of_them).keys() == free
    assert sorted(map(str, all_of_them.collect())) == expected


def _ids(frame: DataFrame) -> str:
    """The columns of the analysed plan, with the ids Spark gave them."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    return str(plan.output().toString())
