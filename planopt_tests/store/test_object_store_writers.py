"""A store in object storage that several write at once: nothing is lost, and of two promotions one wins."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from planopt_assets.delta.place import place
from planopt_assets.errors import PromotionConflict
from planopt_assets.store import control_claims
from planopt_assets.store.control_claims import HOUR_S, claim_control
from planopt_assets.store.promotions import chains
from planopt_assets.store.snapshot import Snapshot
from planopt_tests.s3_server import S3, Fault
from planopt_tests.store.test_object_store import COUNTERS, append, executions, promote, start
from planopt_tests.stored_rows import StoredRows

pytestmark = pytest.mark.fast


@pytest.fixture
def root(s3: S3) -> str:
    return f"{s3.bucket()}/store"


WRITES = """
import threading
from concurrent.futures import ThreadPoolExecutor
from planopt_assets.errors import PromotionConflict

together = threading.Barrier(4)

def write(number):
    won = []
    together.wait()
    append(sys.argv[1], number)
    for generation in (1, 2):
        try:
            promote(sys.argv[1], generation, f"r{number}")
            won.append(f"{generation} r{number}")
        except PromotionConflict:
            pass
    return won

print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    for won in pool.map(write, range(int(sys.argv[2]), int(sys.argv[2]) + 4)):
        print(*won, sep="\\n", end="\\n" if won else "")
sys.stdout.flush()
os._exit(0)  # all is stored and told: on a busy machine a native thread may abort Python's own end (SIGABRT, seen once)
"""


def test_two_processes_with_eight_writers_lose_nothing_and_promote_each_generation_once(root: str, s3: S3) -> None:
    """Every commit takes a while to arrive, so that all of them are on their way to the same version."""
    append(root, 8)  # the table is there: creating it is another matter
    s3.requests()
    with s3.faulty(Fault(delay_s=0.05, methods=("PUT",), part="/_delta_log/")):
        both = [start(WRITES, root, first) for first in ("0", "4")]
        told = at_the_same_moment(both)
    assert [process.returncode for process in both] == [0, 0]
    commits = [asked for asked in s3.requests() if asked.startswith("PUT") and "/_delta_log/" in asked]
    assert len(commits) > len(set(commits))  # several wanted to write the same version
    assert sorted(executions(root)) == sorted(f"exe-{n}" for n in range(9))
    assert StoredRows(root, "tests").version(COUNTERS) == 8  # one commit each
    rows = StoredRows(root, "tests").rows("active_policies", ["run_id", "generation"])
    assert [row["generation"] for row in rows] == [1, 2]
    assert sorted(line for said in told for line in said.splitlines()) == [
        f"{row['generation']} {row['run_id']}" for row in rows
    ]


def at_the_same_moment(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What they print after all of them were ready."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in processes]


def test_of_two_processes_that_promote_one_generation_one_wins(root: str) -> None:
    code = """
from planopt_assets.errors import PromotionConflict
print("ready", flush=True)
sys.stdin.readline()
try:
    promote(sys.argv[1], 1, sys.argv[2])
    print("won")
except PromotionConflict:
    print("lost")
"""
    both = [start(code, root, run_id) for run_id in ("r1", "r2")]
    assert sorted(said.strip() for said in at_the_same_moment(both)) == ["lost", "won"]
    assert len(chains(Snapshot(root, "tests")).of("q")) == 1


def test_threads_that_promote_one_generation_at_the_same_moment_agree_on_the_winner(root: str) -> None:
    def tried(run_id: str) -> bool:
        try:
            promote(root, 1, run_id)
        except PromotionConflict:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        won = list(pool.map(tried, [f"r{n}" for n in range(6)]))
    assert won.count(True) == 1
    rows = StoredRows(root, "tests").rows("active_policies", ["run_id", "generation"])
    assert rows == [{"run_id": f"r{won.index(True)}", "generation": 1}]


def test_one_control_run_an_hour_whoever_asks(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 500_000 * HOUR_S + 10.0

    def asked(at: float) -> bool:
        return claim_control(root, "tests", "q", at)

    monkeypatch.setattr(control_claims, "_LAST", _Forgetful())  # each is a process of its own
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(asked, [now] * 4)).count(True) == 1
    assert [asked(now + 1800), asked(now + HOUR_S - 20), asked(now + HOUR_S + 20), asked(now + HOUR_S + 30)] == [
        *(False, False, True, False)
    ]
    assert asked(now + 3 * HOUR_S)
    assert len(place(root).sizes("_controls/tests")) == 1  # the older are deleted


class _Forgetful(dict[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        pass
