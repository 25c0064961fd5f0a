"""`planopt` with a judge for whom only results decide, so that an accept does not hang on a clock."""

from __future__ import annotations

from functools import partial

from planopt_assets import cli
from planopt_assets.defs import resources
from planopt_assets.run import Run
from planopt_tests.lenient import LENIENT

if __name__ == "__main__":
    resources.Run = partial(Run, rules=LENIENT)  # type: ignore[misc,assignment]
    cli.main()
