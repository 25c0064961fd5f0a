"""The outcome of a scan follows from its three signals, and changes when any of them does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.model.scan import Funnel, ScanOutcome, Size
from planopt_assets.observe.pushdown.classify import PARQUET, SKIPPING, classify, pruned_share
from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_tests.observe.pushdown.facts import OFFERS, call, column, compare, conjunct, literal, scan

pytestmark = pytest.mark.fast

ID_IS_5 = conjunct(compare("EqualTo", "id", 5))
DAY_IS_1 = conjunct(compare("EqualTo", "day", "2024-01-01"), "partition")
CAST = conjunct(call("EqualTo", call("Cast", column("id"), kind="string"), literal("5", "string")))
ENDING = conjunct(call("EndsWith", column("code"), literal("x", "string")))
UDF = conjunct(call("PythonUDF", column("id"), name="odd"), "above")
FLAG = conjunct(column("flag"))
LATE = conjunct(compare("EqualTo", "late", 5))
NOT_SKIPPED = {"skipping_filters": ()}


def judged(*args, settings=None, thresholds=None, offers=OFFERS, **changes) -> ScanOutcome:
    return classify(scan(*args, **changes), offers, settings or {}, thresholds or Thresholds())


def test_without_predicates_there_is_nothing_to_push() -> None:
    outcome = judged()
    assert (outcome.outcome, outcome.finding) == ("no_predicate", None)


def test_what_spark_inferred_is_no_predicate_of_the_query() -> None:
    assert judged(conjunct(call("IsNotNull", column("id")), inferred=True)).outcome == "no_predicate"
    assert judged(conjunct(call("IsNotNull", column("id")))).outcome == "full_pushdown"


def test_dynamic_pruning_counts_and_a_bloom_filter_does_not() -> None:
    assert judged(runtime_filters=("dynamic pruning on day",)).outcome == "full_pushdown"
    assert judged(runtime_filters=("bloom filter on id",)).outcome == "no_predicate"


def test_partition_and_file_predicates_together_are_full() -> None:
    outcome = judged(DAY_IS_1, ID_IS_5, read=100)
    assert outcome.outcome == "full_pushdown"
    assert [c.used for c in outcome.conjuncts] == ["partitions", "files"]


def test_what_nobody_can_help_is_an_expected_residual_and_never_a_finding() -> None:
    outcome = judged(ID_IS_5, ENDING, skipping_filters=("id = 5",), read=100)
    assert outcome.outcome == "expected_residual"
    assert [c.status for c in outcome.conjuncts] == ["pushed", "residual"]
    assert judged(ENDING, **NOT_SKIPPED, matched=1).finding is None


def test_an_avoidable_cause_alone_is_missed_and_beside_a_used_predicate_partial() -> None:
    assert judged(CAST, **NOT_SKIPPED).outcome == "pushdown_missed"
    assert judged(DAY_IS_1, CAST, **NOT_SKIPPED).outcome == "partial_pushdown"
    assert judged(CAST, runtime_filters=("dynamic pruning on day",), **NOT_SKIPPED).outcome == "partial_pushdown"
    assert judged(UDF).outcome == "pushdown_missed"


# Each signal by itself


def test_the_same_scan_without_the_skipping_filter_is_missed() -> None:
    assert judged(ID_IS_5, read=100).outcome == "full_pushdown"
    outcome = judged(ID_IS_5, **NOT_SKIPPED)
    assert (outcome.outcome, outcome.conjuncts[0].cause) == ("pushdown_missed", "not_pushed")


def test_the_same_scan_with_skipping_off_names_the_setting() -> None:
    outcome = judged(ID_IS_5, **NOT_SKIPPED, settings={SKIPPING: "false"})
    assert outcome.outcome == "pushdown_missed"
    assert outcome.finding is not None
    assert outcome.finding.fix == "set spark.databricks.delta.stats.skipping=true"


def test_the_same_scan_without_statistics_names_the_property() -> None:
    without = replace(OFFERS, columns=tuple(replace(c, statistics="none") for c in OFFERS.columns))
    pushed = ("EqualTo(id,5)",)
    outcome = judged(ID_IS_5, **NOT_SKIPPED, offers=without, pushed_filters=pushed)
    assert outcome.conjuncts[0].cause == "no_statistics"
    assert (outcome.conjuncts[0].could, outcome.conjuncts[0].used) == ("row groups", "row groups")
    assert "delta.dataSkippingStatsColumns" in outcome.conjuncts[0].fix


def test_row_groups_need_the_pushed_filter_and_the_setting() -> None:
    pushed = ("EqualTo(flag,true)",)
    used = [
        judged(FLAG, **NOT_SKIPPED, pushed_filters=filters, settings=settings).conjuncts[0].used
        for filters, settings in [(pushed, {}), ((), {}), (pushed, {PARQUET: "false"})]
    ]
    assert used == ["row groups", "nothing", "nothing"]


def test_push_down_off_is_avoidable_with_and_without_file_skipping() -> None:
    off = {PARQUET: "false"}
    assert judged(FLAG, **NOT_SKIPPED, settings=off).outcome == "pushdown_missed"
    assert judged(ID_IS_5, settings=off, read=100).outcome == "partial_pushdown"
    assert judged(DAY_IS_1, settings=off, read=100).outcome == "full_pushdown"


def test_a_list_with_gaps_is_weaker_than_it_looks_and_a_dense_one_is_not() -> None:
    def listed(*ids: int) -> ScanOutcome:
        return judged(conjunct(call("In", column("id"), *(literal(i) for i in ids))))

    assert (listed(5, 795).outcome, listed(5, 795).conjuncts[0].status) == ("partial_pushdown", "weakened")
    assert listed(5, 6, 7).outcome == "full_pushdown"


def test_of_an_or_over_both_kinds_of_columns_the_partition_part_counts() -> None:
    parts = [call("EqualTo", column("day"), literal(d, "date")) for d in ("2024-01-01", "2024-01-02")]
    both = [call("And", part, compare("EqualTo", "id", 5)) for part in parts]
    whole = conjunct(call("Or", *both), "above")
    derived = conjunct(call("Or", *parts), "partition")
    assert judged(whole, derived).outcome == "full_pushdown"
    assert judged(whole).outcome == "pushdown_missed"


# Findings


def test_a_finding_needs_an_avoidable_cause_little_skipped_and_few_wanted_rows() -> None:
    assert judged(CAST, **NOT_SKIPPED).finding is not None
    assert judged(ID_IS_5).finding is None, "nothing avoidable"
    assert judged(CAST, **NOT_SKIPPED, read=100).finding is None, "most of the table was skipped anyway"
    assert judged(CAST, **NOT_SKIPPED, matched=700).finding is None, "most rows were wanted"


def test_before_the_run_there_is_no_finding() -> None:
    facts = scan(CAST, skipping_filters=(), funnel=Funnel(total=Size(8, 800)))
    assert classify(facts, OFFERS, {}, Thresholds()).finding is None
    assert judged(CAST, **NOT_SKIPPED, matched=None).finding is None


def test_one_file_leaves_nothing_to_skip_but_row_groups() -> None:
    one = Funnel(total=Size(1, 800), read=Size(1, 800, 800), matched=Size(rows=1))
    assert judged(CAST, **NOT_SKIPPED, funnel=one).finding is None
    assert judged(FLAG, **NOT_SKIPPED, funnel=one, settings={PARQUET: "false"}).finding is not None


@pytest.mark.parametrize(("learned", "found"), [(0.3, True), (0.2, False)])
def test_history_moves_what_counts_as_little(learned: float, found: bool) -> None:
    """A quarter of the bytes was skipped: little where equalities usually skip 30 %, usual where they skip 20 %."""
    thresholds = Thresholds({("small partitioned", "equality"): learned})
    outcome = judged(DAY_IS_1, CAST, **NOT_SKIPPED, read=600, thresholds=thresholds)
    assert (outcome.table_class, outcome.pruned_share) == ("small partitioned", 0.25)
    assert (outcome.finding is not None) == found


def test_the_share_skipped_is_of_bytes_and_unknown_before_the_run() -> None:
    assert pruned_share(Funnel(total=Size(8, 800), read=Size(1, 600))) == 0.25
    assert pruned_share(Funnel(total=Size(8, 800))) is None
    assert pruned_share(Funnel(total=Size(0, 0), read=Size(0, 0))) is None
