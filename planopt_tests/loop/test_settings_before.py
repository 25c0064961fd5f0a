"""What an action has set is put back as it was; what others have changed since is theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.delta.own_commits import FileChange
from planopt_assets.loop.maintaining.half_done import is_half
from planopt_assets.loop.maintaining.settings_before import Settings, still_set
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.table_facts import Protocol, TableFacts

pytestmark = pytest.mark.fast

STATISTICS, SIZE = "delta.dataSkippingStatsColumns", "delta.targetFileSize"
LAYOUT = LayoutProposal("sales", "t-1", 7, "zorder", columns=("shop",), properties=((STATISTICS, "shop"), (SIZE, "9")))
CLUSTER = LayoutProposal("sales", "t-1", 7, "cluster", columns=("shop",))


def table(*properties: tuple[str, str], clustered: tuple[str, ...] = ()) -> TableFacts:
    found = TableFacts("sales", "/data/sales", "t-1", 9, Protocol(1, 2), ())
    return replace(found, properties=properties, clustering_columns=clustered)


def test_only_what_the_action_has_set_is_put_back() -> None:
    before = Settings({STATISTICS: None, SIZE: "5"}, None)
    assert still_set(LAYOUT, before, table((STATISTICS, "shop"), (SIZE, "9"))) == before
    assert still_set(LAYOUT, before, table((STATISTICS, "shop"), (SIZE, "12"))).properties == {STATISTICS: None}
    assert not still_set(LAYOUT, before, table((SIZE, "5")))  # it got as far as nothing


def test_what_had_the_same_value_before_needs_nothing() -> None:
    assert not still_set(LAYOUT, Settings({STATISTICS: "shop", SIZE: "9"}, None), table((STATISTICS, "shop")))


def test_clustering_columns_are_put_back_unless_others_chose_some_since() -> None:
    before = Settings({}, ("id",))
    assert still_set(CLUSTER, before, table(clustered=("shop",))).clustering == ("id",)
    assert not still_set(CLUSTER, before, table(clustered=("amount",)))
    assert not still_set(CLUSTER, before, table(clustered=("id",)))


def test_settings_are_back_when_all_of_them_are() -> None:
    before = Settings({STATISTICS: None, SIZE: "5"}, None)
    assert before.are_in(table((SIZE, "5")))
    assert not before.are_in(table((SIZE, "5"), (STATISTICS, "shop")))
    assert Settings({}, ()).are_in(table())
    assert not Settings({}, ()).are_in(table(clustered=("shop",)))


@pytest.mark.parametrize(
    ("action", "added", "half"),
    [
        ("zorder", 0, True),
        ("zorder", 3, False),
        ("statistics", 0, True),
        ("statistics", 6, False),
        ("properties", 0, False),
    ],
)
def test_an_action_that_rewrites_is_half_done_as_long_as_no_file_has_changed(
    action: str, added: int, half: bool
) -> None:
    change = FileChange(8, 8, 0, 0, added, added * 100, False)
    assert is_half(replace(LAYOUT, action=action), change) is half  # type: ignore[arg-type]
