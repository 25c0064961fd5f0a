"""Native pools of a process that measures have the sizes of the budget; seen in fresh processes, where they start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planopt_assets.engine.sessions.thread_budget import BUDGET, COMPUTE, WAITING, _asked
from planopt_tests.conftest import make_tables
from planopt_tests.fresh_python import output_of

pytestmark = pytest.mark.fast

MANY = 48

POOLS = """
import json, os
from collections import Counter
from pathlib import Path
from planopt_assets.engine.sessions.thread_budget import limit_native_threads

if {limited}:
    limit_native_threads()

import numpy
import pyarrow as pa
import pyarrow.dataset as ds
import scipy.linalg
from deltalake import DeltaTable

numpy.ones((500, 500)) @ numpy.ones((500, 500))
scipy.linalg.inv(numpy.eye(300))
table = DeltaTable({table!r})
for _ in range(3):
    ds.dataset([u.removeprefix("file://") for u in table.file_uris()]).to_table()
threads = Counter(Path(f"/proc/self/task/{{t}}/comm").read_text().strip() for t in os.listdir("/proc/self/task"))
print(json.dumps({{
    "cpu": pa.cpu_count(),
    "io": pa.io_thread_count(),
    "environment": {{name: os.environ.get(name) for name in {names}}},
    "tokio": threads.pop("tokio-rt-worker"),
    "others": sum(n for name, n in threads.items() if not name.startswith("jemalloc")),
}}))
"""


@pytest.fixture
def table(tmp_path: Path) -> str:
    return str(make_tables(tmp_path, files=8) / "data" / "sales")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BUDGET:
        monkeypatch.delenv(name, raising=False)


def pools(table: str, *, limited: bool = True) -> Any:
    return json.loads(output_of(POOLS.format(table=table, limited=limited, names=list(BUDGET))))


def test_every_pool_has_the_size_of_the_budget(table: str) -> None:
    found = pools(table)
    assert found["environment"] == {name: str(threads) for name, threads in BUDGET.items()}
    assert (found["cpu"], found["io"]) == (COMPUTE, WAITING)
    assert found["others"] <= 1 + COMPUTE + WAITING  # the program itself, Arrow's two pools; none of BLAS
    assert found["tokio"] < MANY  # one worker, and threads for the files that are read at once


def test_the_threads_are_those_of_the_pools(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above would see if the variables did nothing, or were not set."""
    for name in BUDGET:
        monkeypatch.setenv(name, str(MANY))
    found = pools(table, limited=False)
    assert (found["cpu"], found["io"]) == (MANY, MANY)
    assert found["others"] > 1 + COMPUTE + WAITING
    assert found["tokio"] >= MANY


def test_what_somebody_set_stays(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("TOKIO_WORKER_THREADS", str(MANY))
    found = pools(table)
    assert (found["cpu"], found["io"], found["environment"]["OMP_NUM_THREADS"]) == (3, WAITING, "3")
    assert found["tokio"] >= MANY


@pytest.mark.parametrize(("text", "threads"), [("3", 3), ("4,2", 4), (" 2 ", 2), ("", 1), ("0", 1), ("all", 1)])
def test_a_variable_that_is_no_number_counts_as_not_set(
    monkeypatch: pytest.MonkeyPatch, text: str, threads: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert _asked("OMP_NUM_THREADS") == threads


def test_a_run_limits_them_before_it_reads_the_store() -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from planopt_assets.cli import loop\n"
        "print(sorted({'numpy', 'deltalake', 'pyarrow'} & set(sys.modules)))\n"
        "def read(*_):\n"
        "    import pyarrow\n"
        "    print(os.environ['TOKIO_WORKER_THREADS'], pyarrow.cpu_count(), 'deltalake' in sys.modules)\n"
        "    raise SystemExit\n"
        "loop.load_known = read\n"
        "loop._optimize(Path('planopt.yaml'), [], as_json=True)\n"
    )
    assert output_of(code) == f"[]\n{COMPUTE} {COMPUTE} False\n"


WORKSPACE = """
import os, pyarrow
from pathlib import Path
from planopt_assets.engine.workspace import Workspace
from planopt_assets.model.workload import Workload

def open_session():
    print(pyarrow.cpu_count(), pyarrow.io_thread_count(), *[os.environ.get(name) for name in {names}])
    return "a session"

workspace = Workspace(Workload("w", Path("planopt.yaml"), "store", (), ()), open_session)
workspace.spark
"""


def test_whoever_opens_a_workspace_has_them_limited_before_spark_starts() -> None:
    told = output_of(WORKSPACE.format(names=list(BUDGET)))
    assert told.split() == [str(COMPUTE), str(WAITING), *map(str, BUDGET.values())]


def test_a_process_that_only_reads_is_left_alone() -> None:
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from planopt_assets.engine.workspace import Workspace\n"
        "from planopt_assets.model.workload import Workload\n"
        "workload = Workload('w', Path('planopt.yaml'), 'store', (), ())\n"
        "Workspace(workload).store.snapshot.table('verdicts')\n"
        f"print([name for name in {list(BUDGET)} if name in os.environ])\n"
    )
    assert output_of(code) == "[]\n"
