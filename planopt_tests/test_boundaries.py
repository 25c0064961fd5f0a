"""Who may import what: the tree of folders is the architecture, and this holds it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from planopt_assets import errors
from planopt_assets.store.schemas import TABLES
from planopt_tests.conftest import MARKS
from planopt_tests.fresh_python import ROOT, output_of

pytestmark = pytest.mark.fast

PACKAGE = ROOT / "planopt_assets"
FILES = sorted(PACKAGE.rglob("*.py"))
SPARK = {"pyspark", "py4j", "delta"}


MODULES = {f"planopt_assets.{'.'.join(f.relative_to(PACKAGE).with_suffix('').parts)}" for f in FILES}
MODULES |= {name.removesuffix(".__init__") for name in MODULES}


@cache
def imports(file: Path) -> list[str]:
    """Every module a file imports, wherever in the file, for type checking only or not."""
    return list(imports_of(file.read_text(encoding="utf-8")))


def imports_of(code: str) -> Iterator[str]:
    """`from planopt_assets import errors` imports `planopt_assets.errors`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import, which this test does not follow"
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from dict.fromkeys(name if name in MODULES else str(node.module) for name in named)


def test_an_import_from_a_package_is_one_of_its_module() -> None:
    assert list(imports_of("from planopt_assets import errors, loop")) == [
        "planopt_assets.errors",
        "planopt_assets.loop",
    ]
    assert list(imports_of("from planopt_assets.loop import stages, run")) == [
        "planopt_assets.loop.stages",
        "planopt_assets.loop.run",
    ]
    assert list(imports_of("from planopt_assets import __version__")) == ["planopt_assets"]


def importers(*libraries: str) -> set[str]:
    """Files of the package that import one of these libraries, relative to the package."""
    wanted = set(libraries)
    return {
        file.relative_to(PACKAGE).as_posix()
        for file in FILES
        if any(module.partition(".")[0] in wanted for module in imports(file))
    }


# Files


def test_the_scan_finds_what_it_should() -> None:
    assert len(FILES) > 50
    assert "engine/sessions/session.py" in importers("pyspark")
    assert "definitions.py" in importers("dagster")


def test_each_test_file_names_its_marks_itself() -> None:
    """Else `-m` finds it in no portion of the suite: `conftest.py` looks for the name before it imports a file."""
    texts = {file: file.read_text(encoding="utf-8") for file in (ROOT / "planopt_tests").rglob("test_*.py")}
    assert [f.name for f, text in texts.items() if not any(f"mark.{mark}" in text for mark in MARKS)] == []
    assert [f.name for f, text in texts.items() if re.search(r"import .*\bpytestmark\b|\.add_marker\(", text)] == []


# Layers

LAYERS = (
    *("model", "errors", "workload"),
    *(
        "observe",
        "decide",
        "replan",
        "validate",
        "maintain",
        "promote",
        "automate",
    ),  # pure: no Spark, no store, no clock
    *("delta", "store", "engine"),
    *("loop", "job", "alert"),
    *("defs", "definitions", "dagster", "report", "cli"),
)
"""From the bottom up: a package imports only packages that stand before it, also where it does so for types alone."""

ROOMS = (
    *("observe.sql", "observe.plans", "observe.tables", "observe.explain", "observe.pushdown", "observe.signals"),
    *("engine.jvm", "engine.gate", "engine.delta", "engine.sessions", "engine.capture", "engine.results"),
    *("engine.frames", "engine.execution", "engine.user_job", "engine.workspace"),
)
"""The same for the rooms of the two largest packages."""


def place(parts: tuple[str, ...], order: tuple[str, ...]) -> str | None:
    """The entry of `order` that a module belongs to."""
    name = ".".join(parts)
    return next((entry for entry in order if name == entry or name.startswith(f"{entry}.")), None)


def upward(order: tuple[str, ...], files: dict[tuple[str, ...], list[str]]) -> set[str]:
    """Every import that goes from a lower entry to a higher one."""
    found = set()
    for parts, modules in files.items():
        importer = place(parts, order)
        for module in modules:
            imported = place(tuple(module.split(".")[1:]), order) if module.startswith("planopt_assets.") else None
            if importer and imported and order.index(imported) > order.index(importer):
                found.add(f"{'.'.join(parts)} -> {module}")
    return found


