"""`docs/pushdown.md` is the specification: it lists exactly what is labelled, and every word the code uses."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from planopt_assets.model.scan import Outcome
from planopt_assets.observe.pushdown import causes, classify
from planopt_assets.observe.pushdown.thresholds import DEFAULT, DEFAULTS
from planopt_tests.fresh_python import ROOT
from planopt_tests.observe.pushdown.labelled import CASES
from planopt_tests.observe.pushdown.published import DOCUMENT, published

pytestmark = pytest.mark.fast

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_document_lists_the_labelled_predicates_as_they_are() -> None:
    assert published(TEXT) == TEXT, "run `python -m planopt_tests.observe.pushdown.published`"
    assert len(CASES) >= 40


def test_every_outcome_and_every_cause_in_the_code_is_explained() -> None:
    folder = ROOT / "planopt_assets" / "observe" / "pushdown"
    source = "".join((folder / f"{module.__name__.rsplit('.', 1)[1]}.py").read_text() for module in (causes, classify))
    named = set(re.findall(r'Cause\(\s*"(\w+)"', source)) | set(
        re.findall(r'^        "(\w+)": \($', source, re.MULTILINE)
    )
    assert {"cast", "function", "negation", "skipping_off", "in_list_range"} <= named
    explained = set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))
    assert named | set(get_args(Outcome)) <= explained


def test_every_outcome_and_nearly_every_cause_is_labelled() -> None:
    assert {case.outcome for case in CASES} == set(get_args(Outcome))
    labelled = {case.cause for case in CASES} - {""}
    assert len(labelled) >= 20
    assert labelled <= set(re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE))


def test_the_default_thresholds_are_documented() -> None:
    assert f"{DEFAULT:.0%}".replace("%", " %") in TEXT
    assert all(f"`{family}`" in TEXT for family in DEFAULTS)
