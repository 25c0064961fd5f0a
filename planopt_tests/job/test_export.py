"""Policies in force as texts: whole or not at all, and each text says what it does not hold."""

from __future__ import annotations

import json
import subprocess
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.errors import NotExportable
from planopt_assets.job import export
from planopt_assets.job.export import Exported, Format, exported
from planopt_assets.model import redaction
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query
from planopt_tests.promoted import UNCONDITIONAL, chain
from planopt_tests.rows import FEWER
from planopt_tests.unknown_part import policy_with_a_property

pytestmark = pytest.mark.fast

JOINED = "SELECT city FROM sales JOIN shops USING (shop)"
HINTED = Policy.of(dict(FEWER.settings), hints=["broadcast(join0.right shops)"])
MORE = Policy.of({"spark.sql.shuffle.partitions": "8"})


def one(policy: Policy | None = FEWER, query_id: str = "by_shop", **query: Any) -> Exported:
    declared = Query(query_id, **{"sql": "SELECT 1;", **query})
    return exported(declared, chain(query_id, policy)[0] if policy else None)


def rendered(workload: str, queries: Iterable[Exported], form: Format) -> str:
    return "".join(export.rendered(workload, queries, form))


PARTITIONS = "spark.sql.shuffle.partitions"
CORES = f"{PARTITIONS} depends on the number of cores: measure it again on a cluster with another number"


@pytest.mark.parametrize(("form", "mark"), [("sql", "--"), ("submit", "#"), ("spark-defaults", "#"), ("python", "#")])
def test_a_value_that_depends_on_the_cores_says_so(form: Any, mark: str) -> None:
    assert f"\n{mark} {CORES}\n" in rendered("sales", [one()], form)
    size = one(Policy.of({"spark.sql.files.openCostInBytes": "65536"}))
    assert "cores" not in rendered("sales", [size], form)
    assert [query.facts()["depends_on_cores"] for query in (size, one())] == [[], [PARTITIONS]]


def test_after_the_query_the_users_own_value_holds_again() -> None:
    session = (("spark.sql.session.timeZone", "UTC"), (PARTITIONS, "64"))
    own = exported(Query("by_shop", sql="SELECT 1"), chain("by_shop", FEWER)[0], session)
    *_, last = rendered("sales", [own], "sql").splitlines()
    assert last == f"SET {PARTITIONS}=64;"


def test_sql_sets_runs_and_resets() -> None:
    assert rendered("sales", [one()], "sql") == (
        "-- by_shop, generation 1: shuffle.partitions=2\n"
        f"-- {CORES}\n"
        "SET spark.sql.shuffle.partitions=2;\n"
        "SELECT 1;\n"
        "RESET spark.sql.shuffle.partitions;\n"
    )


def test_spark_defaults_and_submit_hold_the_settings() -> None:
    head = f"# by_shop, generation 1: shuffle.partitions=2\n# {CORES}\n"
    assert rendered("sales", [one()], "spark-defaults") == head + "spark.sql.shuffle.partitions 2\n"
    assert rendered("sales", [one()], "submit") == (
        f"{head}# paste this command and add your application at its end\n"
        "spark-submit \\\n"
        "  --conf spark.sql.shuffle.partitions=2 \\\n"
    )


def test_what_submit_writes_is_a_command_once_the_application_is_named(tmp_path: Path) -> None:
    quoted = Policy.of({"spark.sql.optimizer.excludedRules": "a,b; echo wrong", "spark.sql.shuffle.partitions": "2"})
    program = tmp_path / "spark-submit"
    program.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    program.chmod(0o755)
    pasted = rendered("sales", [one(quoted), one(quoted, "cities")], "submit") + "job.py --day 1\n"
    done = subprocess.run(
        ["sh", "-e"],
        input=pasted,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "--conf",
        "spark.sql.optimizer.excludedRules=a,b; echo wrong",
        "--conf",
        "spark.sql.shuffle.partitions=2",
        "job.py",
        "--day",
        "1",
    ]


def test_a_query_without_a_policy_is_named_and_sets_nothing() -> None:
    assert rendered("sales", [one(None)], "submit") == "# by_shop: original, nothing to set\n"
    assert rendered("sales", [one(None)], "sql") == "-- by_shop: original, nothing to set\nSELECT 1;\n"


