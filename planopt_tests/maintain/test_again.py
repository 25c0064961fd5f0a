"""A rewrite that is due again tells what the last one gained, unless that was taken back."""

from __future__ import annotations

import pytest

from planopt_assets.maintain.again import proposed_again
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
