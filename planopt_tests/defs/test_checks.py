"""How a gate's answer reaches Dagster."""

from __future__ import annotations

from typing import Any, cast

import dagster as dg
import pytest

from planopt_assets.defs.checks import log_evaluations
from planopt_assets.model.gate import Gate

pytestmark = pytest.mark.fast


class Events:
    """Takes what a step logs."""

    def __init__(self) -> None:
        self.logged: list[dg.AssetCheckEvaluation] = []

    def log_event(self, event: Any) -> None:
        self.logged.append(event)


@pytest.mark.parametrize(
    ("gate", "passed", "severity"),
    [
        (Gate(True, False, "fine"), True, dg.AssetCheckSeverity.WARN),
        (Gate(False, False, "look"), False, dg.AssetCheckSeverity.WARN),
        (Gate(False, True, "worse"), False, dg.AssetCheckSeverity.ERROR),
        (Gate.without_evidence("the query never ran"), False, dg.AssetCheckSeverity.WARN),
    ],
)
def test_a_gate_without_evidence_is_a_warning_that_is_not_passed(
    gate: Gate, passed: bool, severity: dg.AssetCheckSeverity
) -> None:
    context = Events()
    log_evaluations(cast(dg.OpExecutionContext, context), "native_scan", {"q": gate})
    (logged,) = context.logged
    assert (logged.passed, logged.severity, logged.description) == (passed, severity, gate.words)
    assert logged.metadata["observed"].value is gate.observed
