"""A new session knows Delta's settings only once something asked for them. `tuned` may be the first who does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from planopt_assets.loop.run import read_standings
from planopt_tests.one_pass import OnePass

pytestmark = pytest.mark.spark


def test_a_policy_is_applied_by_a_job_that_has_used_delta_for_nothing_before(one_pass: OnePass, tmp_path: Path) -> None:
    workload = one_pass.copied(tmp_path, after="promote")
    active = read_standings(workload)["by_shop"].active
    assert active is not None
    command = [sys.executable, "-m", "planopt_tests.job.first_thing", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["policy_id"], told["generation"], told["rows"]) == (active.policy.id, 1, 17)
