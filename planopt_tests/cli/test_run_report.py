"""A run without anything to do leaves the report as it is, if that shows what is stored."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.store_scale.generate import generate
from planopt_assets import cli

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workload whose store holds everything a run would make."""
    return generate(tmp_path_factory.mktemp("settled"), 4, 2)


@pytest.fixture
def report(settled: Path) -> Path:
    """Where its report goes; there is none yet."""
    path = settled.parent / ".planopt" / "report.html"
    path.unlink(missing_ok=True)
    return path


@pytest.fixture
def run(settled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    def run(*words: str) -> None:
        monkeypatch.setattr(sys, "argv", ["planopt", *(words or ("run",)), "-w", str(settled)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert (ended.value.code, capsys.readouterr().err) == (0, "")

    return run


def test_a_missing_report_is_written_with_every_query(report: Path, run: Callable[..., None]) -> None:
    run()
    text = report.read_text(encoding="utf-8")
    assert [f'id="q000{number}"' in text for number in range(4)] == [True] * 4


@pytest.mark.parametrize("first", ["run", "report"])
def test_a_report_that_shows_the_same_is_left_alone(report: Path, run: Callable[..., None], first: str) -> None:
    run(first)
    written = report.stat().st_mtime_ns
    run()
    assert report.stat().st_mtime_ns == written


def test_a_report_that_was_cut_off_is_written_again(report: Path, run: Callable[..., None]) -> None:
    run()
    whole = report.read_bytes()
    report.write_bytes(whole[: len(whole) // 2])
    run()
    assert report.read_bytes() == whole


def test_what_was_stored_since_then_is_shown(report: Path, run: Callable[..., None]) -> None:
    run()
    assert "pinned for the audit" not in report.read_text(encoding="utf-8")
    run("pin", "q0001", "--policy", "original", "--reason", "pinned for the audit")
    run()
    assert "pinned for the audit" in report.read_text(encoding="utf-8")


def test_the_report_command_writes_whatever_is_there(report: Path, run: Callable[..., None]) -> None:
    run()
    written = report.stat().st_mtime_ns
    run("report")
    assert report.stat().st_mtime_ns > written
