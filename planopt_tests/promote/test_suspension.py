"""A policy is applied where it was proven: by the sizes of what each part depends on, table by table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.errors import NothingToChange
from planopt_assets.model.conditions import SMALL, Circumstances, Condition, Conditions, TableState
from planopt_assets.model.policy import Policy
from planopt_assets.model.promotion import Chain
from planopt_assets.model.signals import Join, JoinInput
from planopt_assets.promote.dependence import circumstances_of, conditions_of
from planopt_assets.promote.suspension import NOT_RECORDED, covered, suspension
from planopt_assets.promote.transitions import Accept, Revert, next_generation
from planopt_tests.promote.events import B, chain_of, fix, verdict_of
from planopt_tests.rows import FEWER, artifact

pytestmark = pytest.mark.fast

MIB = 1024**2
SALES, DAYS = TableState("sales", "id-1", 900 * MIB), TableState("days", "id-2", MIB)
PROVEN = Circumstances("delta 4, java 17, spark 4", 2, (("driver_memory", 1024 * MIB),), (DAYS, SALES))
JOIN = Join(
    1,
    "Inner",
    "SortMergeJoin",
    "SortMergeJoin",
    None,
    JoinInput(9, 9, 9, shuffled=True, tables=("sales",), target="join0.left s"),
    JoinInput(1, 1, 1, shuffled=True, tables=("days",), target="join0.right d"),
    9,
)
BROADCAST = Policy.of(hints=["broadcast(join0.right d)"])
MERGED = Policy.of(hints=["merge(join0.right d)"])
GROUPED_FIRST = Policy.of(rewrites=["aggregate_before_join"])


def conditions(policy: Policy, proven: Circumstances = PROVEN) -> Conditions:
    return conditions_of(policy, proven, [JOIN])


def accepted(policy: Policy, given: Conditions | None, number: int = 1, chain: Chain = ()) -> Chain:
    verdict = replace(verdict_of(policy, number), conditions=given)
    event = Accept(verdict.id, verdict.candidate_id, "inp_1", (verdict,))
    return (*chain, next_generation("demo", "q", chain, event))


def tables(**times: float) -> list[TableState]:
    """The tables so many times as large as in the trials."""
    return [replace(t, bytes=int((t.bytes or 0) * times.get(t.name, 1))) for t in PROVEN.tables]


# What a part depends on


def test_a_broadcast_depends_on_its_side_and_on_memory() -> None:
    assert conditions(BROADCAST).parts == (Condition("broadcast(join0.right d)", ("days",), memory=True),)


def test_a_merge_join_depends_on_both_sides() -> None:
    assert conditions(MERGED).parts == (Condition("merge(join0.right d)", ("days", "sales")),)


def test_a_partition_count_depends_on_all_tables_and_on_cores() -> None:
    assert conditions(FEWER).parts == (Condition("spark.sql.shuffle.partitions", ("days", "sales"), cores=True),)


def test_a_scan_setting_depends_on_all_tables_and_a_rewrite_of_predicates_on_none() -> None:
    assert [c.tables for c in conditions(B).parts] == [("days", "sales")]
    assert conditions(Policy.of(rewrites=["cnf"])).parts == (Condition("cnf"),)


def test_an_aggregation_before_a_join_depends_on_all_tables() -> None:
    assert [c.tables for c in conditions(GROUPED_FIRST).parts] == [("days", "sales")]


def test_a_hint_whose_join_is_not_in_the_plan_depends_on_all_tables() -> None:
    assert conditions_of(BROADCAST, PROVEN, []).parts[0].tables == ("days", "sales")


def test_a_setting_of_the_policy_itself_is_no_condition() -> None:
    known = replace(
        PROVEN, settings=(("spark.sql.files.openCostInBytes", "1"), ("spark.sql.shuffle.partitions", "200"))
    )
    assert conditions(FEWER, known).proven.settings == (("spark.sql.files.openCostInBytes", "1"),)


# Suspension


@pytest.mark.parametrize(
    ("policy", "grown", "holds"),
    [
        (FEWER, {"sales": 200}, False),
        (FEWER, {"sales": 2, "days": 2}, True),
        (FEWER, {"sales": 0.4}, False),
        (BROADCAST, {"days": 100}, False),
        (BROADCAST, {"sales": 100}, True),
        (Policy.of(rewrites=["cnf"]), {"sales": 100, "days": 100}, True),
        (GROUPED_FIRST, {"days": 100}, False),
    ],
)
def test_a_policy_is_suspended_when_what_it_depends_on_is_of_another_size(
    policy: Policy, grown: dict[str, float], holds: bool
) -> None:
    chain = accepted(policy, conditions(policy))
    assert (suspension(chain, tables(**grown), 2.0) == "") is holds
    assert suspension(chain, tables(), 2.0) == ""  # the sizes have returned


@pytest.mark.parametrize("policy", [FEWER, BROADCAST, MERGED], ids=["partitions", "broadcast", "merge"])
@pytest.mark.parametrize(
    ("before", "after", "holds"),
    [
        (3_000, 9_000, True),
        (9_000, 3_000, True),
        (0, 2 * SMALL, True),
        (3_000, 2 * SMALL, True),
        (3_000, 2 * SMALL + 1, False),
        (2 * SMALL + 1, 0, False),
        (SMALL + 1, 2 * SMALL + 3, False),
    ],
)
def test_sizes_below_what_matters_to_spark_count_as_that(policy: Policy, before: int, after: int, holds: bool) -> None:
    proven = replace(PROVEN, tables=(replace(DAYS, bytes=before), SALES))
    chain = accepted(policy, conditions(policy, proven))
    assert (suspension(chain, [replace(DAYS, bytes=after), SALES], 2.0) == "") is holds


def test_the_reason_names_the_part_the_table_and_both_sizes() -> None:
    assert suspension(accepted(BROADCAST, conditions(BROADCAST)), tables(days=100), 2.0) == (
        "broadcast(join0.right d) was proven with 1,048,576 bytes in days, which has 104,857,600 now "
        "(more than x2 apart)"
    )


def test_the_factor_is_that_of_the_workload() -> None:
    chain = accepted(FEWER, conditions(FEWER))
    assert suspension(chain, tables(sales=3), 4.0) == ""
    assert suspension(chain, tables(sales=3), 2.0) != ""


def test_another_table_under_the_same_name_suspends() -> None:
    other = [replace(DAYS, table_id="id-9"), SALES]
    chain = accepted(BROADCAST, conditions(BROADCAST))
    assert suspension(chain, other, 2.0) == "days is another table than the one it was proven on"


def test_a_promotion_without_conditions_is_suspended_and_a_pin_never_is() -> None:
    assert suspension(accepted(FEWER, None), tables(), 2.0) == NOT_RECORDED
    assert suspension(chain_of(fix(FEWER)), tables(sales=999), 2.0) == ""
    assert suspension((), tables(), 2.0) == ""


# Proven again


def test_a_new_proof_on_other_sizes_is_a_new_generation_and_both_sizes_hold() -> None:
    grown = replace(PROVEN, tables=tuple(tables(sales=200)))
    chain = accepted(FEWER, conditions(FEWER))
    chain = accepted(FEWER, conditions(FEWER, grown), 2, chain)
    assert [(p.generation, p.policy, p.state) for p in chain] == [(1, FEWER, "accepted"), (2, FEWER, "accepted")]
    assert suspension(chain, tables(sales=200), 2.0) == ""
    assert suspension(chain, tables(), 2.0) == ""  # compacted every other night, say
    assert suspension(chain, tables(sales=20), 2.0) != ""


def test_a_new_proof_on_the_same_sizes_tells_nothing_new() -> None:
    chain = accepted(FEWER, conditions(FEWER))
    with pytest.raises(NothingToChange):
        accepted(FEWER, conditions(FEWER, replace(PROVEN, tables=tuple(tables(sales=1.5)))), 2, chain)


@pytest.mark.parametrize(
    "elsewhere",
    [
        replace(PROVEN, cores=64),
        replace(PROVEN, engine="delta 4, java 21, spark 4"),
        replace(PROVEN, settings=(("spark.sql.adaptive.enabled", "false"),)),
        replace(PROVEN, parameters=('{"day": 2}',)),
    ],
    ids=["cores", "engine", "settings", "parameters"],
)
def test_a_proof_elsewhere_is_new(elsewhere: Circumstances) -> None:
    here = replace(PROVEN, settings=(("spark.sql.adaptive.enabled", "true"),), parameters=('{"day": 1}',))
    elsewhere = replace(here, **{n: getattr(elsewhere, n) for n in here.__slots__ if getattr(elsewhere, n)})
    chain = accepted(FEWER, conditions(FEWER, here))
    assert covered(chain, conditions(FEWER, here), 2.0)
    assert not covered(chain, conditions(FEWER, elsewhere), 2.0)


def test_a_policy_that_is_in_force_again_has_the_conditions_of_its_own_proof() -> None:
    chain = accepted(B, conditions(B), 2, accepted(FEWER, conditions(FEWER)))
    back = (*chain, next_generation("demo", "q", chain, Revert("last_good", "it got worse")))
    assert (back[-1].policy, back[-1].conditions) == (FEWER, conditions(FEWER))


def test_the_conditions_are_in_the_hash_of_a_promotion_and_older_hashes_hold() -> None:
    (with_them,), (without,) = accepted(FEWER, conditions(FEWER)), accepted(FEWER, None)
    assert with_them.chain_hash != without.chain_hash
    assert replace(with_them, conditions=None).chain_hash == without.chain_hash


def test_circumstances_come_from_the_observation() -> None:
    from planopt_assets.model.observation import PlanDetails

    seen = artifact(engine="delta 4.4.0, java 17.0.9, spark 4.2.0", parameters='{"day": 1}')
    settings = {"cores": "2", "driver_memory": "1g", "spark.sql.autoBroadcastJoinThreshold": "10485760b"}
    found = circumstances_of([seen], PlanDetails("obs", tuple(settings.items())), [SALES])
    assert found == Circumstances(
        "delta 4.4.0, java 17, spark 4.2.0",
        2,
        (("driver_memory", 1024 * MIB),),
        (SALES,),
        (("spark.sql.autoBroadcastJoinThreshold", "10485760"),),
        ('{"day": 1}',),
    )
