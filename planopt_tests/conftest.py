"""One Spark session for the whole suite, and small Delta tables written without it."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from planopt_assets.engine.sessions.thread_budget import limit_native_threads
from planopt_assets.model import redaction
from planopt_assets.model.workload import Budgets, Query, Table, Workload
from planopt_tests.class_archive import java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from planopt_tests.one_pass import OnePass
    from planopt_tests.s3_server import S3

os.environ.setdefault("JDK_JAVA_OPTIONS", java_options())
# As in every process that measures. Pools of several threads take a tenth more CPU for small tables, and on busy cores
# whatever is handed from thread to thread waits for its turn.
limit_native_threads()
# A shell ignores SIGINT for its background jobs. Dagster gives SIGTERM the same fate, and processes that tests start
# inherit it: none of them could be ended.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
MASTER = "local[2]"
SETTINGS = {
    "spark.driver.memory": "2g",
    # An append to a small Delta table takes 0.45 s with one, 0.8 s with two.
    "spark.databricks.delta.snapshotPartitions": "1",
}


def workload_of(folder: Path, queries: list[Query], **changes: Any) -> Workload:
    """A workload over the tables of `make_tables`, whose session is the suite's."""
    tables = tuple(Table(p.name, str(p)) for p in sorted((folder / "data").iterdir()))
    defaults: dict[str, Any] = {
        "name": "tests",
        "file": folder / "planopt.yaml",
        "store": str(folder / "store"),
        "tables": tables,
        "queries": tuple(queries),
        "master": MASTER,
        "spark_settings": tuple(sorted(SETTINGS.items())),
        "control_share": 0.0,  # a test says itself when it wants a control
        "budgets": Budgets(explore=0.0),  # and when it wants options beyond the rules
    }
    return Workload(**{**defaults, **changes})


def make_tables(folder: Path, files: int = 6, rows: int = 300) -> Path:
    """`sales` in several small files and `shops` in one, the way appends leave them; tables that are there grow.

    A folder without tables gets copies of tables that were written once: the appends take much longer.
    """
    data = folder / "data"
    if data.exists():
        _append(data, files, rows)
    else:
        shutil.copytree(_appended(files, rows), data)
    return folder


@cache
def _appended(files: int, rows: int) -> Path:
    """Tables as `make_tables` makes them, kept until this process ends."""
    kept = tempfile.TemporaryDirectory(prefix="planopt-tests-")
    atexit.register(kept.cleanup)
    data = Path(kept.name, "data")
    _append(data, files, rows)
    return data


def _append(data: Path, files: int, rows: int) -> None:
    from deltalake import write_deltalake

    for part in range(files):
        start = part * rows
        ids = list(range(start, start + rows))
        sales = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "shop": pa.array([i % 17 for i in ids], pa.int64()),
                "amount": pa.array([(i * 7 % 1000) / 8 for i in ids], pa.float64()),
                "note": pa.array([None if i % 5 == 0 else f"n{i % 11}" for i in ids], pa.string()),
            }
        )
        write_deltalake(data / "sales", sales, mode="append")
    shops = pa.table({"shop": pa.array(range(17), pa.int64()), "city": pa.array([f"c{i % 4}" for i in range(17)])})
    write_deltalake(data / "shops", shops, mode="append")


MARKS = ("fast", "spark", "e2e", "soak")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file without a test of the one mark that is asked for is not imported: most processes need few of them.

    `test_boundaries.py` holds that each file names its marks itself.
    """
    asked = str(config.getoption("-m"))
    if asked not in MARKS or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    return True if f"mark.{asked}" not in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that take minutes run only where somebody asks for them: `-m soak`."""
    if "soak" in str(config.getoption("-m")):
        return
    slow = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]


@pytest.fixture(scope="session", autouse=True)
def memory_is_no_file_system() -> Iterator[None]:
    """A store that only stands in memory has the scheme `memory`: no Hadoop client is started to look for its files."""
    from planopt_assets.delta.hadoop import Hadoop

    nothing = SimpleNamespace(exists=lambda path: False, size=lambda path: None, listed=lambda path, **how: None)
    client = Hadoop.__dict__["_client"].func
    made = cached_property(lambda place: nothing if place.location.startswith("memory:") else client(place))
    made.__set_name__(Hadoop, "_client")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Hadoop, "_client", made)
        yield


@pytest.fixture(autouse=True)
def secrets_of_one_test() -> Iterator[None]:
    """What a test declares secret is hidden in no other."""
    known = set(redaction._known)
    yield
    redaction._known.clear()
    redaction._known.update(known)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session every Spark test shares, made exactly as planopt makes it."""
    from planopt_assets.engine.sessions.session import open_session
    from planopt_tests.java_names import names_asked_once

    blank = Workload("tests", Path("planopt.yaml"), "store", (), (), MASTER, tuple(sorted(SETTINGS.items())))
    with names_asked_once():
        session = open_session(blank)
        # As if a launcher had started this JVM: no test may end what the others share.
        gateway: Any = session.sparkContext._gateway
        process, gateway.proc = gateway.proc, None
        yield session
        gateway.proc = process
        end(session)


def end(session: SparkSession) -> None:
    """Stop Spark and wait for its Java, which may still have to write something."""
    process = session.sparkContext._gateway.proc  # type: ignore[union-attr]
    session.stop()
    process.stdin.close()
    process.wait()


@pytest.fixture(scope="session")
def one_pass(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> OnePass:
    from planopt_tests.one_pass import make_pass

    return make_pass(tmp_path_factory.mktemp("pass"))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    return make_tables(tmp_path)


@pytest.fixture(scope="session")
def unchanging_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for all tests that only read them: Spark loads their snapshots once."""
    return make_tables(tmp_path_factory.mktemp("unchanging"))


def write_workload_file(folder: Path, queries: str, *, mode: str = "auto", extra: str = "") -> Path:
    """A workload file over `make_tables` whose session is the suite's own."""
    settings = "\n".join(f"    {name}: {value}" for name, value in SETTINGS.items())
    tables = "\n".join(f"  {p.name}: data/{p.name}" for p in sorted((folder / "data").iterdir()))
    file = folder / "planopt.yaml"
    quiet = "" if "budgets:" in extra else "budgets: {explore: 0}\n"  # as `workload_of` has it
    file.write_text(
        f"version: 1\nname: tests\nstore: store\nmode: {mode}\n"
        f"spark:\n  master: {MASTER}\n  settings:\n{settings}\n"
        f"tables:\n{tables}\nqueries:\n{queries}\n{quiet}{extra}"
    )
    return file


@pytest.fixture(scope="session")
def s3_for_all() -> Iterator[S3]:
    from planopt_tests.s3_server import s3_server

    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_for_all: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """A real S3 server on loopback, with its credentials in the environment, where delta-rs looks for them."""
    for name, value in s3_for_all.environment.items():
        monkeypatch.setenv(name, value)
    return s3_for_all
