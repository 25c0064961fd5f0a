"""The classifier against the labelled set, on real scans."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from planopt_assets.model.scan import ScanFacts, ScanOutcome, TableScanInfo
from planopt_assets.observe.pushdown.classify import classify
from planopt_assets.observe.pushdown.thresholds import Thresholds
from planopt_tests.observe.pushdown.lab import Lab, build
from planopt_tests.observe.pushdown.labelled import CASES, FULL, Case

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lab(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return build(spark, tmp_path_factory.mktemp("pushdown"))


def scan_of(lab: Lab, case: Case) -> tuple[ScanFacts, TableScanInfo]:
    (found,) = [scan for scan in lab.scans(case.query, case.settings) if scan[0].table == case.table]
    return found


def causes(outcome: ScanOutcome) -> set[str]:
    return {c.cause for c in outcome.conjuncts if c.cause}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_labelled_predicate_is_classified_as_labelled(lab: Lab, case: Case) -> None:
    facts, offers = scan_of(lab, case)
    outcome = classify(facts, offers, case.settings, Thresholds())
    assert outcome.outcome == case.outcome, outcome
    assert case.cause in causes(outcome) if case.cause else not causes(outcome), outcome
    assert (outcome.finding is not None) == case.finding, outcome
    if outcome.finding is not None:
        assert outcome.finding.cause == case.cause
        assert outcome.finding.fix
    assert facts.native

    # The signals carry the outcome: without what Delta said it used, no scan of files is fully pushed.
    if outcome.outcome == FULL and any(c.used == "files" for c in outcome.conjuncts):
        silent = classify(replace(facts, skipping_filters=()), offers, case.settings, Thresholds())
        assert silent.outcome != FULL
        assert "not_pushed" in causes(silent)
