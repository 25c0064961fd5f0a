"""`planopt` with a judge for whom only results decide, so that an accept does not hang on a clock."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from planopt_assets import cli
from planopt_assets.defs import resources
from planopt_assets.run import Run
from planopt_tests.lenient import LENIENT

# Every process here is cold: its first execution may take longer than a candidate is given.
PATIENT = replace(LENIENT, timeout_floor_s=300.0)

if __name__ == "__main__":
    resources.Run = partial(Run, rules=PATIENT)  # type: ignore[misc,assignment]
    cli.main()
