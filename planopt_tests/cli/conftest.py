"""A workload with a store, and `planopt` on it in this process with its real exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from planopt_assets import cli
from planopt_tests.conftest import make_tables, write_workload_file

QUERIES = """\
  - {id: by_shop, sql: "SELECT shop, count(*) AS n FROM sales GROUP BY shop"}
  - {id: cities, sql: "SELECT city FROM shops"}"""


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def facts(self) -> Any:
        return json.loads(self.out)


Planopt = Callable[..., Said]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workload of two queries, and an empty store."""
    write_workload_file(make_tables(tmp_path, files=1), QUERIES)
    return tmp_path


@pytest.fixture
def planopt(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Planopt:
    """`planopt` on the workload of `folder`: exit code, standard output, standard error."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "300")  # no table is folded

    def run(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["planopt", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return Said(int(str(ended.value.code)), said.out, said.err)

    return run
