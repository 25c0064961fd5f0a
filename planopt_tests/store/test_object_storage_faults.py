"""Object storage that is slow, refuses, or does not answer: typed errors, and nothing is lost or there twice."""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planopt_assets.delta import object_storage
from planopt_assets.errors import StoreTooSlow, StoreUnreachable, StoreWriteFailed
from planopt_assets.job.in_force import read_in_force
from planopt_assets.model.policy import ORIGINAL
from planopt_assets.model.workload import Query, Workload
from planopt_assets.store.compaction import compact_store
from planopt_assets.store.control_claims import claim_control
from planopt_tests.left_behind import left_behind_ends
from planopt_tests.rows import FEWER
from planopt_tests.s3_server import KEY, S3, SECRET, Fault
from planopt_tests.store.test_object_store import append, executions, promote, start

pytestmark = pytest.mark.fast

FAULTS = {
    "an internal error": Fault(500, "InternalError"),
    "too many requests": Fault(503, "SlowDown"),
    "wrong credentials": Fault(403, "InvalidAccessKeyId"),
    "no bucket": Fault(404, "NoSuchBucket"),
    "silence": Fault(delay_s=600),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"connect_timeout": 1, "timeout": 1, "max_retries": 2, "retry_timeout": 2}
    monkeypatch.setattr(object_storage, "LIMITS", limits)


@pytest.fixture(autouse=True)
def nobody_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield
    left_behind_ends()


@pytest.fixture
def root(s3: S3) -> str:
    found = f"{s3.bucket()}/store"
    append(found, 0)
    return found


@contextmanager
def unreachable(s3: S3, monkeypatch: pytest.MonkeyPatch, kind: str) -> Iterator[None]:
    """The server is in trouble, or nobody listens at its address."""
    if kind in FAULTS:
        with s3.faulty(FAULTS[kind]):
            yield
        return
    with socket.socket() as held, monkeypatch.context() as patched:
        held.bind(("127.0.0.1", 0))  # not listening
        patched.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{held.getsockname()[1]}")
        yield


