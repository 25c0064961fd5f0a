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


def test_paths_that_leave_the_folder_mean_the_same_as_in_the_branch(project: Path) -> None:
    """A baseline whose tables cannot be found is never planned, and a gate that compares nothing never fails."""
    (project.parent / "sql").mkdir()
    (project.parent / "sql" / "q.sql").write_text("SELECT 1 FROM sales")
    outside = "roots: [../sql, ../../lake, /lake]\n"
    moved = FILE.replace("data/sales", "../../lake/sales\n  shops: /lake/shops").replace("q.sql", "../sql/q.sql")
    (project / "planopt.yaml").write_text(moved + outside)
    git(project.parent, "add", ".")
    git(project.parent, "commit", "-q", "-m", "second")
    (project.parent / "sql" / "q.sql").write_text("SELECT 2 FROM sales")
    after = load_workload(project / "planopt.yaml")
    with baseline_of(after, "HEAD") as before:
        assert [q.sql for q in before.queries] == ["SELECT 1 FROM sales"]
        assert before.tables == after.tables
        assert before.tables[0].path == str(project.parent.parent / "lake" / "sales")


def test_what_git_leaves_out_of_archives_is_compared_too(project: Path) -> None:
    (project / ".gitattributes").write_text("* export-ignore\n")
    git(project.parent, "add", ".")
    git(project.parent, "commit", "-q", "-m", "second")
    with baseline_of(load_workload(project / "planopt.yaml"), "HEAD~1") as before:
        assert [q.sql for q in before.queries] == ["SELECT 1 FROM sales"]
    with baseline_of(load_workload(project / "planopt.yaml"), "HEAD") as before:
        assert [q.sql for q in before.queries] == ["SELECT 2 FROM sales"]


def test_a_folder_that_the_commit_does_not_have_is_all_new(project: Path) -> None:
    (project / "new").mkdir()
    (project / "new" / "planopt.yaml").write_text(FILE)
    (project / "new" / "q.sql").write_text("SELECT 1 FROM sales")
    with baseline_of(load_workload(project / "new" / "planopt.yaml"), "HEAD") as before:
        assert before.queries == ()


def test_a_file_of_the_branch_is_no_baseline_of_itself(project: Path) -> None:
    (project / "planopt.yaml").write_text(FILE.replace("q.sql", str(project / "q.sql")) + f"roots: [{project}]\n")
    git(project, "commit", "-q", "-am", "absolute")
    with (
        pytest.raises(BaselineUnreadable, match="absolute path"),
        baseline_of(load_workload(project / "planopt.yaml"), "HEAD"),
    ):
        pass


def test_the_repository_is_left_as_it_was(project: Path) -> None:
    def status() -> bytes:
        return subprocess.run(
            ["git", "-C", str(project), "status", "--porcelain"], check=True, capture_output=True
        ).stdout

    before = status()
    with baseline_of(load_workload(project / "planopt.yaml"), "HEAD"):
        pass
    assert status() == before == b" M jobs/q.sql\n"
