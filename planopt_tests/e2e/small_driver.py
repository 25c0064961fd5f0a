"""A process of its own with a small driver: a broadcast that does not fit into it, and a candidate after that one.

The rules in force here propose a broadcast that no rule of planopt would: it bounds them by the driver's memory.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planopt_assets.decide import decide as decide_module
from planopt_assets.decide.answer import Answer, no_change, propose
from planopt_assets.model.evidence import Evidence
from planopt_assets.model.hint import Hint
from planopt_assets.model.workload import Query
from planopt_tests.conftest import SETTINGS, workload_of
from planopt_tests.one_pass import run_all
from planopt_tests.stored_rows import StoredRows

MEMORY = "512m"
JOINED = Query(
    "joined",
    sql="SELECT count(*) AS n, max(b.payload) AS m FROM wide a JOIN wide b ON a.id = b.id",
    runs_per_day=1000.0,
)
AFTER = Query("after", sql="SELECT kind, count(*) AS n FROM wide GROUP BY kind", runs_per_day=1000.0)
PARTITIONS = "spark.sql.shuffle.partitions"


def too_large(evidence: Evidence) -> Answer:
    """One side of the join, which is larger than the driver."""
    targets = [j.right.target for e in evidence.executions for j in e.joins if j.right.target]
    if not targets or evidence.policy.parts:
        return no_change("no join", {})
    hints = [Hint("broadcast", targets[0])]
    return propose({}, "whatever it takes", saved_cpu_ns=2 * 10**9, arithmetic={}, hints=hints)


def fewer(evidence: Evidence) -> Answer:
    if evidence.setting(PARTITIONS) == "4":
        return no_change("they are few", {})
    return propose({PARTITIONS: "4"}, "there are many", saved_cpu_ns=10**9, arithmetic={})


def main(folder: Path) -> None:
    decide_module.RULES = (("too_large", too_large), ("fewer", fewer))
    settings = {**SETTINGS, "spark.driver.memory": MEMORY}
    workload = workload_of(folder, [JOINED, AFTER], spark_settings=tuple(sorted(settings.items())), mode="auto")
    run = run_all(workload)
    verdicts = StoredRows.of(run).rows("verdicts")
    trials = StoredRows.of(run).rows("trials")
    told = {
        "lost": run.workspace.sessions_lost,
        "verdicts": [[v["query_id"], json.loads(v["policy"]), v["outcome"], v["reason"]] for v in verdicts],
        "trials": [[t["query_id"], t["policy_id"], t["status"], t["warm_up"], t["round"]] for t in trials],
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
