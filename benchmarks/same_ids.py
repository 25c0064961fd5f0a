"""`make bench ARGS="ids STORE OTHER"`: do two stores of the same workload hold the same content ids?

Run one workload over one set of tables with two versions of planopt, each with a store of its own. Content ids are
hashes of content, so they must agree. Run ids, times and everything measured may differ. Which candidates exist beyond
a first pass depends on verdicts, and so on clocks: compare stores of one pass.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow.dataset as ds

# Of each table: what a row is about, and the content ids it must then have.
COMPARED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "plan_artifacts": (
        ("query_id", "binding", "status"),
        (
            *("query_fingerprint", "input_fingerprint", "snapshot_hash", "plan_fingerprint", "topology_hash"),
            *("canonical_fingerprint", "contract_hash", "planning_env_hash", "rulepack_hash", "bundle_hash"),
            *("bundle_parts", "settings", "signals", "misled_joins", "tables"),
        ),
    ),
    "policy_decisions": (
        ("query_id", "rule"),
        ("decision_id", "kind", "policy_before_id", "policy_after_id", "policy_after", "arithmetic"),
    ),
    "candidate_plans": (
        ("query_id", "policy_id"),
        ("candidate_id", "policy", "kept", "diff", "plan_fingerprint", "topology_hash", "took_effect"),
    ),
    "scan_outcomes": (("query_id", "binding", "scan"), ("table", "outcome", "conjuncts", "families")),
    "input_tables": (("query_id", "table"), ("table_id", "version", "contract", "metadata", "statistics_columns")),
}


def compared(one: Path, other: Path) -> dict[str, dict[str, object]]:
    """Per table: how many rows each store has, and the values that differ, as `row: column`."""
    found: dict[str, dict[str, object]] = {}
    for table, (key, columns) in COMPARED.items():
        left, right = (_rows(store / table, key, columns) for store in (one, other))
        differing = [
            f"{' '.join(map(str, row))}: {column}"
            for row in left.keys() & right.keys()
            for column, a, b in zip(columns, left[row], right[row], strict=True)
            if a != b
        ]
        only = [f"{' '.join(map(str, row))}: in one store only" for row in left.keys() ^ right.keys()]
        found[table] = {"rows": (len(left), len(right)), "differing": sorted([*differing, *only])}
    return found


def _rows(folder: Path, key: Sequence[str], columns: Sequence[str]) -> dict[tuple[object, ...], list[object]]:
    """The newest row of each key, in files that no log is asked about: stores of a fresh run hold no others."""
    if not folder.is_dir():
        return {}
    table = ds.dataset(sorted(map(str, folder.glob("*.parquet"))), format="parquet").to_table(
        columns=[*key, *columns, "recorded_at"]
    )
    rows = table.sort_by("recorded_at").to_pylist()
    return {tuple(row[k] for k in key): [_without_words(row[c]) for c in columns] for row in rows}


_LEFT_OUT = ("finding", "reason", "fix", "location")  # a store may stand beside another copy of the tables


def _without_words(value: object) -> object:
    """Sentences for people may change from one version to the next; what they are about may not."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        return _without_words(json.loads(value))
    if isinstance(value, dict):
        return {name: _without_words(item) for name, item in value.items() if name not in _LEFT_OUT}
    return [_without_words(item) for item in value] if isinstance(value, list) else value


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench ARGS=ids", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    found = compared(options.store, options.other)
    if not any(sum(table["rows"]) for table in found.values()):  # type: ignore[call-overload]
        parser.error(f"neither {options.store} nor {options.other} is a store with rows")
    same = all(not table["differing"] for table in found.values())
    if options.json:
        print(json.dumps({"same": same, "tables": found}, indent=2))
        return 0 if same else 1
    for table, facts in found.items():
        print(f"{table:<18}{facts['rows'][0]:>6} {facts['rows'][1]:>6} rows, {len(facts['differing'])} differ")  # type: ignore[index, arg-type]
        for words in facts["differing"][:20]:  # type: ignore[index]
            print(f"    {words}")
    print("same ids" if same else "not the same")
    return 0 if same else 1
