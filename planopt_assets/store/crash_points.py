"""Named places where a process may be killed, so that tests can kill it exactly there."""

from __future__ import annotations

import os

VARIABLE = "PLANOPT_CRASH_AT"
EXIT_CODE = 70

POINTS = (
    "after_validate_trials",  # trials are stored, their verdict is not
    "after_validate_verdicts",  # a verdict is stored, nothing is promoted
    "after_promotion_commit",  # promoted, without lineage
    "after_promote_lineage",  # with lineage, and Dagster knows nothing of it
    "after_promote_event",  # Dagster has the materialization, the run has not ended
)
"""Between a trial and the end of the run that promotes it; every append of a stage has one, `after_STAGE_TABLE`."""


def reached(point: str) -> None:
    """End the process at once, without clean-up, if the environment names this point; otherwise nothing happens."""
    if os.environ.get(VARIABLE) == point:
        os._exit(EXIT_CODE)
