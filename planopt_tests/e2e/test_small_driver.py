"""A candidate may not hurt the driver: a broadcast that does not fit is rejected, the next one meets a new session."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from planopt_tests.e2e.one_rule import random_bytes, write_table
from planopt_tests.promote.lenient_planopt import lenient_planopt

pytestmark = pytest.mark.e2e

# 360 MB beside what Spark needs of 512. With 200 MB, Spark sometimes refuses the memory before Java has none left.
ROWS, PAYLOAD, FILES = 36_000, 10_000, 16


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder, draw = tmp_path_factory.mktemp("small_driver"), np.random.default_rng(3)
    columns = {
        "id": pa.array(np.arange(ROWS)),
        "kind": pa.array(np.arange(ROWS) % 11),
        "payload": random_bytes(draw, ROWS, PAYLOAD),
    }
    write_table(folder, "wide", columns, files=FILES)
    done = lenient_planopt(str(folder), cwd=folder, module="planopt_tests.e2e.small_driver")
    assert done.stdout, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_a_broadcast_that_does_not_fit_is_a_rejected_candidate(told: dict[str, Any]) -> None:
    broadcasts = [v for v in told["verdicts"] if v[1]["hints"]]
    assert broadcasts
    assert {outcome for _, _, outcome, _ in broadcasts} == {"reject"}
    assert all("the candidate failed: PLN-2" in reason for *_, reason in broadcasts)
    assert any("memory" in reason.lower() for *_, reason in broadcasts)


def test_the_session_that_it_crippled_is_replaced(told: dict[str, Any]) -> None:
    assert told["lost"] >= 1


def test_the_next_candidate_of_the_query_is_measured_on_the_new_one_and_accepted(told: dict[str, Any]) -> None:
    (fewer,) = [v for v in told["verdicts"] if v[0] == "joined" and not v[1]["hints"]]
    assert fewer[2] == "accept", fewer[3]
    failed = [place for place, t in enumerate(told["trials"]) if t[0] == "joined" and t[2] == "failed"]
    later = [t for t in told["trials"][max(failed) + 1 :] if t[0] == "joined"]
    assert later
    assert {status for _, _, status, *_ in later} == {"ok"}
    assert later[0][3] is True  # every open arm is warmed up again


def test_the_other_queries_are_tried_as_if_nothing_had_happened(told: dict[str, Any]) -> None:
    assert [outcome for query, _, outcome, _ in told["verdicts"] if query == "after"] == ["accept"]
