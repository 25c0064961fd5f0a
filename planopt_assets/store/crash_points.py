"""Named crash points, so that tests can kill a process exactly there."""

from __future__ import annotations

import os

VARIABLE = "PLANOPT_CRASH_AT"
EXIT_CODE = 70

POINTS = (
    "after_validate_trials",  # trials are stored, their verdict is not
    "after_validate_verdicts",  # a verdict is stored, nothing is promoted
    "after_promotion_commit",  # promoted, without lineage
    "after_promote_lineage",  # with lineage, but without the materialization in Dagster
    "after_promote_event",  # Dagster has the materialization, the run has not ended
)
"""From a trial to the end of the run that promotes it. Every append of a stage has one: `after_STAGE_TABLE`."""


def reached(point: str) -> None:
    """End the process at once, without clean-up, if the environment names this point. Otherwise do nothing."""
    if os.environ.get(VARIABLE) == point:
        os._exit(EXIT_CODE)
