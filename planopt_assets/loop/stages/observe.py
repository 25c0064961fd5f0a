"""Observe: run each query as original, once to warm up and once to measure; keep what it showed, or why it failed."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planopt_assets.decide.catalogue import CATALOGUE, LOOKED_AT
from planopt_assets.engine.delta.protocol import readable, writable
from planopt_assets.engine.frames.callables import query_source
from planopt_assets.engine.sessions.java import java_release
from planopt_assets.errors import (
    PlanoptError,
    ProtocolUnsupported,
    SessionLost,
    SqlRefused,
    SqlSyntax,
    TableUnreadable,
)
from planopt_assets.loop import observing
from planopt_assets.loop.run import Run, StageResult, nothing_to_do
from planopt_assets.loop.seen import explained, thresholds_of
from planopt_assets.loop.versions import contract
from planopt_assets.model.bundle import Parts, bundle_hash, differing
from planopt_assets.model.execution import Execution
from planopt_assets.model.ids import content_id
from planopt_assets.model.inputs import PinnedTable, input_fingerprint, query_fingerprint
from planopt_assets.model.observation import ObservedBinding, PlanArtifact, PlanDetails, PlanTrees
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.redaction import redact
from planopt_assets.model.scan_record import ScanRecord
from planopt_assets.model.table_facts import snapshot_hash
from planopt_assets.observe.bundle import (
    Understood,
    extractors_disagree,
    other_scans,
    plain,
    planned_parts,
    sampled,
    schemas_of,
)
from planopt_assets.observe.describe import describe
from planopt_assets.observe.plans.estimates import misled_joins, with_log_rows
from planopt_assets.observe.plans.tasks import task_records
from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_assets.observe.sql.edits import edit_list
from planopt_assets.observe.tables.contract import contract_hash, contract_of
from planopt_assets.store.codecs.deciding import EDGES
from planopt_assets.store.codecs.observing import (
    ARTIFACTS,
    DETAILS,
    EXECUTIONS,
    EXPLAINS,
    INPUT_TABLES,
    NODES,
    OBSERVED,
    SCANS,
    SHARED,
    TASKS,
)
from planopt_assets.store.lineage import column_id, edges

if TYPE_CHECKING:
    from planopt_assets.engine.execution.execute import Measured
    from planopt_assets.model.arm import Tables
    from planopt_assets.model.column_lineage import ColumnLineage
    from planopt_assets.model.table_facts import TableFacts
    from planopt_assets.model.workload import CaptureTier, Query
    from planopt_assets.store.codecs.codec import AnyCodec

STAGE = "observe"
LONG_S = 30
# In the order they are written: what is looked at first, `plan_artifacts`, comes last.
_TABLES = (NODES, EXECUTIONS, SCANS, INPUT_TABLES, EXPLAINS, TASKS, SHARED, EDGES, OBSERVED)


def observe(run: Run, query_ids: Sequence[str]) -> list[StageResult]:
    """Observe every query whose inputs are not known yet; one refused or failing query does not stop the others."""
    seen: dict[AnyCodec, list[Any]] = {codec: [] for codec in _TABLES}
    recorded: set[str] | None = None
    thresholds: Thresholds | None = None  # learned once something is to do
    results = []
    workspace = run.workspace
    for standing, step in run.steps(STAGE, query_ids):
        if not step.needed:
            results.append(nothing_to_do(standing.query_id, step))
            continue
        query = run.workload.query(standing.query_id)
        if standing.missing is not None:
            one = _Observation(run, query, set(), Thresholds())
            results.append(one.without_spark(standing.missing))
            _add(seen, one.seen)
            continue
        if time.monotonic() >= run.observe_until:
            results.append(StageResult(query.id, False, "half of the night's budget is spent: left for the next night"))
            continue
        run.progress(STAGE, query.id, "planning and running it as original")
        workspace.revive()
        thresholds = thresholds or thresholds_of(run)
        if recorded is None:
            recorded = {content.hash for content in run.snapshot.read(SHARED)}
        lost, one = workspace.sessions_lost, _Observation(run, query, recorded, thresholds)
        results.append(one.take())
        recorded |= {content.hash for content in one.seen[SHARED]}
        _add(seen, one.seen)
        if workspace.sessions_lost > lost:
            run.keep(STAGE, query.id, seen)
    run.append(STAGE, seen)
    return results


def _add(rows: dict[AnyCodec, list[Any]], new: Mapping[AnyCodec, Sequence[Any]]) -> None:
    for codec, nouns in new.items():
        rows[codec] += nouns


class _Observation:
    """One query of one run, from its executions to nouns."""

    def __init__(self, run: Run, query: Query, recorded: set[str], thresholds: Thresholds) -> None:
        self.run, self.query, self.recorded, self.thresholds = run, query, set(recorded), thresholds
        self.seen: dict[AnyCodec, list[Any]] = {codec: [] for codec in _TABLES}
        self.settings: dict[str, str] = {}
        self.tier = _tier(run, query)
        self.warm = False

    def take(self) -> StageResult:
        """Observe it, whole or not at all: of one that ended the session only that is kept."""
        try:
            with self.run.workspace.serving(self.query):
                return self._take()
        except SessionLost as lost:
            self.seen = {codec: [] for codec in _TABLES}
            return self._failed(lost, self._tables_read())

    def _take(self) -> StageResult:
        self.settings = self.run.workspace.effective_settings([*(k.name for k in CATALOGUE), *LOOKED_AT])
        bindings = range(len(self.query.bindings))
        self.warm = self.run.workspace.is_warm(self.query)
        try:
            executions = [self._execute_warm(binding) for binding in bindings]
        except SessionLost:
            raise
        except PlanoptError as failure:
            return self._failed(failure, self._tables_read())
        self.tables = self._tables_read()
        seen = [self._captured(b, *executed) for b, executed in zip(bindings, executions, strict=True)]
        return _result(self.query.id, [e for e, _ in executions], self.tables, *seen[0], self._not_followed())

    def _not_followed(self) -> str:
        """The imports whose modules nobody watches, told to the user; empty where there are none."""
        found = query_source(self.run.workload, self.query).not_followed
        if not found:
            return ""
        words = f"Imports that cannot be followed, so a change behind them is not noticed: {'; '.join(found)}"
        self.run.progress(STAGE, self.query.id, words)
        return words

    def _execute_warm(self, binding: int) -> tuple[Measured, tuple[str, ...]]:
        """Run it once to warm up and once to measure, and say which parts of the plan did not come out the same.

        The first run of a query in a JVM costs several times its CPU in class loading and compilation. Where it takes
        so long that this does not matter, or this JVM has run it before (on the tables' old layout), it is planned a
        second time, but not run.
        """
        timeout = self.run.workload.budgets.per_query
        execute, baseline = self.run.workspace.execute, self.run.workspace.baseline
        first = execute(self.query, binding, baseline, timeout_s=timeout, tier=self.tier)
        if first.counters.wall_ns <= LONG_S * 1e9 and not self.warm:
            second = execute(self.query, binding, baseline, timeout_s=timeout, tier=self.tier)
            return second, differing(_parts(first), _parts(second))
        again = self.run.workspace.replanned(self.query, binding, baseline)
        return first, differing(_parts(first), planned_parts(again.planned, again.initial, again.scans))

    def _captured(self, binding: int, execution: Measured, unstable: tuple[str, ...]) -> tuple[str, ColumnLineage]:
        """All that is kept of one binding; returns what a person would like to read, and where its columns are from."""
        planned, initial, scans = execution.planned, execution.initial, execution.scans
        assert planned is not None
        assert initial is not None
        workspace, query, observation = self.run.workspace, self.query, self._id(binding)
        facts = [workspace.facts(t) for t in self.tables]
        shown = explained(workspace, query, execution, facts, self.thresholds)
        final, understood, outcomes = shown.final, shown.understood, shown.outcomes
        parts = self._all_parts(execution, understood, facts)
        artifact = PlanArtifact(
            **self._identity(binding, facts, execution),
            status="captured",
            capture_tier=self.tier,
            **observing.plan_hashes(initial, final),
            **observing.estimate_quality(final, misled_joins(initial, final, workspace.broadcast_threshold)),
            engine=observing.engine_of(planned),
            planning_env_hash=planned.environment.hash,
            rulepack_hash=planned.rulepack.hash,
            contract_hash=_contract_hash(facts),
            canonical_fingerprint=understood.canonical.fingerprint,
            canonical_form=understood.canonical.form,
            edits=self._edits(understood, facts),
            bundle_hash=bundle_hash(parts),
            bundle_parts=parts,
            unstable_parts=unstable,
            other_scans=tuple(other_scans(initial, scans)),
        )
        trees, hashes = observing.plan_trees(observation, execution, final)
        disagree = extractors_disagree(initial, final, planned, workspace.capture.tables, workspace.first_expression_id)
        details = PlanDetails(
            observation,
            **self._common_details(),
            **observing.documents(understood, facts, planned),
            signals=shown.signals,
            digest=execution.digest,
            extractors_disagree=None if disagree is None else tuple(disagree),
            plan_hashes=hashes,
        )
        self._keep(ObservedBinding(artifact, details, trees), facts)
        kept = Execution(
            observation, query.id, "observe", ORIGINAL.id, binding, execution.counters, cores=workspace.cores
        )
        self.seen[EXECUTIONS].append(kept)
        self.seen[NODES] += observing.node_records(query.id, observation, (with_log_rows(initial, scans), final))
        self.seen[EXPLAINS] += observing.explain_lines(query.id, observation, planned)
        self.seen[TASKS] += task_records(query.id, observation, execution.tasks)
        self.seen[SHARED] += observing.shared_content(query.id, planned, self.recorded)
        self.seen[SCANS] += [
            ScanRecord.of(query.id, observation, binding, scan, outcome)
            for scan, outcome in zip(scans, outcomes, strict=True)
        ]
        lineage = understood.lineage
        self.seen[EDGES] += edges(query.id, STAGE, observation, _columns_read(self.tables, lineage))
        return describe(initial, execution.splits, outcomes, lineage, understood.udfs), lineage

    def _edits(self, understood: Understood, facts: Sequence[TableFacts]) -> tuple[str, ...]:
        """What changed in the text since the query was last captured; nothing where only its spelling did."""
        if understood.canonical.form != "sqlglot":
            return ()
        artifacts = self.run.snapshot.read(ARTIFACTS, query_id=self.query.id)
        last = next((a.observation_id for a in reversed(artifacts) if a.from_text), None)
        if last is None:
            return ()
        (before,) = self.run.snapshot.read(DETAILS, observation_id=last)
        now = redact(understood.canonical.sql)
        return tuple(str(edit) for edit in edit_list(before.canonical_sql or "", now, schemas_of(facts)))

    def _all_parts(self, execution: Measured, understood: Understood, facts: Sequence[TableFacts]) -> Parts:
        """What planning gave, and what it was given."""
        return (
            *_parts(execution),
            ("query", understood.canonical.fingerprint),
            ("snapshot", self._snapshot(facts, execution)),
            ("contract", _contract_hash(facts)),
            ("lineage", content_id("lin", understood.lineage.to_json())),
            ("udfs", content_id("udf", understood.udfs.to_json())),
        )

    def _snapshot(self, facts: Sequence[TableFacts], execution: Measured | None) -> str:
        planned = execution.planned if execution else None
        return snapshot_hash(facts, dict(planned.environment.settings) if planned else {})

    def without_spark(self, missing: TableUnreadable) -> StageResult:
        """Record a query whose table is missing as failed. Nothing is run, so its settings are unknown."""
        self.run.progress(STAGE, self.query.id, f"failed: {missing}")
        self.settings = {}
        return self._failed(missing, ())

    def _failed(self, failure: PlanoptError, tables: Tables) -> StageResult:
        """A query that may not or cannot run is recorded with the reason, and with the tables that may be it."""
        refused = isinstance(failure, SqlRefused | SqlSyntax | ProtocolUnsupported)
        self.tables = tables
        facts = [self.run.workspace.facts(t) for t in self.tables]
        artifact = PlanArtifact(
            **self._identity(0, facts, None),
            status="refused" if refused else "failed",
            error_code=failure.code,
            error=str(failure),
        )
        details = PlanDetails(artifact.observation_id, **self._common_details())
        self._keep(ObservedBinding(artifact, details, PlanTrees(artifact.observation_id)), facts)
        words = f"{artifact.status}: {failure}"
        return StageResult(self.query.id, True, words, markdown=f"**{artifact.status}**: {failure}")

    def _tables_read(self) -> Tables:
        return self.run.workspace.tables_read(self.query, self.run.workspace.baseline)

    def _id(self, binding: int) -> str:
        return self.run.event_id("obs", self.query.id, f"b{binding}")

    def _identity(self, binding: int, facts: Sequence[TableFacts], execution: Measured | None) -> dict[str, Any]:
        """The fields of a `PlanArtifact` that say which query was observed on what."""
        run, query = self.run, self.query
        known_as = query_fingerprint(query, query_source(run.workload, query))
        return {
            "observation_id": self._id(binding),
            "query_id": query.id,
            "binding": binding,
            "parameters": plain(dict(query.bindings[binding])),
            "source": query.source,
            "policy_id": ORIGINAL.id,
            "query_fingerprint": known_as,
            "input_fingerprint": input_fingerprint(
                run.workload,
                query,
                known_as,
                self.tables,
                contract(run.workload.master),
                captured=execution is not None,
                java=java_release(),
            ),
            "snapshot_hash": self._snapshot(facts, execution),
            "tables": self.tables,
        }

    def _common_details(self) -> dict[str, Any]:
        return {"settings": tuple(sorted(self.settings.items())), "python_version": platform.python_version()}

    def _keep(self, observed: ObservedBinding, facts: Sequence[TableFacts]) -> None:
        """One row of `plan_artifacts`, with its tables and lineage."""
        observation = observed.artifact.observation_id
        self.seen[OBSERVED].append(observed)
        size = self.run.workspace.pins.size
        self.seen[INPUT_TABLES] += [
            observing.table_record(self.query.id, observation, replace(t, bytes=found), readable(t), writable(t))
            for t in facts
            for found in [size(t.name, t.location)]
        ]
        self.seen[EDGES] += edges(self.query.id, STAGE, observation, [t.ref for t in self.tables])


def _contract_hash(tables: Sequence[TableFacts]) -> str:
    return contract_hash(contract_of(tables))


def _parts(execution: Measured) -> Parts:
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
    executions: list[Measured],
    tables: tuple[PinnedTable, ...],
    described: str,
    lineage: ColumnLineage,
    remark: str = "",
) -> StageResult:
    counters = [e.counters for e in executions]
    numbers = {
        "wall_s": sum(c.wall_ns for c in counters) / 1e9,
        "cpu_s": sum(c.known("cpu_ns") for c in counters) / 1e9,
        "tasks": sum(c.tasks for c in counters),
        "scan_files": sum(c.known("scan_files") for c in counters),
        "scan_bytes": sum(c.known("scan_bytes") for c in counters),
        "shuffle_write_bytes": sum(c.shuffle_write_bytes for c in counters),
        "result_rows": sum(c.known("result_rows") for c in counters),
    }
    lines = [
        f"| {name} | {value:,.3f} |" if isinstance(value, float) else f"| {name} | {value:,} |"
        for name, value in numbers.items()
    ]
    reads = "Reads " + ", ".join(t.ref for t in tables)
    remarks = ["", remark] if remark else []
    markdown = "\n".join(["| counter | value |", "|---|---|", *lines, "", reads, "", described, *remarks])
    summary = f"{numbers['cpu_s']:.1f} s CPU, {numbers['tasks']} tasks"
    return StageResult(query_id, True, summary, numbers, markdown, columns=lineage.outputs)
