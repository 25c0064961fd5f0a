"""Layout proposals: the right action on the right columns, and none where nothing pays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.maintain.growth import Growth
from planopt_assets.maintain.propose import layout_proposals
from planopt_tests.maintain.subjects import facts, subject, use

pytestmark = pytest.mark.fast

POINT = use("point", "customer = 4711", "region >= 2", "region <= 60", "status = 'done'")


def test_a_selective_workload_is_sorted_by_the_column_that_skips_among_decoys() -> None:
    """`status` is in every query and matches 99 %; `region` follows `customer`, but skips less."""
    queries = (
        POINT,
        use("band", "customer >= 100", "customer < 300", "status = 'done'"),
        use("all", "status = 'done'"),
    )
    (proposal,) = layout_proposals(subject(*queries))
    assert (proposal.action, proposal.columns) == ("zorder", ("customer",))
    expected = {e.query_id: e for e in proposal.expected}
    assert expected["point"].files_before == 64
    assert expected["point"].files_after * 5 <= expected["point"].files_before
    assert expected["band"].files_after * 5 <= 64
    assert set(proposal.gain) == {"all", "band", "point"}  # even the full scan opens fewer files
    assert proposal.bytes_rewritten == proposal.bytes_before
    assert proposal.break_even_days is not None
    assert proposal.break_even_days < 30


def test_a_correlated_column_that_alone_is_filtered_is_taken_and_serves_both() -> None:
    proposal, _ = layout_proposals(subject(use("by_region", "region = 50"), use("rare", "customer = 4711", runs=1)))
    expected = {e.query_id: e for e in proposal.expected}
    assert proposal.columns in (("region",), ("customer",))
    assert expected["rare"].files_after < 10
    assert expected["by_region"].files_after < 10


def test_merging_is_the_second_choice_where_sorting_is_better() -> None:
    sort, merge = layout_proposals(subject(POINT, facts=facts(clustering_columns=("amount",))))
    assert (sort.action, merge.action, merge.columns) == ("cluster", "compact", ())
    assert sort.saving_cpu_ns_per_day > merge.saving_cpu_ns_per_day > 0
    assert sort.id != merge.id


def test_full_scans_are_never_clustered_but_their_small_files_are_merged() -> None:
    (proposal,) = layout_proposals(subject(use("sum_all"), use("mostly", "status = 'done'")))
    assert (proposal.action, proposal.columns) == ("compact", ())
    assert proposal.files_after < 64 / 5


def test_full_scans_of_large_files_have_nothing_to_gain() -> None:
    large = subject(use("sum_all"), use("upper", "upper(status) = 'DONE'"))
    large = replace(large, files=tuple(replace(f, bytes=190_000_000, rows=8_000_000) for f in large.files[:4]))
    assert layout_proposals(large) == ()


def test_a_table_of_a_few_small_files_is_merged_and_not_sorted() -> None:
    small = subject(POINT)
    small = replace(small, files=tuple(replace(f, bytes=10_000, rows=400) for f in small.files))
    assert [(p.action, p.columns) for p in layout_proposals(small)] == [("compact", ())]


def test_a_query_that_runs_once_a_month_does_not_pay_for_a_rewrite() -> None:
    assert layout_proposals(subject(use("monthly", "customer = 4711", runs=1 / 30))) == ()


def test_a_table_that_nobody_reads_gets_no_proposal() -> None:
    assert layout_proposals(subject()) == ()


def test_opposed_interests_are_shown_in_numbers_and_the_net_decides() -> None:
    """One query skips by `customer`, the other has skipped by `day` so far and would no more."""
    by_day = use("by_day", "day = 12", runs=2)
    proposal, _ = layout_proposals(subject(use("point", "customer = 4711", runs=200), by_day))
    assert "customer" in proposal.columns
    expected = {e.query_id: e for e in proposal.expected}
    assert expected["by_day"].loses
    assert proposal.lose == ("by_day",)
    assert proposal.gain == ("point",)
    assert expected["by_day"].bytes_after > expected["by_day"].bytes_before
    assert proposal.saving_cpu_ns_per_day > 0
    assert dict(proposal.arithmetic)["net_ns"] > 0
    assert "1 lose" in proposal.reason


def test_the_one_who_would_lose_more_than_the_other_gains_prevents_it() -> None:
    """Half of the customers are no selective filter; the many runs by day would lose nearly all their skipping."""
    by_day = use("by_day", "day = 12", runs=2000)
    found = layout_proposals(subject(use("half", "customer < 50000", runs=1), by_day))
    assert not any("customer" in p.columns for p in found)
    assert all(e.saving_cpu_ns >= 0 for p in found for e in p.expected if e.query_id == "by_day")


def test_two_filters_that_both_skip_are_sorted_together() -> None:
    mixed = subject(use("point", "customer = 4711"), use("cheap", "amount = 5"), sorted_by_day=False)
    (proposal,) = layout_proposals(mixed)
    assert set(proposal.columns) == {"customer", "amount"}
    assert all(e.files_after < 40 for e in proposal.expected)


def test_a_clustered_table_is_clustered_by_other_columns_and_never_z_ordered() -> None:
    proposal, _ = layout_proposals(subject(POINT, facts=facts(clustering_columns=("amount",))))
    assert (proposal.action, proposal.columns) == ("cluster", ("customer",))


def test_a_column_without_statistics_gets_them_with_the_rewrite() -> None:
    proposal, _ = layout_proposals(subject(POINT, facts=facts(statistics_columns=("day", "amount"))))
    assert proposal.properties == (("delta.dataSkippingStatsColumns", "day,amount,customer"),)


def test_a_column_that_arrives_in_order_needs_statistics_and_no_rewrite() -> None:
    untold = subject(use("by_day", "day = 12"), facts=facts(statistics_columns=("customer",)))
    files = [replace(f, least={}, greatest={}, bytes=8_000_000) for f in untold.files]
    proposal, _ = layout_proposals(replace(untold, files=tuple(files)))
    assert (proposal.action, proposal.columns, proposal.bytes_rewritten) == ("statistics", ("day",), 0)
    assert [(e.files_before, e.files_after) for e in proposal.expected] == [(64, 1)]
    assert proposal.properties == (("delta.dataSkippingStatsColumns", "customer,day"),)


def test_files_that_come_back_shorten_what_a_compaction_is_worth() -> None:
    """The break-even of a proposal counts with the growth that its trial will charge."""
    often = use("sum_all", runs=2_400.0)
    (still,) = layout_proposals(subject(often))
    (growing,) = layout_proposals(subject(often, grown=Growth(days=2.0, files=14.0)))
    assert still.break_even_days is not None
    assert growing.break_even_days is not None
    assert growing.break_even_days > still.break_even_days
    assert layout_proposals(subject(often, grown=Growth(days=2.0, files=2_000.0))) == ()  # it never pays


def test_a_trial_runs_every_reader_also_those_that_gain_nothing() -> None:
    few, more = (
        dict(layout_proposals(subject(POINT, *others))[0].arithmetic)["trial_cpu_ns"]
        for others in ((), (use("latest", "day = 63", runs=0.01),))
    )
    assert more > few


def test_a_table_that_is_replaced_every_few_hours_is_not_rewritten() -> None:
    assert layout_proposals(subject(POINT, grown=Growth(days=2.0, replaced_share=20.0))) == ()


def test_growth_says_when_the_debt_is_back() -> None:
    (proposal,) = layout_proposals(subject(use("sum_all", runs=2_400.0), grown=Growth(days=2.0, files=14.0)))
    assert dict(proposal.arithmetic)["debt_is_back_after_days"] == pytest.approx((64 - proposal.files_after) / 14)


def test_a_long_tail_of_commits_gets_a_checkpoint() -> None:
    found = layout_proposals(subject(use("sum_all"), commits_since_checkpoint=120))
    assert [p.action for p in found] == ["compact", "checkpoint"]
    assert layout_proposals(subject(use("sum_all"), commits_since_checkpoint=9))[-1].action == "compact"


def test_the_same_evidence_gives_the_same_proposals_byte_for_byte() -> None:
    one, other = (layout_proposals(subject(POINT)) for _ in range(2))
    assert one == other
    assert [p.id for p in one] == [p.id for p in other]
