"""A query that this JVM has run is warm: on a new version of its tables it is executed once, and planned once more."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from deltalake import DeltaTable

from planopt_assets.engine.workspace import Workspace
from planopt_assets.loop.run import Run
from planopt_assets.loop.stages.observe import observe
from planopt_assets.model.workload import Query
from planopt_assets.store.codecs.observing import ARTIFACTS
from planopt_tests.conftest import workload_of

pytestmark = pytest.mark.spark

QUERY = Query("warm", sql="SELECT shop, max(id) AS warmest FROM sales GROUP BY shop")


def test_only_the_first_observation_in_a_jvm_runs_a_query_twice(
    tables: Path, spark: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[int] = []
    execute = Workspace.execute
    monkeypatch.setattr(Workspace, "execute", lambda *a, **k: executed.append(1) or execute(*a, **k))
    workload = workload_of(tables, [QUERY])
    runs, artifacts = [], []
    for _ in range(2):
        run = Run(Workspace(workload), str(uuid.uuid4()))
        observe(run, [QUERY.id])
        runs.append(len(executed))
        artifacts.append(run.store.newest().read(ARTIFACTS)[-1])
        DeltaTable(tables / "data" / "sales").optimize.compact()
    assert runs == [2, 3]
    assert [a.unstable_parts for a in artifacts] == [(), ()]
    assert artifacts[0].tables != artifacts[1].tables
