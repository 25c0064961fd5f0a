"""Another Python process: the only way to see what an import loads, or that an id does not depend on the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def findable() -> str:
    """`PYTHONPATH` of a process that finds this project, and what this one finds."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def output_of(code: str, *, hash_seed: int | None = None) -> str:
    """What `code` prints in a fresh interpreter that finds this project; anything but exit code 0 is a failure."""
    environment = {**os.environ, "PYTHONPATH": findable()}
    if hash_seed is not None:
        environment["PYTHONHASHSEED"] = str(hash_seed)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    return done.stdout
