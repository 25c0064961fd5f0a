"""Evidence made from a few facts: what a fixture file says, on top of a quiet query on two cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from planopt_assets.decide.materiality import CPU_PER_QUERY_NS, CPU_PER_ROW_NS
from planopt_assets.model.evidence import Evidence, Execution
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.signals import Exchange, Scan
from planopt_assets.model.workload import Knobs
from planopt_tests.measured import counters

FIXTURES = Path(__file__).parent / "fixtures"
SHUFFLE = "spark.sql.shuffle.partitions"
OPEN_COST = "spark.sql.files.openCostInBytes"
MAX_BYTES = "spark.sql.files.maxPartitionBytes"
DEFAULTS = {SHUFFLE: "200", OPEN_COST: "4194304b", MAX_BYTES: "134217728b"}  # as Spark 4.2 shows them


def evidence_of(facts: dict[str, Any]) -> Evidence:
    """`facts` as in a fixture: cores, runs_per_day, settings, and one entry per binding in `executions`."""
    settings = DEFAULTS | {name: str(value) for name, value in facts.get("settings", {}).items()}
    return Evidence(
        query_id="q",
        query_fingerprint="qry_1",
        input_fingerprint="inp_1",
        plan_fingerprint="pln_1",
        policy=ORIGINAL,
        settings=tuple(sorted({**settings, "cores": str(facts.get("cores", 2))}.items())),
        executions=tuple(_execution(number, e) for number, e in enumerate(facts["executions"])),
        runs_per_day=float(facts.get("runs_per_day", 24)),
    )


def limits_of(facts: dict[str, Any]) -> Knobs:
    return Knobs(
        allow=tuple(facts.get("allow", ())), deny=tuple(facts.get("deny", ())), pin=tuple(facts.get("pin", {}).items())
    )


def load(file: Path) -> dict[str, Any]:
    return YAML(typ="safe").load(file.read_text(encoding="utf-8"))


def _execution(number: int, facts: dict[str, Any]) -> Execution:
    return Execution(
        observation_id=f"obs-run-q-b{number}",
        # As much work as the model prices at `cpu_s`: the clock itself plays no part in a decision.
        counters=counters(
            cpu_s=facts.get("measured_cpu_s", 3.0),
            shuffle_write_tasks=facts.get("shuffle_write_tasks", 0),
            input_rows=round((facts.get("cpu_s", 3.0) * 1e9 - CPU_PER_QUERY_NS) / CPU_PER_ROW_NS),
            scan_files=0,
            tasks=0,
        ),
        exchanges=tuple(Exchange(node, **x) for node, x in enumerate(facts.get("exchanges", ()))),
        scans=tuple(Scan(node, **{"table": "t", **s}) for node, s in enumerate(facts.get("scans", ()))),
    )


WORKED = evidence_of(load(FIXTURES / "right_size_shuffle" / "proposes_what_the_docstring_works_out.yaml")["evidence"])
