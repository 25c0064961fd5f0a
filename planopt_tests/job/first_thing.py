"""A user's job in a process of its own whose first use of Delta is `tuned`: prints what was applied, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planopt_assets import tuned
from planopt_assets.engine.sessions.session import open_session
from planopt_tests.conftest import workload_of
from planopt_tests.one_pass import BY_SHOP


def main(folder: str) -> None:
    workload = workload_of(Path(folder), [BY_SHOP], mode="auto")
    with tuned(open_session(workload), BY_SHOP.id, workload, timeout_s=60) as query:
        rows = query.sql().count()
    print(json.dumps({**query.facts(), "rows": rows}))


if __name__ == "__main__":
    main(sys.argv[1])