@pytest.mark.parametrize("form", ["sql", "spark-defaults", "python"])
def test_a_suspended_policy_is_exported_as_original_with_the_reason(form: Any) -> None:
    declared = Query("by_shop", sql="SELECT 1")
    found = exported(declared, chain("by_shop", FEWER)[0], suspended="sales grew")
    text = rendered("sales", [found], form)
    assert "by_shop: original, nothing to set: generation 1 is suspended: sales grew" in text
    assert "shuffle.partitions" not in text
    assert found.facts()["suspended"] == "generation 1 is suspended: sales grew"


def test_json_holds_everything_of_the_policy() -> None:
    (query,) = json.loads(rendered("sales", [one(HINTED, sql=JOINED)], "json"))["queries"]
    assert query == {
        "id": "by_shop",
        "generation": 1,
        "promotion_id": "pro-by_shop-g1",
        "policy_id": HINTED.id,
        "settings": {"spark.sql.shuffle.partitions": "2"},
        "hints": ["broadcast(join0.right shops)"],
        "rewrites": [],
        "depends_on_cores": ["spark.sql.shuffle.partitions"],
        "sql": "SELECT /*+ BROADCAST(shops) */ city FROM sales JOIN shops USING (shop)",
        "not_exported": None,
        "suspended": None,
        "conditions": UNCONDITIONAL.facts(),
    }


def test_python_is_a_module_that_runs_without_planopt() -> None:
    module: dict[str, Any] = {}
    exec(rendered("sales", [one(), one(HINTED, "cities", sql=JOINED)], "python"), module)  # what it is for
    assert module["SETTINGS"] == {q: {"spark.sql.shuffle.partitions": "2"} for q in ("by_shop", "cities")}
    assert module["SQL"] == {"cities": "SELECT /*+ BROADCAST(shops) */ city FROM sales JOIN shops USING (shop)"}
    assert callable(module["session_for"])


@pytest.mark.parametrize("form", ["spark-defaults", "submit"])
def test_settings_alone_are_not_exported_where_hints_belong_to_the_policy(form: Any) -> None:
    text = rendered("sales", [one(HINTED, sql=JOINED)], form)
    assert text.endswith("# not exported: hints and rewrites need the query's text: use `--format sql`\n")
    assert "2\n" not in text


def test_hints_go_into_the_text() -> None:
    assert "SELECT /*+ BROADCAST(shops) */ city" in rendered("sales", [one(HINTED, sql=JOINED)], "sql")


@pytest.mark.parametrize(
    ("policy", "query", "why"),
    [
        (HINTED, {"sql": "SELECT 1 FROM sales"}, "broadcast(join0.right shops) cannot be written into the text"),
        (HINTED, {"sql": None, "python": "m:f"}, "a Python query has no text for hints"),
        (Policy.of(rewrites=["no_such_rewrite"]), {}, "rewrite no_such_rewrite finds nothing to change"),
        (
            Policy.of(rewrites=["aggregate_before_join"]),
            {},
            "rewrite aggregate_before_join goes by the types of the tables at each run: use `tuned(…).sql`",
        ),
    ],
    ids=["no such join", "python", "idle rewrite", "rewrite by types"],
)
def test_a_policy_no_text_can_carry_is_not_exported_in_any_form(
    policy: Policy, query: dict[str, Any], why: str
) -> None:
    found = one(policy, **query)
    assert found.missing.startswith(why)
    for form in ("sql", "spark-defaults", "submit", "python"):
        text = rendered("sales", [found], form)  # type: ignore[arg-type]
        assert f"not exported: {why}" in text
        assert "SET spark" not in text


def test_a_policy_with_a_part_that_no_query_carries_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = one(policy_with_a_property(monkeypatch))
    assert found.missing == "properties not applied: no query can carry delta.x"
    assert "SET spark" not in rendered("sales", [found], "sql")
    assert found.facts()["properties"] == ["delta.x"]


def test_settings_of_a_python_query_are_exported() -> None:
    assert "-- run the query here" in rendered("sales", [one(sql=None, python="m:f")], "sql")