def modules_of_the_package() -> dict[tuple[str, ...], list[str]]:
    return {file.relative_to(PACKAGE).with_suffix("").parts: imports(file) for file in FILES}


def test_every_package_has_a_place_in_the_order() -> None:
    assert {parts for parts in modules_of_the_package() if place(parts, LAYERS) is None} == {("__init__",)}


@pytest.mark.parametrize("order", [LAYERS, ROOMS], ids=["layers", "rooms"])
def test_imports_go_one_way(order: tuple[str, ...]) -> None:
    assert upward(order, modules_of_the_package()) == set()


def test_an_import_the_other_way_would_be_found() -> None:
    wrong = {("store", "store"): ["planopt_assets.loop.standing"], ("loop", "run"): ["planopt_assets.store.store"]}
    assert upward(LAYERS, wrong) == {"store.store -> planopt_assets.loop.standing"}


def test_the_store_decides_nothing() -> None:
    """Repair asks one pure function what a chain is worth whose end is lost."""
    deciding = ("observe", "decide", "replan", "validate", "maintain", "promote", "automate")
    wanted = tuple(f"planopt_assets.{package}" for package in deciding)
    stored = [file for file in FILES if file.relative_to(PACKAGE).parts[0] in ("store", "delta")]
    found = {f"{f.name}: {m}" for f in stored for m in imports(f) if m.startswith(wanted)}
    assert found == {"chain_repair.py: planopt_assets.promote.salvaged_chain"}


def test_the_picture_of_the_layers_is_the_order() -> None:
    """In the picture the highest layer is the first line. What stands in one line has no order there."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    picture = page.split("## Layers")[1].split("```")[1]
    lines = [re.findall(r"[a-z]+", line[:47].replace(".py", "")) for line in picture.splitlines()]
    assert {name for line in lines for name in line} == set(LAYERS)
    for upper, lower in pairwise([line for line in lines if line]):
        assert min(map(LAYERS.index, upper)) > max(map(LAYERS.index, lower)), (upper, lower)


CIRCLES = [
    ["delta.hadoop", "delta.object_files", "delta.object_storage", "delta.place"],
    ["loop.standing", "loop.steps"],
]
"""Files that import each other. `place` makes the place of a location, and each kind of place is a `Place`. A standing
is settled when none of its steps is needed, and its steps are told from the standing."""


def test_files_import_each_other_in_no_other_circle() -> None:
    files = {f"planopt_assets.{'.'.join(parts)}": modules for parts, modules in modules_of_the_package().items()}
    graph = {name.removesuffix(".__init__"): set(modules) for name, modules in files.items()}
    own = {name: modules & graph.keys() - {name} for name, modules in graph.items()}
    reached = {name: _reachable(name, own) for name in own}
    circles = {tuple(sorted(other for other in reached[n] if n in reached[other])) for n in own if n in reached[n]}
    assert sorted([name.removeprefix("planopt_assets.") for name in circle] for circle in circles) == CIRCLES


def _reachable(name: str, graph: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = [name]
    while left:
        new = graph[left.pop()] - found
        found |= new
        left.extend(new)
    return found


# Libraries


def test_only_the_engine_and_the_store_know_spark_and_delta() -> None:
    """Hadoop's client speaks to a JVM too, which is not Spark's."""
    outside = {name for name in importers(*SPARK) if not name.startswith(("engine/", "store/"))}
    assert outside == {"delta/hadoop_client.py"}


def test_only_the_definitions_and_the_command_line_know_dagster() -> None:
    libraries = {m.partition(".")[0] for f in FILES for m in imports(f) if m.startswith("dagster")}
    outside = {n for n in importers(*libraries) if not n.startswith("defs/")} - {"definitions.py", "cli/loop.py"}
    assert outside == set()


def test_one_module_takes_a_location_apart() -> None:
    """Addresses of Spark masters are no locations."""
    found = {f.relative_to(PACKAGE).as_posix() for f in FILES if takes_apart(f.read_text())}
    assert found == {"model/location.py", "engine/capture/provenance.py"}


def takes_apart(code: str) -> bool:
    return re.search(r"""["']://["']|\burl(parse|split)\b|startswith\(\(?["']\w+://""", code) is not None


