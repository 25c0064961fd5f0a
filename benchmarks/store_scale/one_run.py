"""Runs one command and prints what it cost, as JSON.

It runs as a file of its own: the peak memory that Linux tells of a child is never below that of the process it was
started from, so that process has to be small.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

_MIB = 2**20 if sys.platform == "darwin" else 2**10  # in the unit of `ru_maxrss`


def main(command: Sequence[str]) -> int:
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {"wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / _MIB}
    print(json.dumps({**cost, "exit_code": done.returncode, "output": done.stdout, "error": done.stderr}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
