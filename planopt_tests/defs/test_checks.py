"""How a gate's answer reaches Dagster."""

from __future__ import annotations

import re
from typing import Any, cast

import dagster as dg
import pytest

from planopt_assets.defs.checks import log_evaluations
from planopt_assets.defs.names import Names
from planopt_assets.loop.gates import CHECKS
from planopt_assets.model.gate import Compared, Gate

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
    log_evaluations(cast(dg.OpExecutionContext, context), Names(), "scan_outcomes", "native_scan", {"q": gate})
    (logged,) = context.logged
    assert (logged.passed, logged.severity, logged.description) == (passed, severity, gate.words)
    assert logged.metadata["observed"].value is gate.observed


def test_the_metadata_of_a_check_are_words_both_values_the_threshold_and_a_link_to_the_run() -> None:
    context = Events()
    gate = Gate(False, False, "slower", compared=Compared("1 s", "2 s", "at most 1.05"), run_id="a-run")
    log_evaluations(cast(dg.OpExecutionContext, context), Names(), "verdicts", "gain_proven", {"q": gate})
    (logged,) = context.logged
    said = {name: value.value for name, value in logged.metadata.items()}
    assert said == {
        "words": "slower",
        "observed": True,
        "expected": "1 s",
        "found": "2 s",
        "threshold": "at most 1.05",
        "run": "a-run",
    }
    assert isinstance(logged.metadata["run"], dg.DagsterRunMetadataValue)


@pytest.mark.parametrize("name", CHECKS)
def test_the_description_of_a_check_is_a_sentence_without_ids_and_words_of_planopts_own(name: str) -> None:
    said = CHECKS[name].description
    assert said.endswith(".")
    assert not re.search(r"[a-z]{3}_|candidate|bundle|topology|verdict|policy|arm\b", said)
