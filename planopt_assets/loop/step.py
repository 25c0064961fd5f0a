"""`Step`: one stage for one query or table, whether it is needed, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Need = Literal["needed", "done", "depends", "off"]
"""`off`: the workload's mode, or nothing to do it on. `depends`: on what a stage before it finds."""

STAGES = ("observe", "decide", "replan", "validate", "promote")
ONLY_LOOKS = "the workload's mode is observe: planopt only looks"
UNCHANGED = "inputs unchanged, evidence stands"


@dataclass(frozen=True, slots=True)
class Step:
    """What `planopt plan` prints of a stage, and what the stage goes by.

    >>> Step("observe", "needed", "never observed").needed, Step("observe", "done", UNCHANGED).needed
    (True, False)
    """

    stage: str
    need: Need
    why: str
    by_mode: bool = False  # off because of the workload's mode or a table's `maintain`: no stage before it changes that

    @property
    def needed(self) -> bool:
        return self.need == "needed"


def only_looks(stage: str) -> Step:
    """A stage that the mode `observe` turns off."""
    return Step(stage, "off", ONLY_LOOKS, by_mode=True)