def test_a_secret_in_the_text_is_not_written() -> None:
    redaction.learn(["k-93fa-k-93fa"])
    text = rendered("sales", [one(sql="SELECT 1 WHERE '' = 'k-93fa-k-93fa'")], "sql")
    assert "SET spark.sql.shuffle.partitions=2;" in text
    assert "k-93fa" not in text


def test_two_queries_with_different_values_do_not_fit_into_one_application() -> None:
    with pytest.raises(NotExportable, match=r"spark.sql.shuffle.partitions is 2 for by_shop and 8 for cities"):
        rendered("sales", [one(), one(MORE, "cities")], "spark-defaults")


@pytest.mark.parametrize("form", ["spark-defaults", "submit"])
@pytest.mark.parametrize("other", [None, ORIGINAL], ids=["never promoted", "taken back"])
def test_a_query_that_runs_as_original_does_not_get_the_policy_of_another(form: Any, other: Policy | None) -> None:
    with pytest.raises(NotExportable, match=r"is 2 for by_shop and not set for cities"):
        rendered("sales", [one(), one(other, "cities")], form)
    with pytest.raises(NotExportable, match=r"is not set for cities and 2 for by_shop"):
        rendered("sales", [one(other, "cities"), one()], form)


@pytest.mark.parametrize("form", ["spark-defaults", "submit"])
def test_a_query_whose_policy_the_form_cannot_carry_does_not_get_that_of_another(form: Any) -> None:
    with pytest.raises(NotExportable, match=r"is 2 for by_shop and not set for cities"):
        rendered("sales", [one(), one(HINTED, "cities", sql=JOINED)], form)


def test_two_queries_that_agree_share_an_application() -> None:
    assert rendered("sales", [one(), one(FEWER, "cities")], "submit").count("--conf") == 1
    assert rendered("sales", [one(None), one(ORIGINAL, "cities")], "spark-defaults") == (
        "# by_shop: original, nothing to set\n# cities: original, nothing to set\n"
    )


def test_each_query_has_its_own_settings_in_sql() -> None:
    text = rendered("sales", [one(), one(MORE, "cities"), one(ORIGINAL, "shops")], "sql")
    assert text.index("=2;") < text.index("RESET") < text.index("=8;")


FORMS: list[Format] = ["spark-defaults", "submit", "sql", "json", "python"]
QUERIES, SIZE = 100, 200_000


@pytest.mark.parametrize("form", FORMS)
def test_a_query_is_asked_for_when_the_one_before_is_written(form: Format) -> None:
    asked: list[tuple[str, str]] = []
    pieces: list[str] = []

    def queries() -> Iterator[Exported]:
        for query_id in ("first", "second", "third"):
            asked.append((query_id, "".join(pieces)))
            yield one(HINTED, query_id, sql=JOINED)

    for piece in export.rendered("sales", queries(), form):
        pieces += [piece]
    assert [query_id for query_id, _ in asked] == ["first", "second", "third"]
    for (before, _), (_, written) in pairwise(asked):
        assert before in written


def large_texts() -> Iterator[Exported]:
    for number in range(QUERIES):
        yield Exported(f"q{number}", 1, HINTED, f"pro-{number}", f"SELECT {number} AS {'x' * SIZE}")


@pytest.mark.parametrize("form", FORMS)
def test_all_texts_are_never_held_at_once(form: Format) -> None:
    def peak(write: Any) -> int:
        tracemalloc.start()
        write(export.rendered("sales", large_texts(), form))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(lambda pieces: sum(map(len, pieces))) < 20 * SIZE
    if form not in ("spark-defaults", "submit"):  # these have no texts
        assert peak("".join) > QUERIES * SIZE  # what it would be


def test_json_is_as_if_written_at_once() -> None:
    queries = [one(HINTED, sql=JOINED), one(None, "cities", sql="SELECT 'a\\nb\u2028' AS `é`")]
    for some in (queries, queries[:1], []):
        whole = {"workload": "sales", "queries": [q.facts() for q in some]}
        assert rendered("sales", some, "json") == json.dumps(whole, indent=2) + "\n"
