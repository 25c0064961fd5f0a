"""The baseline of the release gate: a commit, or a store."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from planopt_assets.errors import BaselineUnreadable
from planopt_assets.loop.release.baseline import baseline_of
from planopt_assets.workload import load_workload

pytestmark = pytest.mark.fast

FILE = """version: 1
name: shop
tables:
  sales: data/sales
queries:
  - id: q
    sql_file: q.sql
"""


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose workload lies in a folder of it; the branch has another text than the last commit."""
    git(tmp_path, "init", "-q")
    folder = tmp_path / "jobs"
    folder.mkdir()
    (folder / "planopt.yaml").write_text(FILE)
    (folder / "q.sql").write_text("SELECT 1 FROM sales")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (folder / "q.sql").write_text("SELECT 2 FROM sales")
    return folder


def test_a_commit_has_the_old_text_and_the_tables_and_store_of_the_branch(project: Path) -> None:
    after = load_workload(project / "planopt.yaml")
    with baseline_of(after, "HEAD") as before:
        assert [q.sql for q in before.queries] == ["SELECT 1 FROM sales"]
        assert before.tables == after.tables
        assert before.store == after.store
        folder = before.file.parent
    assert not folder.exists()


def test_a_commit_without_the_workload_file_has_no_queries(project: Path) -> None:
    (project / "later.yaml").write_text(FILE)
    with baseline_of(load_workload(project / "later.yaml"), "HEAD") as before:
        assert before.queries == ()


@pytest.mark.parametrize("ref", ["no-such-branch", "--output=/etc/passwd"])
def test_an_unknown_commit_is_one_error_that_says_what_to_give(project: Path, ref: str) -> None:
    with (
        pytest.raises(BaselineUnreadable, match="give a commit, branch or tag"),
        baseline_of(load_workload(project / "planopt.yaml"), ref),
    ):
        pass


def test_a_commit_with_a_mistake_in_the_file_says_so(project: Path) -> None:
    (project / "planopt.yaml").write_text(FILE.replace("version: 1", "version: 9"))
    git(project, "commit", "-q", "-am", "broken")
    (project / "planopt.yaml").write_text(FILE)
    with (
        pytest.raises(BaselineUnreadable, match="has a mistake"),
        baseline_of(load_workload(project / "planopt.yaml"), "HEAD"),
    ):
        pass


def test_an_empty_store_is_no_baseline(project: Path) -> None:
    (project / "elsewhere" / "plan_artifacts").mkdir(parents=True)
    with (
        pytest.raises(BaselineUnreadable, match="no observation"),
        baseline_of(load_workload(project / "planopt.yaml"), str(project / "elsewhere")),
    ):
        pass