@pytest.mark.parametrize(
    "code", ['x.partition("://")', "'://' in x", "urlsplit(x)", 'x.startswith(("s3://", "gs://"))']
)
def test_a_location_taken_apart_would_be_found(code: str) -> None:
    assert takes_apart(code)
    assert not takes_apart('f"{scheme}://{rest}"')


def test_the_model_imports_the_standard_library_and_itself_only() -> None:
    foreign = {
        f"{file.name}: {module}"
        for file in (PACKAGE / "model").glob("*.py")
        for module in imports(file)
        if module.partition(".")[0] not in sys.stdlib_module_names and not module.startswith("planopt_assets.model.")
    }
    assert foreign == set()


@pytest.mark.parametrize(
    "folder", ["model", "decide", "replan", "observe", "validate", "maintain", "promote", "automate"]
)
def test_time_and_chance_are_arguments_of_what_decides(folder: str) -> None:
    allowed = {"validate/round_order.py": {"random"}}  # which takes a seed
    found = {
        f"{name}: {module}"
        for file in (PACKAGE / folder).rglob("*.py")
        for name in [file.relative_to(PACKAGE).as_posix()]
        for module in {*imports(file), *reads_of_the_clock(file.read_text("utf-8"))}
        if module in {"time", "random", "datetime.now", "uuid", "secrets"} - allowed.get(name, set())
    }
    assert found == set()


def reads_of_the_clock(code: str) -> Iterator[str]:
    """A moment is an argument like any other; to ask for the present one is not."""
    for node in ast.walk(ast.parse(code)):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in ("now", "utcnow", "today"):
            yield "datetime.now"


def test_a_read_of_the_clock_would_be_found() -> None:
    assert list(reads_of_the_clock("from datetime import UTC, datetime\nat = datetime.now(UTC)")) == ["datetime.now"]
    assert list(reads_of_the_clock("from datetime import datetime\nat = datetime(2026, 1, 1)")) == []


def test_no_file_is_a_drawer_for_things_without_a_place() -> None:
    drawers = re.compile(r"^_?(utils?|helpers?|common|misc)$")
    assert [str(f) for f in [*FILES, *ROOT.glob("planopt_tests/**/*.py")] if drawers.match(f.stem)] == []


# Rows

NOUNS_ONLY = (
    "engine",
    "alert",
    "automate",
    "decide",
    "replan",
    "validate",
    "maintain",
    "promote",
    "loop",
    "job",
    "defs",
    "cli",
)
NOT_OF_THE_STORE = {"engine": {"delta_log.py: metadata", "digest.py: rows"}}
"""Fields of other files that are named like a column: Delta's checksum file, and the answer of a Spark aggregate."""
COLUMNS = {name for schema in TABLES.values() for name in schema.names}


