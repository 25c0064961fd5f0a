"""What re-opens a settled query besides the user's own inputs."""

from __future__ import annotations

import pytest

from planopt_assets.loop import versions as module
from planopt_assets.loop.versions import contract

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(("master", "same"), [("local[*]", False), ("local[2]", True), ("yarn", True)])
def test_the_cores_of_the_machine_matter_where_spark_takes_all_of_them(
    monkeypatch: pytest.MonkeyPatch, master: str, same: bool
) -> None:
    def on(cores: int) -> dict[str, str]:
        contract.cache_clear()
        monkeypatch.setattr(module.os, "cpu_count", lambda: cores)
        return contract(master)

    assert (on(2) == on(64)) is same
    contract.cache_clear()


def test_every_version_an_outcome_depends_on_is_in_the_contract() -> None:
    assert set(contract("yarn")) == {"cores", "spark", "delta", "extractor", "catalogue", "rules", "judge"}
