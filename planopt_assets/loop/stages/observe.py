"""Observe: run each query as it is, once to warm up and once to measure; keep what it showed, or why it could not."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import PlanoptError, ProtocolUnsupported, SqlRefused, SqlSyntax
from planopt_assets.loop import observation_rows as to_rows
from planopt_assets.loop.run import Rows, Run, StageResult, unchanged
from planopt_assets.model.bundle import Parts, differing
from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import PinnedTable, input_fingerprint, query_fingerprint
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.redaction import redact
from planopt_assets.model.table_facts import snapshot_hash
from planopt_assets.observe.bundle import (
    Understood,
    extractors_disagree,
    other_scans,
    plain,
    planned_parts,
    sampled,
    schemas_of,
    understand,
)
from planopt_assets.observe.describe import describe
from planopt_assets.observe.plans.estimates import (
    misled_joins,
    with_first_estimates,
    with_log_rows,
    with_text_estimate,
)
from planopt_assets.observe.plans.tasks import task_rows
from planopt_assets.observe.pushdown.classify import classify
from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_assets.observe.signals.collect import collect
from planopt_assets.observe.sql.edits import edit_list
from planopt_assets.store.lineage import column_id, edges

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Execution
    from planopt_assets.model.column_lineage import ColumnLineage
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import CaptureTier, Query

STAGE = "observe"
LONG_S = 30
_TABLES = (
    "plan_nodes",
    "runtime_counters",
    "scan_outcomes",
    "input_tables",
    "explains",
    "task_counters",
    "provenance",
    "lineage",
    "plan_artifacts",
)


def observe(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Observe every query whose inputs are not known yet; one refused or failing query does not stop the others."""
    standings = run.standings()
    rows: Rows = {t: [] for t in _TABLES}
    recorded = {row["hash"] for row in run.reader.rows("provenance", ["hash"])}
    thresholds: Thresholds | None = None  # learned once something is to do
    results = []
    for query_id in query_ids:
        if standings[query_id].observed and not standings[query_id].failed:
            results.append(unchanged(query_id, STAGE))
            continue
        query = run.workload.query(query_id)
        run.progress(STAGE, query_id, "planning and running it as it is")
        thresholds = thresholds or _thresholds(run)
        results.append(_Observation(run, query, rows, recorded, thresholds).take())
    run.append(STAGE, rows)
    return results


