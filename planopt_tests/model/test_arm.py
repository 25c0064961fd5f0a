"""An arm is a policy with the tables it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.model.arm import Arm
from planopt_assets.model.inputs import PinnedTable
from planopt_assets.model.policy import ORIGINAL, Policy

pytestmark = pytest.mark.fast

FEWER = Policy.of({"spark.sql.shuffle.partitions": "2"})
SALES, SHOPS = PinnedTable("sales", "/data/sales", "t-1", 3), PinnedTable("shops", "/data/shops", "t-2", 0)
CLONE = PinnedTable("sales", "/scratch/sales", "t-3", 1)
BASELINE = Arm(ORIGINAL, (SALES, SHOPS))


@pytest.mark.parametrize(
    "other",
    [
        BASELINE.under(FEWER),
        BASELINE.reading(CLONE),
        BASELINE.reading(replace(SALES, version=4)),
        BASELINE.under(FEWER).reading(CLONE),
    ],
    ids=["policy", "location", "version", "both"],
)
def test_another_policy_location_or_version_is_another_arm(other: Arm) -> None:
    assert other.id != BASELINE.id
    assert other != BASELINE


def test_the_same_place_in_another_spelling_and_order_has_the_same_id() -> None:
    assert Arm(ORIGINAL, (SHOPS, replace(SALES, location="file:///data/sales/"))).id == BASELINE.id


def test_a_table_is_replaced_under_its_name_and_the_others_stay() -> None:
    assert BASELINE.reading(CLONE).tables == (CLONE, SHOPS)
    assert BASELINE.tables == (SALES, SHOPS)


def test_an_arm_reads_only_tables_that_are_registered() -> None:
    with pytest.raises(ValueError, match="'returns'"):
        BASELINE.reading(PinnedTable("returns", "/data/returns", "t-4", 0))


def test_arms_share_a_session_only_with_the_same_settings_and_tables() -> None:
    hinted = FEWER.merged(Policy.of(hints=["merge(join0.left)"]))
    assert BASELINE.under(FEWER).session == BASELINE.under(hinted).session
    assert BASELINE.under(FEWER).session != BASELINE.session
    assert BASELINE.under(FEWER).session != BASELINE.under(FEWER).reading(CLONE).session


def test_an_arm_is_part_of_another_only_over_the_same_tables() -> None:
    assert BASELINE.within(BASELINE.under(FEWER))
    assert not BASELINE.under(FEWER).within(BASELINE)
    assert not BASELINE.within(BASELINE.under(FEWER).reading(CLONE))
