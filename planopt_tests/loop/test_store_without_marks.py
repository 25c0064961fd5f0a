"""A store that is no folder holds no marks of the versions that runs need: what would ask for them is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.delta.clones import Clones
from planopt_assets.errors import LayoutNotTried, VacuumRefused
from planopt_assets.loop.maintaining import vacuum

pytestmark = pytest.mark.fast

STORES = ["s3://lake/store", "abfss://box@account.dfs.core.windows.net/store", "hdfs://name/store"]


@pytest.mark.parametrize("store", STORES)
def test_vacuum_is_refused(store: str) -> None:
    run: Any = SimpleNamespace(workload=SimpleNamespace(store=store))
    with pytest.raises(VacuumRefused, match="no folder"):
        vacuum._check_needs(run, "sales", "/data/sales", 3)


def test_in_a_folder_that_nobody_marked_it_is_not(tmp_path: Any) -> None:
    run: Any = SimpleNamespace(workload=SimpleNamespace(store=str(tmp_path)))
    vacuum._check_needs(run, "sales", "/data/sales", 3)


@pytest.mark.parametrize("store", STORES)
def test_nothing_is_held_or_swept(store: str) -> None:
    assert Clones(store).sweep() == []
    assert Clones(store).marks() == []
    with pytest.raises(LayoutNotTried, match="no folder"), Clones(store).holding([], "run-1"):
        pass
