"""Decisions, exploration and model fits from the same stored rows are the same bytes in another process."""

from __future__ import annotations

import pytest

from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

CODE = """
import json
from dataclasses import replace
from planopt_assets.decide.decide import Asked, decide
from planopt_assets.decide.explore.choice import Experience
from planopt_assets.decide.explore.explore import Known, explore
from planopt_assets.decide.explore.options import options_for
from planopt_assets.decide.explore.plan_features import PlanFeatures
from planopt_assets.decide.history import NO_HISTORY
from planopt_assets.decide.price_fit import fitted
from planopt_assets.model.workload import Knobs
from planopt_assets.store.codecs.deciding import DECISIONS
from planopt_tests.decide.cases import WORKED
from planopt_tests.decide.test_price_fit import ran

prices = fitted(ran())
evidence = replace(WORKED, prices=prices)
plan = PlanFeatures(1, 0, 0, 2, 1, 2, 999, 0, 0, 0)
told = [Experience(f"r{n}", policy, n / 50, plan) for n, policy in enumerate(options_for(evidence).values())]
chosen = explore(Asked(evidence, Knobs(), NO_HISTORY, 0), Known(plan, told, (), (), 0, 7, 180.0, 11))
print(prices.to_json(), prices.id)
for one in (*decide(evidence, Knobs()), chosen):
    print(one.id, json.dumps(DECISIONS.to_row(one), default=str))
print(chosen.proposes)
"""


def test_the_same_rows_give_the_same_bytes_whatever_the_hashes_of_the_process() -> None:
    one, other = output_of(CODE, hash_seed=1), output_of(CODE, hash_seed=2)
    assert one == other
    assert one.endswith("True\n")
    assert "cst_" in one
