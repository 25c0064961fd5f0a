"""`planopt alerts test` tells for each destination whether it took the message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from planopt_assets.cli import app
from planopt_tests.alert.servers import Hook
from planopt_tests.conftest import make_tables, write_workload_file

pytestmark = pytest.mark.fast

QUERY = "  - {id: q, sql: SELECT 1}"


def test_every_destination_is_tried_and_one_that_fails_is_exit_code_1(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1, rows=1)
    with Hook(statuses=[200, 404]).serving() as hook:
        alerts = f"alerts:\n  - {{kind: webhook, url: '{hook.url}'}}\n  - {{kind: slack, url: '{hook.url}'}}\n"
        file = write_workload_file(tmp_path, QUERY, extra=alerts)
        result = CliRunner().invoke(app, ["alerts", "test", "-w", str(file), "--json"])
    assert result.exit_code == 1
    assert [(d["destination"], d["sent"]) for d in json.loads(result.stdout)["destinations"]] == [
        ("webhook", True),
        ("slack", False),
    ]
    assert hook.bodies[0]["title"] == "Test of alerts of workload tests"
    assert hook.url not in result.output


def test_all_sent_is_exit_code_0(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1, rows=1)
    file = write_workload_file(tmp_path, QUERY, extra="alerts: [{kind: file, path: a.jsonl}]\n")
    result = CliRunner().invoke(app, ["alerts", "test", "-w", str(file)])
    assert (result.exit_code, result.stdout) == (0, "file (file): sent\n")


def test_a_file_without_destinations_says_what_to_add(tmp_path: Path) -> None:
    make_tables(tmp_path, files=1, rows=1)
    result = CliRunner().invoke(app, ["alerts", "test", "-w", str(write_workload_file(tmp_path, QUERY))])
    assert result.exit_code == 1
    assert "has no `alerts:`" in result.stderr
