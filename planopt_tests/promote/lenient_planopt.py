"""`planopt` with a judge for whom only results decide, so that an accept does not hang on a clock."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from planopt_assets import cli
from planopt_assets.defs import resources
from planopt_assets.loop import run
from planopt_tests.fresh_python import ROOT
from planopt_tests.lenient import LENIENT

PAIRS_VARIABLE = "PLANOPT_TEST_PAIRS"
_PAIRS = int(os.environ.get(PAIRS_VARIABLE, "1"))

# Every process here is cold: its first execution may take longer than a candidate is given.
PATIENT = replace(LENIENT, timeout_floor_s=300.0, min_pairs=_PAIRS, max_pairs=_PAIRS)


def lenient_planopt(
    *words: str, cwd: Path, env: Mapping[str, str] = os.environ, module: str = __name__
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {**env, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", module, *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=900)


if __name__ == "__main__":
    resources.Run = run.Run = partial(run.Run, rules=PATIENT)  # type: ignore[misc,assignment]
    cli.main()
