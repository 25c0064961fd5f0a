"""A policy is applied to the parameter values that were tried: as stored, so a secret one is known by its binding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.job.fit import _untried
from planopt_assets.job.in_force import InForce
from planopt_assets.model import redaction
from planopt_assets.model.conditions import Circumstances, Conditions
from planopt_assets.model.workload import Query, Workload

pytestmark = pytest.mark.fast

SECRET = {"api_key": "k-93fa-77001", "day": 3}
UNTRIED = "it was never tried with these parameter values: declare them, or set `any_values` for the query"


def in_force(binding: dict[str, Any], stored: str) -> InForce:
    query = Query("q", sql="SELECT 1", bindings=(tuple(sorted(binding.items())),))
    workload = Workload("tests", Path("planopt.yaml"), "store", (), (query,))
    return InForce("q", workload, query, proven=(Conditions(Circumstances(parameters=(stored,))),))


def test_values_count_as_they_are_stored() -> None:
    found = in_force({"day": 3}, '{"day": 3}')
    assert _untried(found, {"day": 3}) == ""
    assert _untried(found, {"day": 4}) == UNTRIED
    assert _untried(found, None) == "its parameter values are not known: give them as `args`"


def test_a_secret_value_that_is_declared_was_tried_though_the_store_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    redaction.learn([SECRET["api_key"]])
    stored = redaction.redact(json.dumps(SECRET, sort_keys=True))
    assert stored == '{"api_key": "***", "day": 3}'
    found = in_force(SECRET, stored)
    assert _untried(found, SECRET) == ""
    assert _untried(found, {**SECRET, "day": 4}) == UNTRIED
    for other in ("another-key-1", "***"):  # what is not declared was never tried, however it is shown
        assert _untried(found, {**SECRET, "api_key": other}) == UNTRIED
