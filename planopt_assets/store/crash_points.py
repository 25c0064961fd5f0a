"""Named crash points, so that tests can kill a process exactly there."""

from __future__ import annotations

import os

VARIABLE = "PLANOPT_CRASH_AT"
EXIT_CODE = 70

OF_POLICIES = (
    "after_validate_trials",  # trials are stored, their verdict is not
    "after_validate_verdicts",  # a verdict is stored, nothing is promoted
    "after_promotion_commit",  # promoted, without lineage
    "after_promote_lineage",  # with lineage, but without the materialization in Dagster
    "after_promote_event",  # Dagster has the materialization, the run has not ended
)
"""From a trial to the end of the run that promotes it."""

OF_LAYOUTS = (
    "after_clone_mark",  # a layout is about to be tried: its clone has a mark and no folder
    "after_clone",  # the clone is there, its layout is that of the table
    "after_layout_rewritten",  # it has the new layout, nothing was measured
    "after_layout_trials",  # everything was measured, nothing is stored
    "after_clone_folder_removed",  # the clone is gone, its mark is not
    "before_layout_commit",  # the user's table is about to be changed
    "after_layout_settings",  # its properties or clustering columns are set, its files are as they were
    "after_layout_commit",  # it was changed, and nothing says so but its log
    "after_undo_commit",  # the change was taken back, and nothing says so but its log
)
"""From a trial on a clone to the end of the action on a table."""

POINTS = (*OF_POLICIES, *OF_LAYOUTS)
"""Every append of a stage has one too: `after_STAGE_TABLE`."""


def reached(point: str) -> None:
    """End the process at once, without clean-up, if the environment names this point. Otherwise do nothing."""
    if os.environ.get(VARIABLE) == point:
        os._exit(EXIT_CODE)
