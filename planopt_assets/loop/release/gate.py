"""The release gate: a branch's workload against a baseline. Spark starts only if a query changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from planopt_assets.engine.baseline_workspace import BaselineWorkspace
from planopt_assets.engine.frames.callables import query_source
from planopt_assets.engine.workspace import Workspace
from planopt_assets.errors import CallableUnusable, PlanoptError, SparkFailed, TableUnreadable
from planopt_assets.loop.release.change import Kind, QueryChange, changes
from planopt_assets.loop.release.findings import Finding, Severity, compared, plan_changes
from planopt_assets.loop.release.paired import measured
from planopt_assets.loop.release.side import Side, planned_side
from planopt_assets.model.inputs import query_fingerprint
from planopt_assets.model.redaction import redact
from planopt_assets.observe.bundle import schemas_of
from planopt_assets.validate.judge_rules import Rules

if TYPE_CHECKING:
    from planopt_assets.model.verdict import Gain
    from planopt_assets.model.workload import Query, Workload

Tell = Callable[[str, str], None]  # query, words


@dataclass(frozen=True, slots=True)
class Released:
    """The gate's answer for one query."""

    query_id: str
    change: Kind
    words: str
    findings: tuple[Finding, ...] = ()
    plan_diff: str = ""
    gain: Gain | None = None  # measured

    @property
    def outcome(self) -> Literal["failed", "warned", "passed"]:
        worst: set[Severity] = {f.severity for f in self.findings}
        return "failed" if "error" in worst else "warned" if "warning" in worst else "passed"

    def facts(self) -> dict[str, Any]:
        return {"outcome": self.outcome, **asdict(self)}


class ReleaseGate:
    """Compares two workloads over the same tables, at the same versions, in one Spark application."""

    def __init__(
        self,
        before: Workload,
        after: Workload,
        *,
        run: bool = False,
        rules: Rules | None = None,
        tell: Tell = lambda query, words: None,
    ) -> None:
        self._after = Workspace(after)
        self._before = BaselineWorkspace(before, self._after)
        self._run, self._rules, self._tell = run, rules or Rules(), tell

    def answers(self, query_ids: Sequence[str] = ()) -> list[Released]:
        """One answer per query of either side; none named means all."""
        before, after = self._before.workload, self._after.workload
        found = changes(before, after, self._schemas(), _fingerprint)
        asked = [change for change in found if not query_ids or change.query_id in query_ids]
        return [_without_secrets(self._answer(change)) for change in asked]

    def _schemas(self) -> dict[str, list[tuple[str, str]]]:
        """Of all tables that can be read without Spark; the others are looked at when a query is planned."""
        facts = []
        for table in self._after.workload.tables:
            if table.path is not None:
                with suppress(TableUnreadable):
                    facts.append(self._after.pins.facts(table.name, table.path))
        return schemas_of(facts)

    def _answer(self, change: QueryChange) -> Released:
        if change.kind == "removed":
            return Released(change.query_id, change.kind, change.words, (Finding("note", "plan", change.words),))
        if change.kind in ("same", "spelling"):
            return Released(change.query_id, change.kind, change.words)
        assert change.after is not None
        self._tell(change.query_id, "planning it")
        try:
            sides = [planned_side(self._after, change.after, b) for b in range(len(change.after.bindings))]
        except SparkFailed:
            raise
        except PlanoptError as error:
            refused = Finding("error", "refused", f"it cannot be planned: {error}")
            return Released(change.query_id, change.kind, change.words, (refused,))
        if change.before is None:
            return Released(change.query_id, change.kind, change.words)
        return self._compared(change, change.before, change.after, sides)

    def _compared(self, change: QueryChange, before: Query, after: Query, sides: Sequence[Side]) -> Released:
        findings = [
            Finding("warning", "settings", f"{name} belongs to the application: both sides have the branch's value")
            for name in self._before.fixed
        ]
        gain, diff = None, ""
        for binding, side in enumerate(sides[: len(before.bindings)]):
            try:
                old = planned_side(self._before, before, binding)
            except SparkFailed:
                raise
            except PlanoptError as error:
                words = f"nothing is compared, the baseline cannot be planned: {error}"
                findings.append(Finding("warning", "plan", words))
                continue
            found, diff = compared(old, side), diff or plan_changes(old, side)
            if self._run:
                self._tell(change.query_id, "running old and new in turns")
                said, gain = measured((self._before, before), (self._after, after), binding, self._rules)
                found = [*said, *(map(_outranked, found) if said[-1].severity == "note" else found)]
            findings += [f for f in found if f not in findings]
        return Released(change.query_id, change.kind, change.words, tuple(findings), diff, gain)


def _without_secrets(answer: Released) -> Released:
    """Edits and plans hold literals, and the answer goes into pull requests."""
    findings = tuple(replace(f, words=redact(f.words)) for f in answer.findings)
    return replace(answer, words=redact(answer.words), findings=findings, plan_diff=redact(answer.plan_diff))


def _outranked(finding: Finding) -> Finding:
    """A clear measurement knows better than the model what a plan costs. Columns and bytes read are no model."""
    if finding.kind == "cost" and finding.severity == "error":
        return Finding("warning", finding.kind, f"{finding.words}, but measured it is not slower")
    return finding


def _fingerprint(workload: Workload, query: Query) -> str:
    """A query whose module is not there is like no other: planning it will say what is wrong."""
    try:
        return query_fingerprint(query, query_source(workload, query))
    except CallableUnusable:
        return f"{workload.file}:{query.id}"
