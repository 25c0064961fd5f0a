"""What the file points at: where paths may lead, and what an SQL file must be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from planopt_assets.errors import FileUnreadable, PlanoptError, WorkloadError
from planopt_assets.workload import load_workload
from planopt_assets.workload.files import MAX_BYTES, MAX_SQL_BYTES
from planopt_tests.workload.conftest import RIGHT

pytestmark = pytest.mark.fast

MistakesIn = Callable[[str | bytes], tuple[WorkloadError, ...]]


def with_path(path: str, more: str = "") -> str:
    return RIGHT.replace("data/orders", path) + more


def with_sql_file(path: str, more: str = "") -> str:
    return RIGHT.replace("sql: SELECT 1", f"sql_file: {path}") + more


@pytest.mark.parametrize(
    ("path", "phrase"),
    [
        ("../orders", "to `roots`"),
        ("data/../../orders", "to `roots`"),
        ("/etc", "to `roots`"),
        ("out/orders", "to `roots`"),  # a link to another folder
        ("dangling", "to `roots`"),  # a link to nothing, elsewhere
        ("~/orders", "write the folder out"),
        ("file:///etc", "write the plain path"),
        ("FILE:/etc", "write the plain path"),
        ("s3://lake/orders", "add `s3://lake/orders`, or a parent of it, to `roots`"),
        ('"a\\tb"', "remove that character"),
    ],
)
@pytest.mark.parametrize("field", ["table", "store", "sql_file"])
def test_a_path_may_not_leave_the_folder(
    folder: Path, mistakes_in: MistakesIn, field: str, path: str, phrase: str
) -> None:
    (folder / "out").symlink_to(folder.parent)
    (folder / "dangling").symlink_to(folder.parent / "nothing")
    text = {"table": with_path(path), "store": f"{RIGHT}store: {path}\n", "sql_file": with_sql_file(path)}[field]
    (error,) = mistakes_in(text)
    place = {"table": (4, 11), "store": (8, 8), "sql_file": (7, 15)}[field]
    assert (error.code, error.line, error.column) == ("PLN-012", *place)
    assert phrase in error.fix


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("s3://lake/sales", "s3://lake/sales_eu"),
        ("s3://lake/sales", "s3://lake/sales/../hr"),
        ("s3://lake/sales", "s3://lake/sales/%2e%2E/hr"),
        ("s3://lake", "s3a://lake/sales"),
        ("s3://lake", "s3://lake2"),
        ("../shared", "../shared_tables"),
        ("../shared", "../shared/../other"),
    ],
)
def test_a_root_covers_what_lies_under_it_and_nothing_else(mistakes_in: MistakesIn, root: str, path: str) -> None:
    (error,) = mistakes_in(with_path(path, f"roots: ['{root}']\n"))
    assert error.code == "PLN-012"


@pytest.mark.parametrize(
    ("root", "path", "place"),
    [
        ("s3://lake", "s3://lake/a/b", "s3://lake/a/b"),
        ("S3://lake/a/", "s3://lake/a", "s3://lake/a"),
        ("abfss://box@account.example/x", "abfss://box@account.example/x/y", "abfss://box@account.example/x/y"),
        ("dbfs:/mnt", "dbfs:/mnt/t", "dbfs:/mnt/t"),
        ("../shared", "../shared/t", "{above}/shared/t"),
        ("/", "/data/t", "/data/t"),
        ("../linked", "../linked/t", "{above}/real/t"),
    ],
)
def test_declared_roots_open_other_places(folder: Path, root: str, path: str, place: str) -> None:
    (folder.parent / "real").mkdir()
    (folder.parent / "linked").symlink_to(folder.parent / "real")
    (folder / "planopt.yaml").write_text(with_path(path, f"roots: ['{root}']\n"))
    assert load_workload("planopt.yaml").tables[0].path == place.format(above=folder.parent)


def test_a_root_that_is_no_place_is_a_mistake_of_its_own(mistakes_in: MistakesIn) -> None:
    (error,) = mistakes_in(RIGHT + "roots: [~/tables]\n")
    assert (error.code, error.line, error.column) == ("PLN-012", 8, 9)


def test_paths_start_from_the_folder_that_holds_a_linked_file(folder: Path) -> None:
    versioned = folder.parent / "v1"
    versioned.mkdir()
    (versioned / "planopt.yaml").write_text(RIGHT)
    (folder / "planopt.yaml").symlink_to(versioned / "planopt.yaml")
    loaded = load_workload("planopt.yaml")
    assert loaded.file == folder / "planopt.yaml"
    assert loaded.tables[0].path == str(folder / "data/orders")


def test_the_default_store_may_not_be_a_link_that_leaves_either(folder: Path, mistakes_in: MistakesIn) -> None:
    (folder / ".planopt").symlink_to(folder.parent)
    (error,) = mistakes_in(RIGHT)
    assert (error.code, error.line) == ("PLN-012", 1)


@pytest.mark.parametrize("store", ["data/orders", "data/orders/store", "data", "."])
def test_store_and_tables_lie_apart(mistakes_in: MistakesIn, store: str) -> None:
    (error,) = mistakes_in(f"{RIGHT}store: {store}\n")
    assert (error.code, error.line, error.column) == ("PLN-020", 8, 8)


def test_a_store_beside_a_table_of_like_name_is_apart(folder: Path) -> None:
    (folder / "planopt.yaml").write_text(RIGHT + "store: data/orders_store\n")
    assert load_workload("planopt.yaml").store == str(folder / "data/orders_store")


@pytest.mark.parametrize(
    ("content", "phrase"),
    [
        (b"SELECT '\xff'", "save it as UTF-8"),
        (b"SELECT 1;\n\0", "remove that character"),
        (b" \n", "write the query into it"),
        (b"-" * (MAX_SQL_BYTES + 1), "smaller files"),
    ],
)
def test_an_sql_file_is_small_text(folder: Path, mistakes_in: MistakesIn, content: bytes, phrase: str) -> None:
    (folder / "q.sql").write_bytes(content)
    (error,) = mistakes_in(with_sql_file("q.sql"))
    assert (error.code, error.line, error.column) == ("PLN-011", 7, 15)
    assert phrase in error.fix


def test_an_sql_file_of_exactly_the_limit_with_control_characters_is_read(folder: Path) -> None:
    sql = "SELECT split(a, '\x01')".ljust(MAX_BYTES)
    (folder / "q.sql").write_text(sql)
    (folder / "planopt.yaml").write_text(with_sql_file("q.sql"))
    assert load_workload("planopt.yaml").queries[0].sql == sql


def test_a_text_that_is_too_long_for_a_query_concerns_that_query_alone(folder: Path) -> None:
    (folder / "q.sql").write_text("SELECT 1 -- ".ljust(5 * MAX_BYTES, "x"))
    (folder / "planopt.yaml").write_text(f"{with_sql_file('q.sql')}  - {{id: small, sql: SELECT 1}}\n")
    large, small = load_workload("planopt.yaml").queries
    assert (len(large.sql or ""), small.sql) == (5 * MAX_BYTES, "SELECT 1")


def test_a_missing_sql_file_names_its_neighbour(folder: Path, mistakes_in: MistakesIn) -> None:
    (folder / "by_segment.sql").write_text("SELECT 1")
    (error,) = mistakes_in(with_sql_file("by_segmnt.sql"))
    assert (error.code, error.nearest) == ("PLN-011", "by_segment.sql")
    assert error.fix == "write `by_segment.sql`, or create the file"


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing", "loop", "long", "uri"])
def test_an_sql_file_is_a_local_regular_file(folder: Path, mistakes_in: MistakesIn, kind: str) -> None:
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    path = {"long": "x" * 5000, "uri": "s3://lake/q.sql"}.get(kind, kind)
    (error,) = mistakes_in(with_sql_file(path, "roots: ['s3://lake']\n"))
    assert (error.code, error.line, error.column) == ("PLN-011", 7, 15)


def test_a_missing_workload_file_names_its_neighbour(folder: Path) -> None:
    (folder / "planopt.yml").write_text(RIGHT)
    with pytest.raises(FileUnreadable) as caught:
        load_workload("planopt.yaml")
    message = "PLN-001 planopt.yaml: there is no such file. Fix: write `planopt.yml`, or create the file"
    assert str(caught.value) == message


@pytest.mark.parametrize("path", ["", ".", "no/such/folder/planopt.yaml", "/dev/zero", "a\0b", "x" * 5000, "\ud800"])
def test_a_path_that_is_no_file_is_one_clear_error(folder: Path, path: str) -> None:
    with pytest.raises(PlanoptError) as caught:
        load_workload(path)
    assert caught.value.code == "PLN-001"
    assert caught.value.where == path