KINDS = (*FAULTS, "nobody listens")


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_read_is_one_error_that_speaks_of_access_and_not_of_damage(
    root: str, s3: S3, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with unreachable(s3, monkeypatch, kind), pytest.raises(StoreUnreachable) as error:
        executions(root)
    assert error.value.code == "PLN-309"
    assert error.value.where == root
    assert "\n" not in str(error.value)
    assert "credentials in the environment" in error.value.fix
    assert "repair" not in str(error.value)
    assert not [secret for secret in (KEY, SECRET) if secret in str(error.value)]
    assert executions(root) == ["exe-0"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("an internal error", "GET http://.*: 500 Internal Server Error, InternalError"),
        ("too many requests", "GET http://.*: 503 Service Unavailable, SlowDown"),
        ("wrong credentials", "403 Forbidden, InvalidAccessKeyId"),
        ("no bucket", "404 Not Found, NoSuchBucket"),
        ("nobody listens", "GET http://.*: HTTP error: error sending request"),
        ("silence", "GET http://.*: HTTP error"),
    ],
)
def test_the_error_says_what_storage_said(
    root: str, s3: S3, monkeypatch: pytest.MonkeyPatch, kind: str, words: str
) -> None:
    with unreachable(s3, monkeypatch, kind), pytest.raises(StoreUnreachable, match=words):
        executions(root)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_written_is_an_error_and_the_same_run_writes_it_later_once(
    root: str, s3: S3, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with unreachable(s3, monkeypatch, kind), pytest.raises((StoreUnreachable, StoreWriteFailed)):
        append(root, 1)
    append(root, 1)
    append(root, 1)
    assert executions(root) == ["exe-0", "exe-1"]


@pytest.mark.parametrize("code", [500, 503])
def test_a_put_that_fails_is_a_write_that_failed(root: str, s3: S3, code: int) -> None:
    with s3.faulty(Fault(code, "Trouble", methods=("PUT",))), pytest.raises(StoreWriteFailed) as error:
        append(root, 1)
    assert "nothing was half-written" in error.value.fix
    assert executions(root) == ["exe-0"]


def test_nothing_is_written_while_another_table_cannot_say_its_last_number(root: str, s3: S3) -> None:
    """The order of rows over tables rests on these numbers."""
    promote(root)
    with (
        s3.faulty(Fault(503, "SlowDown", part="/active_policies/")),
        pytest.raises(StoreUnreachable, match="table active_policies was not read"),
    ):
        append(root, 1)
    assert executions(root) == ["exe-0"]


@pytest.mark.parametrize("part", ["/part-", "_last_checkpoint", "_heads", f"{0:020d}.json"])
def test_a_store_that_is_out_of_reach_in_part_is_not_called_damaged(root: str, s3: S3, part: str) -> None:
    with s3.faulty(Fault(503, "SlowDown", part=part)), pytest.raises(StoreUnreachable):
        executions(root)


def test_storage_that_ignores_conditions_gets_no_store(s3: S3) -> None:
    root = f"{s3.bucket()}/store"
    with s3.faulty(Fault(unconditional=True)), pytest.raises(StoreWriteFailed, match="ignores the condition"):
        append(root, 0)
    assert executions(root) == []
    append(root, 0)
    assert executions(root) == ["exe-0"]


def test_trouble_that_passes_is_not_noticed(root: str, s3: S3) -> None:
    with s3.faulty(Fault(503, "SlowDown", methods=("GET",), left=2)):
        assert executions(root) == ["exe-0"]


@pytest.mark.parametrize("delay_s", [0, 600], ids=["an error", "silence"])
def test_a_commit_whose_answer_is_lost_is_there_once(root: str, s3: S3, delay_s: float) -> None:
    lost = Fault(500, "InternalError", after=True, late_s=delay_s, methods=("PUT",), part="_delta_log/", left=1)
    with s3.faulty(lost):
        append(root, 1)
    assert executions(root) == ["exe-0", "exe-1"]


def test_a_promotion_whose_answer_is_lost_is_ours(root: str, s3: S3) -> None:
    with s3.faulty(Fault(500, "InternalError", after=True, methods=("PUT",), part="_delta_log/", left=1)):
        promote(root)
    assert read_in_force(workload(root), "q", timeout_s=60).policy == FEWER


def test_a_head_that_cannot_be_written_stops_nothing(root: str, s3: S3, caplog: pytest.LogCaptureFixture) -> None:
    with s3.faulty(Fault(500, "InternalError", methods=("PUT", "POST"), part="_heads/")):
        promote(root)
    assert {record.levelno for record in caplog.records if "head" in record.message} == {logging.WARNING}
    assert read_in_force(workload(root), "q", timeout_s=60).policy == FEWER


def test_a_store_that_cannot_be_reached_is_not_compacted_and_has_no_controls(root: str, s3: S3) -> None:
    with s3.faulty(FAULTS["wrong credentials"]):
        assert compact_store(root, most=0) == []
        assert not claim_control(root, "tests", "q", 1e9)
    assert executions(root) == ["exe-0"]


# Killed in the middle


def test_a_writer_that_is_killed_before_its_commit_arrives_leaves_nothing(root: str, s3: S3) -> None:
    s3.requests()
    with s3.faulty(Fault(500, "InternalError", delay_s=600, methods=("PUT",), part="_delta_log/", left=1)):
        writer = start("append(sys.argv[1], 1)", root)
        while not [seen for seen in s3.requests() if seen.startswith("PUT") and "_delta_log/" in seen]:
            assert writer.poll() is None
            time.sleep(0.05)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    assert executions(root) == ["exe-0"]
    append(root, 1)
    assert executions(root) == ["exe-0", "exe-1"]


# In a user's job


def workload(root: str) -> Workload:
    return Workload("tests", Path("planopt.yaml"), root, (), (Query("q", sql="SELECT 1"),))


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_job_runs_as_original_and_says_why(
    root: str, s3: S3, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    promote(root)
    with unreachable(s3, monkeypatch, kind):
        found = read_in_force(workload(root), "q", timeout_s=60)
    assert (found.policy, found.observable) == (ORIGINAL, False)
    assert found.reason.startswith("PLN-309")
    assert read_in_force(workload(root), "q", timeout_s=60).policy == FEWER


PATIENT = {"connect_timeout": 1, "timeout": 300, "max_retries": 1, "retry_timeout": 300}
"""Longer than any test: whoever waits for the end of a request is found out."""


@pytest.mark.parametrize(
    "part",
    ["", "/_delta_log/", "_last_checkpoint", f"{0:020d}.json", "/part-", "/_heads/"],
    ids=["all", "log", "checkpoint", "commit", "data", "heads"],
)
def test_a_users_job_does_not_wait_for_storage_that_hangs(
    root: str, s3: S3, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Also where delta-rs asks: while it waits, it must not keep other threads of Python from running."""
    promote(root)
    assert read_in_force(workload(root), "q", timeout_s=60).policy == FEWER
    monkeypatch.setattr(object_storage, "LIMITS", PATIENT)
    silent: list[str] = []
    for timeout_s in (1.0, 5.0, 25.0):  # on a busy machine it takes a while until that part is asked for
        s3.requests()
        began = time.monotonic()
        with s3.faulty(Fault(delay_s=600, part=part)):
            found = read_in_force(workload(root), "q", timeout_s=timeout_s)
            took_s = time.monotonic() - began
            silent = [request for request in s3.requests() if part in request]
        left_behind_ends()
        assert took_s < PATIENT["timeout"] / 2
        assert found.policy == ORIGINAL
        assert isinstance(found.failure, StoreTooSlow)
        assert not found.observable
        if silent:
            break
    assert silent
    if not part:
        assert len(silent) == 1  # it was not asked a second time: nobody waited for the end of the first


def test_storage_that_is_slow_but_answers_is_read(root: str, s3: S3) -> None:
    promote(root)
    with s3.faulty(Fault(delay_s=0.05)):
        assert read_in_force(workload(root), "q", timeout_s=60).policy == FEWER


def test_a_forked_process_is_told_so_and_does_not_wait(root: str) -> None:
    """The threads that talk to storage stay behind in the parent."""
    code = """
import os
from planopt_tests.store.test_object_storage_faults import read_in_force, workload
read_in_force(workload(sys.argv[1]), "q", timeout_s=60)
if os.fork() == 0:
    print(read_in_force(workload(sys.argv[1]), "q", timeout_s=60).reason[:7], flush=True)
    os._exit(0)
os.wait()
"""
    forking = start(code, root)
    assert forking.communicate()[0].strip() == "PLN-308"
