"""The commands on a store in object storage: as on a folder, without Spark; and what they say if it is unreachable."""

from __future__ import annotations

from pathlib import Path

import pytest

from planopt_tests.cli.conftest import Planopt
from planopt_tests.s3_server import KEY, S3, SECRET, Fault

pytestmark = pytest.mark.fast


@pytest.fixture
def store(folder: Path, s3: S3) -> str:
    """The workload file names the bucket, and nothing else of it."""
    root = f"{s3.bucket()}/planopt"
    file = folder / "planopt.yaml"
    file.write_text(file.read_text().replace("store: store\n", f"store: {root}/store\nroots: [{root}]\n"))
    return f"{root}/store"


def test_a_pin_and_its_rollback_are_shown_and_exported(store: str, planopt: Planopt) -> None:
    pinned = planopt("pin", "by_shop", "--set", "spark.sql.shuffle.partitions=8", "--by", "ada")
    assert (pinned.code, pinned.err) == (0, "")
    assert "SET spark.sql.shuffle.partitions=8;" in planopt("export", "by_shop").out
    assert planopt("rollback", "by_shop", "--by", "ada").code == 0
    by_shop, cities = planopt("status", "--json").facts["queries"]
    assert (by_shop["generation"], by_shop["state"]) == (2, "reverted")
    assert (cities["generation"], cities["state"]) == (0, "original")


def test_a_store_out_of_reach_is_one_line_and_exit_code_1(store: str, planopt: Planopt, s3: S3) -> None:
    with s3.faulty(Fault(403, "SignatureDoesNotMatch")):
        said, facts = planopt("status"), planopt("status", "--json").facts["error"]
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"PLN-309 {store}: table plan_artifacts was not read: GET {s3.url}/")
    assert "403 Forbidden, SignatureDoesNotMatch. Fix: check the address, the credentials" in said.err
    assert facts["code"] == "PLN-309"
    assert not [secret for secret in (KEY, SECRET) if secret in said.err + str(facts)]


def test_repair_says_how_to_repair_a_copy(store: str, planopt: Planopt) -> None:
    said = planopt("repair", "--dry-run")
    assert said.code == 1
    assert "copy the whole store to a folder" in said.err
