"""A rewrite that is due again tells what the last one gained, unless that was taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planopt_assets.maintain.again import is_indexed, proposed_again, with_lost_index
from planopt_assets.model.layout_proposal import LayoutProposal
from planopt_assets.model.layout_verdict import LayoutVerdict
from planopt_assets.model.maintenance_action import MaintenanceAction

pytestmark = pytest.mark.fast

PROPOSAL = LayoutProposal("t", "x", 30, "compact", reason="60 files become 3")
VERDICT = LayoutVerdict("ver-1", "lay_1", "t", "x", 11, "accept", "cpu -40%", True, saving_cpu_ns_per_day=5_200_000_000)
DONE = MaintenanceAction("mnt-1", "t", "x", "compact", "applied", "", "lay_1", "ver-1", 11, 12)


def test_the_last_gain_is_part_of_the_reason() -> None:
    again = proposed_again(PROPOSAL, [DONE], [VERDICT])
    assert again.reason == ("60 files become 3; the last one, at version 12, was measured to save 5.2 s CPU a day")
    assert (again.id, again.evidence_ids) == (PROPOSAL.id, ("mnt-1", "ver-1"))


def test_a_gain_that_was_measured_on_some_files_says_so() -> None:
    part = replace(VERDICT, subset="20 of 100 files, 20.0 of 100.0 GB")
    again = proposed_again(PROPOSAL, [DONE], [part])
    assert again.reason.endswith("to save 5.2 s CPU a day on 20 of 100 files, 20.0 of 100.0 GB")


@pytest.mark.parametrize(
    "actions",
    [
        [],
        [MaintenanceAction("mnt-2", "t", "x", "zorder", "applied", "", "lay_1", "ver-1", 11, 12)],
        [DONE, MaintenanceAction("mnt-3", "t", "x", "restore", "undone", "", undoes="mnt-1")],
        [MaintenanceAction("mnt-4", "t", "x", "compact", "failed", "", "lay_1", "ver-1")],
    ],
    ids=["never", "another kind", "taken back", "failed"],
)
def test_without_a_gain_that_stands_nothing_is_added(actions: list[MaintenanceAction]) -> None:
    assert proposed_again(PROPOSAL, actions, [VERDICT]) == PROPOSAL


INDEX = LayoutProposal("t", "x", 30, "bloom", ("key",), bytes_before=4_000)
INDEXED = MaintenanceAction("mnt-5", "t", "x", "bloom", "applied", "", INDEX.id, bytes_after=4_000)


def test_filters_that_are_there_are_not_proposed_again() -> None:
    later = replace(INDEX, version=40, bytes_before=5_000)
    assert is_indexed(later, [INDEXED], [INDEX])
    assert not is_indexed(replace(later, bytes_before=7_000), [INDEXED], [INDEX])  # most new files have none
    assert not is_indexed(replace(later, columns=("other",)), [INDEXED], [INDEX])
    assert not is_indexed(later, [INDEXED, DONE], [INDEX])  # merged files have none
    undone = MaintenanceAction("mnt-6", "t", "x", "restore", "undone", "", undoes="mnt-5")
    assert not is_indexed(later, [INDEXED, undone], [INDEX])


def test_a_rewrite_that_drops_filters_says_so() -> None:
    words = "files that it writes have no bloom filters; those are proposed again after it"
    assert with_lost_index(PROPOSAL, [INDEXED]).writers == words
    assert with_lost_index(PROPOSAL, [INDEXED, DONE]) == PROPOSAL
    assert with_lost_index(INDEX, [INDEXED]) == INDEX