class _Observation:
    """One query of one run, from its executions to rows."""

    def __init__(self, run: Run, query: Query, rows: Rows, recorded: set[str], thresholds: Thresholds) -> None:
        self.run, self.query, self.rows, self.recorded, self.thresholds = run, query, rows, recorded, thresholds
        self.tier = _tier(run, query)

    def take(self) -> StageResult:
        from planopt_assets.decide.catalogue import CATALOGUE, LOOKED_AT

        self.settings = self.run.workspace.effective_settings([*(k.name for k in CATALOGUE), *LOOKED_AT])
        bindings = range(len(self.query.bindings))
        try:
            executions = [self._execute_warm(binding) for binding in bindings]
        except PlanoptError as failure:
            return self._failed(failure)
        self.tables = self.run.workspace.tables_read(self.query, self.run.workspace.baseline)
        seen = [self._captured(b, *executed) for b, executed in zip(bindings, executions, strict=True)]
        return _result(self.query.id, [e for e, _ in executions], self.tables, *seen[0])

    def _execute_warm(self, binding: int) -> tuple[Execution, tuple[str, ...]]:
        """Run it once to warm up and once to measure, and say which parts of the plan did not come out the same.

        The first run of a query in a JVM costs several times its CPU in class loading and compilation. Where it takes
        so long that this does not matter, it is planned a second time, but not run.
        """
        timeout = self.run.workload.budgets.per_query
        execute, baseline = self.run.workspace.execute, self.run.workspace.baseline
        first = execute(self.query, binding, baseline, timeout_s=timeout, tier=self.tier)
        if first.counters.wall_ns <= LONG_S * 1e9:
            second = execute(self.query, binding, baseline, timeout_s=timeout, tier=self.tier)
            return second, differing(_parts(first), _parts(second))
        again = self.run.workspace.replanned(self.query, binding, baseline)
        return first, differing(_parts(first), planned_parts(*again))

    def _captured(self, binding: int, execution: Execution, unstable: tuple[str, ...]) -> tuple[str, ColumnLineage]:
        """Rows of one binding; returns what a person would like to read about it, and where its columns are from."""
        planned, initial, scans = execution.planned, execution.initial, execution.scans
        assert planned is not None
        assert initial is not None
        workspace, query = self.run.workspace, self.query
        facts = [workspace.facts(t) for t in self.tables]
        final = with_log_rows(with_first_estimates(execution.final, initial), scans)
        final = with_text_estimate(final, dict(planned.explains).get("cost"))
        understood = understand(query.sql, planned, facts, workspace.first_expression_id, query.python or "session")
        contract = to_rows.contract_id(facts)
        threshold = workspace.broadcast_threshold
        settings = dict(planned.environment.settings)
        outcomes = [classify(s, execution.offers[s.table], settings, self.thresholds) for s in scans]
        facts_of_scans = list(zip(scans, outcomes, strict=True))
        signals = collect(initial, final, execution.splits, facts_of_scans, understood.udfs, execution.join_targets)
        observation = self._row(
            binding,
            facts,
            {
                "status": "captured",
                "capture_tier": self.tier,
                **to_rows.plan_columns(execution, final, signals),
                **to_rows.estimate_columns(final, misled_joins(initial, final, threshold)),
                **to_rows.understood_columns(understood, facts, planned),
                **to_rows.bundle_columns(
                    self._all_parts(execution, understood, facts, contract), unstable, planned, contract
                ),
                "extractors_disagree": extractors_disagree(
                    initial, final, planned, workspace.capture.tables, workspace.first_expression_id
                ),
                "other_scans": other_scans(initial, scans),
                "edits": self._edits(understood, facts),
            },
            execution,
        )
        self.rows["plan_nodes"] += to_rows.node_rows(query.id, observation, (with_log_rows(initial, scans), final))
        self.rows["explains"] += to_rows.explain_table_rows(query.id, observation, planned)
        self.rows["task_counters"] += task_rows(query.id, observation, execution.tasks)
        self.rows["provenance"] += to_rows.provenance_rows(query.id, planned, self.recorded)
        self.rows["runtime_counters"].append(
            {
                "query_id": query.id,
                "execution_id": observation,
                "purpose": STAGE,
                "policy_id": ORIGINAL.id,
                "binding": binding,
                **asdict(execution.counters),
            }
        )
        self.rows["scan_outcomes"] += [
            to_rows.scan_row(query.id, observation, binding, scan, outcome) for scan, outcome in facts_of_scans
        ]
        lineage = understood.lineage
        self.rows["lineage"] += edges(query.id, STAGE, observation, _columns_read(self.tables, lineage))
        return describe(
            initial, execution.splits, [outcome for _, outcome in facts_of_scans], lineage, understood.udfs
        ), lineage

    def _edits(self, understood: Understood, facts: Sequence[TableFacts]) -> list[str]:
        """What changed in the text since the query was last captured; nothing where only its spelling did."""
        rows = self.run.reader.rows("plan_artifacts", ["canonical_sql", "canonical_form"], query_id=self.query.id)
        before = next((r["canonical_sql"] for r in reversed(rows) if r["canonical_form"] == "sqlglot"), None)
        if before is None or understood.canonical.form != "sqlglot":
            return []
        return [str(edit) for edit in edit_list(before, redact(understood.canonical.sql), schemas_of(facts))]

    def _all_parts(
        self, execution: Execution, understood: Understood, facts: Sequence[TableFacts], contract: str
    ) -> Parts:
        """What planning gave, and what it was given."""
        return (
            *_parts(execution),
            ("query", understood.canonical.fingerprint),
            ("snapshot", self._snapshot(facts, execution)),
            ("contract", contract),
            ("lineage", content_id("lin", understood.lineage.to_json())),
            ("udfs", content_id("udf", understood.udfs.to_json())),
        )

    def _snapshot(self, facts: Sequence[TableFacts], execution: Execution | None) -> str:
        planned = execution.planned if execution else None
        return snapshot_hash(facts, dict(planned.environment.settings) if planned else {})

    def _failed(self, failure: PlanoptError) -> StageResult:
        """A query that may not or cannot run is recorded with the reason, and with the tables that may be it."""
        refused = isinstance(failure, SqlRefused | SqlSyntax | ProtocolUnsupported)
        status = "refused" if refused else "failed"
        self.tables = self.run.workspace.tables_read(self.query, self.run.workspace.baseline)
        facts = [self.run.workspace.facts(t) for t in self.tables]
        self._row(0, facts, {"status": status, "error_code": failure.code, "error": str(failure)}, None)
        return StageResult(self.query.id, True, f"{status}: {failure}", markdown=f"**{status}**: {failure}")

    def _row(
        self, binding: int, facts: Sequence[TableFacts], columns: dict[str, Any], execution: Execution | None
    ) -> str:
        """One row of `plan_artifacts`, with its tables and lineage; returns the observation's id."""
        from planopt_assets.engine.delta.protocol import readable, writable
        from planopt_assets.engine.frames.callables import source_text
        from planopt_assets.loop.versions import contract

        run, query = self.run, self.query
        source = source_text(run.workload, query)
        observation = run.event_id("obs", query.id, f"b{binding}")
        self.rows["plan_artifacts"].append(
            {
                "query_id": query.id,
                "observation_id": observation,
                "binding": binding,
                "parameters": plain(dict(query.bindings[binding])),
                "source": query.source,
                "query_fingerprint": query_fingerprint(query, source),
                "input_fingerprint": input_fingerprint(
                    run.workload, query, source, self.tables, contract(run.workload.master), captured=bool(execution)
                ),
                "snapshot_hash": self._snapshot(facts, execution),
                "policy_id": ORIGINAL.id,
                "tables": plain([asdict(t) for t in self.tables]),
                "settings": plain(self.settings),
                "python_version": platform.python_version(),
                **columns,
            }
        )
        unreadable, unwritable = {t.name: readable(t) for t in facts}, {t.name: writable(t) for t in facts}
        self.rows["input_tables"] += to_rows.table_rows(query.id, observation, facts, unreadable, unwritable)
        self.rows["lineage"] += edges(query.id, STAGE, observation, [t.ref for t in self.tables])
        return observation


