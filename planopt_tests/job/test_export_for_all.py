"""The workload policy as texts: its settings once, and of each query only what differs from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planopt_assets.job import export_for_all
from planopt_assets.job.export import Exported, exported
from planopt_assets.model.policy import ORIGINAL, Policy
from planopt_assets.model.workload import Query
from planopt_assets.model.workload_policy import WorkloadPolicy
from planopt_tests.job.test_export import CORES, HINTED, JOINED, MORE, PARTITIONS, one
from planopt_tests.promoted import chain
from planopt_tests.rows import FEWER, OTHER, verdict

pytestmark = pytest.mark.fast

SPLITS = "spark.sql.files.openCostInBytes"
EVERY = WorkloadPolicy(FEWER, ("same", "hinted", "larger"), 5, verdict(FEWER, reason="cpu -30%"))
HEAD = f"for all queries: shuffle.partitions=2 (of use to 3 of 5 queries; accept: cpu -30%)\n{{}} {CORES}\n"


def rendered(form: Any, *queries: Exported, found: WorkloadPolicy = EVERY, session: Any = ()) -> str:
    return "".join(export_for_all.rendered_for_all("sales", found, queries, form, session))


def test_in_sql_the_settings_for_all_stand_once_and_a_query_that_has_them_adds_nothing() -> None:
    assert rendered("sql", one(FEWER, "same"), one(None, "plain", sql="SELECT 2")) == (
        f"-- {HEAD.format('--')}"
        f"SET {PARTITIONS}=2;\n"
        "\n"
        "-- same, generation 1: nothing beside it\n"
        "SELECT 1;\n"
        "\n"
        "-- plain: nothing beside it\n"
        "SELECT 2;\n"
        "\n"
        f"RESET {PARTITIONS};\n"
    )


def test_in_sql_another_value_holds_for_its_query_and_the_one_for_all_after_it() -> None:
    text = rendered("sql", one(MORE, "more"))
    assert f"SET {PARTITIONS}=8;\nSELECT 1;\nSET {PARTITIONS}=2;\n" in text


def test_what_was_accepted_without_a_setting_for_all_runs_without_it() -> None:
    """The two were never measured together."""
    text = rendered("sql", one(OTHER, "splits"))
    assert f"-- splits, generation 1: files.openCostInBytes=65536, without {PARTITIONS}\n" in text
    between = f"RESET {PARTITIONS};\nSET {SPLITS}=65536;\nSELECT 1;\nSET {PARTITIONS}=2;\nRESET {SPLITS};\n"
    assert between in text
    own = rendered("sql", one(OTHER, "splits"), session=((PARTITIONS, "64"), (SPLITS, "1048576")))
    assert (
        between.replace(f"RESET {PARTITIONS}", f"SET {PARTITIONS}=64").replace(
            f"RESET {SPLITS}", f"SET {SPLITS}=1048576"
        )
        in own
    )
    assert own.endswith(f"\nSET {PARTITIONS}=64;\n")  # your own value, once all have run


def test_hints_are_a_difference() -> None:
    text = rendered("sql", one(HINTED, "hinted", sql=JOINED))
    assert "-- hinted, generation 1: broadcast(join0.right shops)\nSELECT /*+ BROADCAST(shops) */ city" in text
    assert text.count("SET spark") == 2  # for all: once set, once reset


def test_json_has_the_policy_for_all_once_and_of_each_query_only_what_differs() -> None:
    queries = (one(FEWER, "same"), one(MORE, "more"), one(OTHER, "splits"), one(HINTED, "hinted", sql=JOINED))
    told = json.loads(rendered("json", *queries))
    assert told["workload"] == "sales"
    assert told["workload_policy"]["policy"] == {"settings": {PARTITIONS: "2"}, "hints": [], "rewrites": []}
    assert told["workload_policy"]["state"] == "accept"
    assert {q["id"]: (q["settings"], q["hints"], q["without"]) for q in told["queries"]} == {
        "same": ({}, [], []),
        "more": ({PARTITIONS: "8"}, [], []),
        "splits": ({SPLITS: "65536"}, [], [PARTITIONS]),
        "hinted": ({}, ["broadcast(join0.right shops)"], []),
    }
    assert [q["policy_id"] for q in told["queries"]] == [p.id for p in (FEWER, MORE, OTHER, HINTED)]


@pytest.mark.parametrize("policy", [ORIGINAL, FEWER, MORE, OTHER, MORE.merged(OTHER), HINTED])
def test_both_together_are_the_policy_in_force(policy: Policy) -> None:
    """Nothing else was measured: not the workload policy with a policy that was accepted without it."""
    (query,) = json.loads(rendered("json", one(policy, sql=JOINED)))["queries"]
    for_all = {name: value for name, value in EVERY.policy.settings if name not in query["without"]}
    assert Policy.of({**for_all, **query["settings"]}, hints=query["hints"]) == policy


def test_python_is_a_module_that_runs_without_planopt() -> None:
    queries = (one(FEWER, "same"), one(MORE, "more"), one(OTHER, "splits"), one(HINTED, "hinted", sql=JOINED))
    module: dict[str, Any] = {}
    exec(rendered("python", *queries), module)  # what it is for
    assert module["FOR_ALL"] == {PARTITIONS: "2"}
    assert module["SETTINGS"] == {"more": {PARTITIONS: "8"}, "splits": {PARTITIONS: None, SPLITS: "65536"}}
    assert list(module["SQL"]) == ["hinted"]
    sessions = {query_id: module["session_for"](_Spark(), query_id).set for query_id in ("same", "more", "splits")}
    assert sessions == {"same": {PARTITIONS: "2"}, "more": {PARTITIONS: "8"}, "splits": {SPLITS: "65536"}}


class _Spark:
    """A session that remembers what is set."""

    def __init__(self) -> None:
        self.set: dict[str, str] = {}
        self.conf = self

    def newSession(self) -> _Spark:  # noqa: N802 - as in Spark
        return _Spark()

    def __getattribute__(self, name: str) -> Any:
        if name == "conf":
            return _Conf(self.set)
        return super().__getattribute__(name)


class _Conf:
    def __init__(self, held: dict[str, str]) -> None:
        self._held = held

    def set(self, name: str, value: str) -> None:
        self._held[name] = value


@pytest.mark.parametrize("form", ["spark-defaults", "submit"])
def test_an_application_has_one_line_for_each_setting_and_the_rest_in_comments(form: Any) -> None:
    text = rendered(form, one(FEWER, "same"), one(MORE, "more"), one(OTHER, "splits"), one(HINTED, "h", sql=JOINED))
    lines = text.splitlines()
    set_here = [line for line in lines if not line.startswith("#") and "spark.sql" in line]
    assert len(set_here) == 1
    assert f"{PARTITIONS}" in set_here[0]
    assert "# more, generation 1: shuffle.partitions=8" in lines
    assert f"# splits, generation 1: files.openCostInBytes=65536, without {PARTITIONS}" in lines
    assert "# what differs is for single queries: `--format sql`, `python` or `json`" in lines
    assert not any(line.startswith("# same") for line in lines)


def test_where_nothing_differs_an_application_gets_the_line_alone() -> None:
    text = rendered("spark-defaults", one(FEWER, "same"), one(None, "plain"))
    assert text == f"# {HEAD.format('#')}{PARTITIONS} 2\n"


def test_a_query_that_was_not_tried_under_it_runs_without_it() -> None:
    """Its result may depend on the plan: nobody has compared the two."""
    found = WorkloadPolicy(FEWER, ("a", "b", "c"), 4, EVERY.verdict, untried=("sampled",))
    text = rendered("sql", one(None, "sampled"), found=found)
    assert f"-- sampled: without {PARTITIONS}\nRESET {PARTITIONS};\nSELECT 1;\nSET {PARTITIONS}=2;\n" in text


NO_JOIN = "SELECT 1 FROM sales"
WHY = "broadcast(join0.right shops) cannot be written into the text"


def test_where_no_text_can_carry_its_own_policy_the_one_for_all_holds_with_the_plain_text() -> None:
    """All settings for all are in its own policy, and it was judged under them alone."""
    found = one(HINTED, "hinted", sql=NO_JOIN)
    text = rendered("sql", found)
    assert f"-- hinted, generation 1: nothing beside it\n-- its own policy is not exported: {WHY}" in text
    assert f"\n{NO_JOIN};\n" in text
    assert "run the query here" not in text
    (query,) = json.loads(rendered("json", found))["queries"]
    assert (query["settings"], query["hints"], query["without"]) == ({}, [], [])
    assert (query["sql"], query["not_exported"]) == (NO_JOIN, None)
    assert query["own_not_exported"].startswith(WHY)


@pytest.mark.parametrize("settings", [MORE, OTHER])
def test_where_its_own_policy_is_another_one_and_no_text_can_carry_it_the_query_runs_as_original(
    settings: Policy,
) -> None:
    found = one(settings.merged(Policy.of(hints=["broadcast(join0.right shops)"])), "hinted", sql=NO_JOIN)
    assert f"RESET {PARTITIONS};\n{NO_JOIN};\nSET {PARTITIONS}=2;\n" in rendered("sql", found)
    (query,) = json.loads(rendered("json", found))["queries"]
    assert (query["settings"], query["without"], query["sql"]) == ({}, [PARTITIONS], NO_JOIN)
    assert query["not_exported"] == query["own_not_exported"]
    assert query["not_exported"].startswith(WHY)


@pytest.mark.parametrize("query", [{"sql": None, "python": "m:f"}, {"sql": "SELECT 'password=hunter2hunter2'"}])
def test_a_text_that_is_not_known_or_not_written_is_still_yours_to_run(query: dict[str, Any]) -> None:
    assert "\n-- run the query here\n" in rendered("sql", one(HINTED, "hinted", **query))


def test_json_names_the_policy_in_force_and_what_is_written_of_it() -> None:
    queries = (one(FEWER, "same"), one(MORE.merged(OTHER), "more"), one(None, "plain"))
    told = json.loads(rendered("json", *queries))["queries"]
    assert [q["policy_id"] for q in told] == [FEWER.id, MORE.merged(OTHER).id, ORIGINAL.id]
    written = [Policy.of(q["settings"], hints=q["hints"], rewrites=q["rewrites"]).id for q in told]
    assert [q["policy_beside"] for q in told] == written == [ORIGINAL.id, MORE.merged(OTHER).id, ORIGINAL.id]


ALONE = f"RESET {PARTITIONS};\nSELECT 1;\nSET {PARTITIONS}=2;\n"


@pytest.mark.parametrize("policies", [(ORIGINAL,), (MORE, ORIGINAL), (FEWER, ORIGINAL)])
@pytest.mark.parametrize("state", ["fixed", "reverted", "expired"])
def test_a_query_that_was_taken_back_to_original_runs_as_original(policies: tuple[Policy, ...], state: str) -> None:
    """A person or the watch has decided about this query. The settings for all must not undo that."""
    promotion = chain("back", *policies, state=state)[-1]
    text = rendered("sql", exported(Query("back", sql="SELECT 1"), promotion))
    assert f"-- back, generation {promotion.generation}: without {PARTITIONS}\n{ALONE}" in text


@pytest.mark.parametrize(("policy", "without"), [(FEWER, []), (MORE, []), (OTHER, [PARTITIONS])])
def test_a_pinned_policy_is_in_force_as_it_was_pinned(policy: Policy, without: list[str]) -> None:
    pinned = exported(Query("pinned", sql="SELECT 1"), chain("pinned", policy, state="fixed")[0])
    (query,) = json.loads(rendered("json", pinned))["queries"]
    assert query["without"] == without


@pytest.mark.parametrize("policy", [FEWER, MORE])
def test_a_query_whose_policy_is_suspended_runs_as_original_with_the_reason(policy: Policy) -> None:
    found = exported(Query("by_shop", sql="SELECT 1"), chain("by_shop", policy)[0], suspended="sales grew")
    assert found.policy == ORIGINAL
    said = f"-- by_shop, generation 1: without {PARTITIONS} (generation 1 is suspended: sales grew)\n"
    assert said + ALONE in rendered("sql", found)
    module: dict[str, Any] = {}
    exec(rendered("python", found), module)
    assert module["session_for"](_Spark(), "by_shop").set == {}


def test_only_a_query_that_was_never_promoted_has_them_with_no_policy_of_its_own() -> None:
    """It was judged under them, and nobody has decided anything else about it."""
    never, back = one(None, "never"), one(ORIGINAL, "back")
    assert never.promotion_id is None
    told = json.loads(rendered("json", never, back))["queries"]
    assert [(q["id"], q["without"]) for q in told] == [("never", []), ("back", [PARTITIONS])]