def stored_fields_by_key(code: str) -> Iterator[str]:
    """Columns of the store that code reads out of a dict; `numbers` are what a stage shows, not what is stored."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            held, key = node.value, node.slice
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            held, key = node.func.value, node.args[0]
        else:
            continue
        shown = isinstance(held, ast.Name) and held.id == "numbers"
        if isinstance(key, ast.Constant) and key.value in COLUMNS and not shown:
            yield str(key.value)


@pytest.mark.parametrize("folder", NOUNS_ONLY)
def test_a_stored_field_is_read_by_name_in_the_codecs_only(folder: str) -> None:
    files = (PACKAGE / folder).rglob("*.py")
    found = {f"{f.name}: {c}" for f in files for c in stored_fields_by_key(f.read_text("utf-8"))}
    assert found == NOT_OF_THE_STORE.get(folder, set())


@pytest.mark.parametrize("folder", ["decide", "loop", "engine", "promote", "job", "alert", "automate", "defs"])
def test_a_fact_of_the_arithmetic_is_asked_of_its_noun(folder: str) -> None:
    """`Decision.runs_per_day`, not `dict(decision.arithmetic)["runs_per_day"]`: a name is known in one place."""
    looked_up = re.compile(r"dict\(\w+(?:\[\d+\])?\.arithmetic\)(?:\[|\.get\()")
    found = {f.name for f in (PACKAGE / folder).rglob("*.py") if looked_up.search(f.read_text("utf-8"))}
    assert found == set()


def test_a_stored_field_read_by_key_would_be_found() -> None:
    code = 'one = row["verdict_id"]; two = row.get("outcome"); row["policy_id"] = 1; shown = numbers["tasks"]'
    assert list(stored_fields_by_key(code)) == ["verdict_id", "outcome"]


# Processes


LIGHT = (
    *("decide", "decide.decide", "decide.rules.right_size_shuffle", "decide.rules.right_size_splits", "decide.history"),
    *("model.workload", "model.evidence", "observe.plans.diff", "observe.plans.fingerprint", "replan.candidates"),
    *("validate.judge", "promote.transitions", "promote.watch", "promote.expiry", "promote.lifecycle", "workload"),
    *("store.snapshot", "loop.standing", "loop.standings", "loop.agenda", "loop.priority", "loop.run"),
    *("loop.experiment", "loop.stages.observe", "loop.stages.decide", "loop.stages.replan", "loop.stages.validate"),
    *(
        "loop.stages.promote",
        "loop.stages.maintain",
        "loop.stages.readiness",
        "loop.table_standing",
        "maintain.propose",
        "loop.due_observations",
        "loop.incidents",
        "loop.sweep",
        "automate.changes",
        "alert.announce",
    ),
    *("report.html", "report.diff", "job.in_force", "job.export"),
)


def test_what_decides_and_what_only_reads_loads_neither_spark_nor_dagster() -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {LIGHT}:\n"
        "    importlib.import_module(f'planopt_assets.{name}')\n"
        "    loaded = {m.partition('.')[0] for m in sys.modules} & {'pyspark', 'py4j', 'delta', 'dagster'}\n"
        "    print(name, *sorted(loaded))\n"
    )
    assert output_of(code).splitlines() == list(LIGHT)


def test_what_talks_to_spark_does_load_it() -> None:
    code = "import sys, planopt_assets.engine.gate.sql_gate\nprint('pyspark' in sys.modules, 'dagster' in sys.modules)"
    assert output_of(code) == "True False\n"


def test_loading_the_definitions_starts_no_jvm() -> None:
    code = (
        "import psutil, sys\n"
        "from planopt_assets.definitions import defs\n"
        "assets = defs().resolve_all_asset_keys()\n"
        "context = sys.modules.get('pyspark.core.context')\n"
        "active = context.SparkContext._active_spark_context if context else None\n"
        "print(len(assets) > 0, active, psutil.Process().children(recursive=True))\n"
    )
    assert output_of(code) == "True None []\n"


# Errors

ERRORS = [e for _, e in inspect.getmembers(errors, inspect.isclass) if issubclass(e, errors.PlanoptError)]
WITH_CODE = [e for e in ERRORS if "code" in vars(e)]


def test_every_error_of_planopt_is_imported_from_one_place() -> None:
    defined = {
        n.name
        for f in (PACKAGE / "errors").glob("*.py")
        for n in ast.parse(f.read_text("utf-8")).body
        if isinstance(n, ast.ClassDef)
    }
    assert defined == {e.__name__ for e in ERRORS} == set(errors.__all__)


def test_every_error_code_is_unique() -> None:
    codes = [e.code for e in WITH_CODE]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("error", WITH_CODE, ids=lambda e: e.__name__)
def test_an_error_code_is_three_digits_in_the_range_the_module_names(error: type[errors.PlanoptError]) -> None:
    assert re.fullmatch(r"PLN-\d{3}", error.code)
    assert error is errors.PlanoptError or f"PLN-{error.code[4]}xx" in str(errors.__doc__)


def test_every_error_that_can_be_raised_has_a_code_of_its_own() -> None:
    without = {e.__name__ for e in ERRORS if "code" not in vars(e)}
    assert without == {"WorkloadError"}  # the base of the mistakes in a workload file; never raised itself


@pytest.mark.parametrize("error", WITH_CODE, ids=lambda e: e.__name__)
def test_every_error_says_in_one_sentence_what_it_is(error: type[errors.PlanoptError]) -> None:
    assert str(error.__doc__).splitlines()[0].strip()