def _thresholds(run: Run) -> Thresholds:
    """What counts as little pruning, learned from the store once it holds enough scans."""
    from planopt_assets.store.pruning_history import AT_LEAST, learned_thresholds

    if run.reader.table("scan_outcomes", ["scan"]).num_rows < AT_LEAST:
        return Thresholds()  # no group can be large enough: not worth a Spark job
    return Thresholds(learned_thresholds(run.workspace.spark, run.workload.store))


def _parts(execution: Execution) -> Parts:
    assert execution.planned is not None
    assert execution.initial is not None
    return planned_parts(execution.planned, execution.initial, execution.scans)


def _tier(run: Run, query: Query) -> CaptureTier:
    """`debug` where asked for, and for the sampled share; the same query on the same tables is always sampled alike."""
    share = run.workload.debug_sample if query.debug_sample is None else query.debug_sample
    versions = [t.ref for t in run.workspace.tables]
    return "debug" if run.workload.capture == "debug" or sampled(share, query.id, *versions) else "always_on"


def _columns_read(tables: Sequence[PinnedTable], lineage: ColumnLineage) -> list[str]:
    """Every column that can change the result, at the version it was read."""
    return [column_id(t.ref, column) for t in tables for column in lineage.required.get(t.name, ())]


def _result(
    query_id: str,
    executions: list[Execution],
    tables: tuple[PinnedTable, ...],
    described: str,
    lineage: ColumnLineage,
) -> StageResult:
    counters = [e.counters for e in executions]
    numbers = {
        "wall_s": sum(c.wall_ns for c in counters) / 1e9,
        "cpu_s": sum(c.cpu_ns for c in counters) / 1e9,
        "tasks": sum(c.tasks for c in counters),
        "scan_files": sum(c.scan_files for c in counters),
        "scan_bytes": sum(c.scan_bytes for c in counters),
        "shuffle_write_bytes": sum(c.shuffle_write_bytes for c in counters),
        "result_rows": sum(c.result_rows for c in counters),
    }
    lines = [
        f"| {name} | {value:,.3f} |" if isinstance(value, float) else f"| {name} | {value:,} |"
        for name, value in numbers.items()
    ]
    reads = "Reads " + ", ".join(t.ref for t in tables)
    markdown = "\n".join(["| counter | value |", "|---|---|", *lines, "", reads, "", described])
    summary = f"{numbers['cpu_s']:.1f} s CPU, {numbers['tasks']} tasks"
    return StageResult(query_id, True, summary, numbers, markdown, columns=lineage.outputs)
