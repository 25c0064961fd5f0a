"""Every hash that an observation has: it changes with exactly its own input, and no order of things shows in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.model.bundle import bundle_hash
from planopt_assets.model.ids import content_id
from planopt_assets.model.plan import Estimate
from planopt_assets.model.provenance import Planning, PlanningEnvironment, Rulepack
from planopt_assets.model.scan import Size
from planopt_assets.model.table_facts import Column, Constraint, Protocol
from planopt_assets.model.workload import Budgets, Table
from planopt_tests.fresh_python import output_of
from planopt_tests.hashed import WORLD, World, hashes
from planopt_tests.model.test_ids import reordered

pytestmark = pytest.mark.fast


HASHES = hashes(WORLD)
OUTSIDE_THE_BUNDLE = {"canonical plan", "query text", "inputs"}

# Changes, each in as many ways as there are numbers


def table(**changes: Any) -> Callable[[World], World]:
    return lambda world: replace(world, tables=(replace(world.tables[0], **changes), *world.tables[1:]))


def operator(index: int, old: str, new: str) -> Callable[[World], World]:
    def change(world: World) -> World:
        nodes = list(world.plan.nodes)
        assert old in nodes[index].kind + nodes[index].detail
        texts = {field: getattr(nodes[index], field).replace(old, new) for field in ("kind", "detail")}
        nodes[index] = replace(nodes[index], **texts)
        return replace(world, plan=replace(world.plan, nodes=tuple(nodes)))

    return change


def scan(**changes: Any) -> Callable[[World], World]:
    return lambda world: replace(world, scans=(replace(world.scans[0], **changes), *world.scans[1:]))


def workload(**changes: Any) -> Callable[[World], World]:
    return lambda world: replace(world, workload=replace(world.workload, **changes))


def entry(field: str, name: str, value: str) -> Callable[[World], World]:
    return lambda world: replace(world, **{field: {**getattr(world, field), name: value}})


def columns(*changed: Column) -> Callable[[World], World]:
    return table(columns=(*changed, *WORLD.tables[0].columns[len(changed) :]))


def text(old: str, new: str) -> Callable[[World], World]:
    assert old in WORLD.sql
    return lambda world: replace(world, sql=world.sql.replace(old, new))


Change = tuple[set[str], Callable[[int], Callable[[World], World]]]

CHANGES: dict[str, Change] = {
    # provenance
    "a setting": ({"planning_env"}, lambda n: entry("settings", "spark.sql.shuffle.partitions", str(200 + n))),
    "one setting more": ({"planning_env"}, lambda n: entry("settings", f"spark.sql.more{n}", "true")),
    "a setting of scans": (
        {"planning_env", "snapshot"},
        lambda n: entry("settings", "spark.sql.files.maxPartitionBytes", f"{128 + n}m"),
    ),
    "the machine": ({"planning_env"}, lambda n: entry("environment", "cores", str(2 + n))),
    "one rule more": (
        {"rulepack"},
        lambda n: lambda w: replace(w, batches=(("optimize: once", ("A", "B", f"R{n}")), w.batches[1])),
    ),
    "the order of rules": (
        {"rulepack"},
        lambda n: lambda w: replace(w, batches=((w.batches[0][0], w.batches[0][1][::-1]), w.batches[1])),
    ),
    "the order of batches": ({"rulepack"}, lambda n: lambda w: replace(w, batches=w.batches[::-1])),
    "a rule in another batch": (
        {"rulepack"},
        lambda n: lambda w: replace(w, batches=(("optimize: once", ("A",)), ("optimize: again", ("B", "C", "D")))),
    ),
    "the name of a batch": (
        {"rulepack"},
        lambda n: lambda w: replace(w, batches=((f"b{n}", ("A", "B")), w.batches[1])),
    ),
    # tables
    "the version of a table": ({"snapshot", "inputs"}, lambda n: table(version=12 + n)),
    "the id of a table": ({"snapshot", "inputs"}, lambda n: table(table_id=f"id-1{n}")),
    "the protocol of a table": ({"snapshot"}, lambda n: table(protocol=Protocol.of(3, 7, [f"feature{n}"]))),
    "a property that scans look at": (
        {"snapshot"},
        lambda n: table(properties=(("delta.columnMapping.mode", f"m{n}"),)),
    ),
    "the type of a column": (
        {"snapshot", "contract"},
        lambda n: columns(Column("id", f"decimal({n},0)", nullable=False)),
    ),
    "nullability": ({"snapshot", "contract"}, lambda n: columns(Column("id", "long"))),
    "partitioning": (
        {"snapshot", "contract"},
        lambda n: table(partition_columns=("id", "nation", "price")[: n % 3 + 1]),
    ),
    "a constraint": ({"contract"}, lambda n: table(constraints=(Constraint("check", "positive", f"price > {n}"),))),
    "a default": (
        {"contract"},
        lambda n: columns(*WORLD.tables[0].columns[:2], Column("price", "double", default=str(n))),
    ),
    "where a table is": (set(), lambda n: table(location=f"/moved/{n}/orders")),
    "a comment on a column": (set(), lambda n: columns(Column("id", "long", nullable=False, comment=f"c{n}"))),
    "when and how large": (set(), lambda n: table(committed_at_ms=n, files=n, bytes=n, description=f"d{n}")),
    # the query
    "a literal of the query": ({"query", "query text", "inputs"}, lambda n: text("> 5", f"> {5 + n}")),
    "a column of the query": ({"query", "query text", "inputs"}, lambda n: text("o.id,", "o.price,")),
    "a comment in the query": ({"query text", "inputs"}, lambda n: text("WHERE", f"/* {n} */ WHERE")),
    "the layout of the query": ({"query text", "inputs"}, lambda n: text(" WHERE", "\n" * n + "where")),
    "an alias in the query": ({"query text", "inputs"}, lambda n: lambda w: replace(w, sql=_renamed(w.sql, f"x{n}"))),
    "a parameter": (
        {"query text", "inputs"},
        lambda n: (
            lambda w: replace(w, query=replace(w.query, bindings=((("rate", 1.5 + n), ("since", "1995-01-01")),)))
        ),
    ),
    "how often it runs": ({"inputs"}, lambda n: lambda w: replace(w, query=replace(w.query, runs_per_day=1.0 + n))),
    # the workload
    "a session setting": ({"inputs"}, lambda n: workload(spark_settings=(("spark.a", "1"), ("spark.b", str(2 + n))))),
    "a budget": ({"inputs"}, lambda n: workload(budgets=Budgets(per_query=1000.0 + n))),
    "the seed": ({"inputs"}, lambda n: workload(seed=n)),
    "the version of a rule book": ({"inputs"}, lambda n: entry("versions", "judge", f"judge@{1 + n}")),
    "names and modes": (set(), lambda n: workload(name=f"w{n}", mode="auto", store=f"s{n}", capture="debug")),
    "tables that it does not read": (set(), lambda n: workload(tables=(Table(f"t{n}", "/data/t"),))),
    # plans
    "the analysed plan": (
        {"analyzed"},
        lambda n: lambda w: replace(w, analyzed=[{**w.analyzed[0], "condition": {"op": ">", "value": str(5 + n)}}]),
    ),
    "the text of the analysed plan": (
        {"canonical plan"},
        lambda n: lambda w: replace(w, analyzed_text=w.analyzed_text.replace("> 5", f"> {5 + n}")),
    ),
    "ids in the text of the analysed plan": (
        set(),
        lambda n: (
            lambda w: replace(w, analyzed_text=w.analyzed_text.replace("#70", f"#{100 + n}").replace("#71", "#9"))
        ),
    ),
    "the optimised plan": ({"optimized"}, lambda n: lambda w: replace(w, optimized=[{"class": f"x.Other{n}"}])),
    "a literal of the plan": ({"plan"}, lambda n: operator(2, "5.0", f"{5 + n}.0")),
    "a number of partitions": ({"plan", "topology"}, lambda n: operator(1, "200", str(200 + n))),
    "the kind of an operator": ({"plan", "topology"}, lambda n: operator(0, "SortMergeJoin", "ShuffledHashJoin")),
    "the kind of a join": ({"plan", "topology"}, lambda n: operator(0, "Inner", "LeftOuter")),
    "a scan row by row": ({"plan", "topology"}, lambda n: operator(3, "Batched: true", "Batched: false")),
    "where an operator stands": ({"plan", "topology"}, lambda n: lambda w: _moved(w)),
    "what operators cost": (set(), lambda n: lambda w: _measured(w, n)),
    "a pushed filter": ({"scans"}, lambda n: scan(pushed_filters=(f"GreaterThan(price,{5 + n}.0)",))),
    "what is left to read": ({"scans"}, lambda n: scan(funnel=replace(WORLD.scans[0].funnel, scanned=Size(n, n, n)))),
    "the version a scan read": ({"scans"}, lambda n: scan(version=12 + n)),
    "the order of scans": ({"scans"}, lambda n: lambda w: replace(w, scans=w.scans[::-1])),
    "what was read": (
        set(),
        lambda n: scan(funnel=replace(WORLD.scans[0].funnel, read=Size(n, n, n), matched=Size(rows=n))),
    ),
    "the name of a result column": ({"output"}, lambda n: lambda w: replace(w, output=((f"c{n}", "bigint", False),))),
    "the type of a result column": (
        {"output"},
        lambda n: lambda w: replace(w, output=(("id", f"decimal({n},0)", False), w.output[1])),
    ),
    "NULL in a result column": (
        {"output"},
        lambda n: lambda w: replace(w, output=(("id", "bigint", True), w.output[1])),
    ),
    "the order of result columns": ({"output"}, lambda n: lambda w: replace(w, output=w.output[::-1])),
    "times of planning": (
        set(),
        lambda n: lambda w: replace(w, planning=Planning((f"rule{n}",), (("analysis", n),))),
    ),
}


def _renamed(sql: str, alias: str) -> str:
    return sql.replace("o.", f"{alias}.").replace("orders o", f"orders AS {alias}")


def _moved(world: World) -> World:
    nodes = [*world.plan.nodes[:4], replace(world.plan.nodes[4], parent=3)]
    return replace(world, plan=replace(world.plan, nodes=tuple(nodes)))


def _measured(world: World, n: int) -> World:
    changes = {"metrics": (("sort time", n),), "estimate": Estimate(n, n, "plan"), "row_bytes": n}
    nodes = tuple(replace(node, **changes, partition_bytes=(n, n, n)) for node in world.plan.nodes)
    return replace(world, plan=replace(world.plan, nodes=nodes, extractor=f"x@{n}"))


def expected(change: str) -> set[str]:
    """The hashes that a change must change; the bundle has all that are part of it."""
    own = CHANGES[change][0]
    return own | {"bundle"} if own - OUTSIDE_THE_BUNDLE else own


@pytest.mark.parametrize("name", HASHES)
@settings(deadline=None, max_examples=60)
@given(change=st.sampled_from(sorted(CHANGES)), n=st.integers(1, 10**6))
def test_a_hash_changes_when_exactly_its_own_input_changes(name: str, change: str, n: int) -> None:
    changed = CHANGES[change][1](n)(WORLD)
    assert (hashes(changed)[name] != HASHES[name]) == (name in expected(change))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_changes_the_hashes_it_should_and_no_other(change: str) -> None:
    changed = hashes(CHANGES[change][1](1)(WORLD))
    assert {name for name, found in changed.items() if found != HASHES[name]} == expected(change)


def test_every_hash_has_a_change_that_changes_it() -> None:
    assert set().union(*(expected(change) for change in CHANGES)) == HASHES.keys()


def test_two_changes_of_one_kind_are_two_hashes() -> None:
    several = [hashes(CHANGES["a setting"][1](n)(WORLD)) for n in range(1, 20)]
    assert len({found["bundle"] for found in several}) == 19


# What has no order


def rearranged(world: World, chance: random.Random) -> World:
    """The same with settings, entries of maps and tables in another order."""

    def turned(items: Any) -> Any:
        found = list(items)
        chance.shuffle(found)
        return found

    facts = [
        replace(t, constraints=tuple(turned(t.constraints)), properties=tuple(turned(t.properties)))
        for t in world.tables
    ]
    return replace(
        world,
        workload=replace(world.workload, spark_settings=tuple(turned(world.workload.spark_settings))),
        versions=dict(turned(world.versions.items())),
        settings=dict(turned(world.settings.items())),
        environment=dict(turned(world.environment.items())),
        tables=tuple(turned(facts)),
        analyzed=reordered(world.analyzed, chance.randrange(100)),
        optimized=reordered(world.optimized, chance.randrange(100)),
    )


@pytest.mark.parametrize("name", HASHES)
@settings(deadline=None, max_examples=20)
@given(chance=st.randoms(use_true_random=False))
def test_the_order_of_settings_entries_and_tables_does_not_show(name: str, chance: random.Random) -> None:
    assert hashes(rearranged(WORLD, chance))[name] == HASHES[name]


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text(), min_size=1), st.randoms(use_true_random=False))
def test_the_hash_of_a_bundle_is_that_of_its_parts_in_any_order(parts: dict[str, str], chance: random.Random) -> None:
    turned = list(parts.items())
    chance.shuffle(turned)
    assert bundle_hash(tuple(turned)) == bundle_hash(tuple(parts.items()))
    name, value = turned[0]
    assert bundle_hash((*turned[1:], (name, f"{value}x"))) != bundle_hash(tuple(parts.items()))


def test_hashes_are_the_same_in_every_process() -> None:
    code = "from planopt_tests.test_hashes import HASHES\nprint(sorted(HASHES.items()))"
    assert {output_of(code, hash_seed=seed).strip() for seed in (1, 2, 3)} == {str(sorted(HASHES.items()))}


def test_every_kind_of_hash_says_what_it_is_of() -> None:
    prefixes = {name: found.split("_")[0] for name, found in HASHES.items()}
    assert prefixes == {
        "analyzed": "ana",
        "optimized": "opt",
        "plan": "pln",
        "topology": "top",
        "scans": "scn",
        "planning_env": "env",
        "rulepack": "rul",
        "output": "out",
        "query": "cql",
        "snapshot": "snp",
        "contract": "ctr",
        "bundle": "bun",
        "canonical plan": "cql",
        "query text": "qry",
        "inputs": "inp",
    }


PAIRS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4)


@settings(deadline=None)
@given(PAIRS, PAIRS, PAIRS, PAIRS)
def test_an_environment_is_its_settings_and_its_machine(
    one: dict[str, str], machine: dict[str, str], other: dict[str, str], another: dict[str, str]
) -> None:
    def found(chosen: dict[str, str], place: dict[str, str]) -> str:
        return PlanningEnvironment(tuple(chosen.items()), tuple(reversed(place.items()))).hash

    assert (found(one, machine) == found(other, another)) == ((one, machine) == (other, another))
    assert (found(one, machine) == found(machine, one)) == (one == machine)


BATCHES = st.lists(st.tuples(st.text(max_size=3), st.lists(st.text(max_size=3), max_size=3).map(tuple)), max_size=3)


@settings(deadline=None)
@given(BATCHES, BATCHES)
def test_a_rulepack_is_its_rules_in_order(one: list[Any], other: list[Any]) -> None:
    first, second = Rulepack(tuple(one)), Rulepack(tuple(other))
    assert (first.hash == second.hash) == (one == other)


@given(st.text(), st.text())
def test_a_content_id_is_its_content(one: str, other: str) -> None:
    assert (content_id("x", one) == content_id("x", other)) == (one == other)
