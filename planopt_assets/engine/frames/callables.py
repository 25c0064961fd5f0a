"""Queries written as `module:callable`: finding their source without running it, and calling them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.frames.own_modules import own_modules
from planopt_assets.errors import CallableUnusable
from planopt_assets.model.inputs import QuerySource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from planopt_assets.model.workload import Query, Workload


ARROW = "spark.sql.execution.pythonUDF.arrow.enabled"


def query_source(workload: Workload, query: Query) -> QuerySource:
    """What defines the query: its SQL, or the source of the module that builds it. Nothing is imported.

    The module's own text counts as it is written. Modules that it imports count by their syntax trees.
    """
    if query.sql is not None:
        return QuerySource(query.sql)
    file, folder = _file(workload, query), workload.file.parent
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = f"module {query.python!r} cannot be read as text ({type(error).__name__})"
        raise _unusable(query, what, "save it as UTF-8, in a file that can be read") from error
    if file.is_relative_to(folder):
        found = own_modules(file, folder)
    else:  # installed: the modules of its own package are as much its own as those beside a workload file
        assert query.python is not None
        names = query.python.partition(":")[0].split(".")
        place = file.parent if file.name == "__init__.py" else file
        found = own_modules(file, place.parents[len(names) - 1], only=names[0])
    return QuerySource(text, found.modules, found.not_followed)


def build_frame(workload: Workload, query: Query, spark: SparkSession, parameters: dict[str, Any]) -> DataFrame:
    """Call the user's function with the session its tables are registered in."""
    from pyspark.sql import DataFrame

    assert query.python is not None
    name = query.python.partition(":")[2]
    with _python_functions_made_for(spark):
        function = getattr(_module(workload, query), name, None)
        if not callable(function):
            raise _unusable(
                query, f"{query.python!r} has no function {name!r}", "name a function of that module after the colon"
            )
        frame = function(spark, **parameters)
    if not isinstance(frame, DataFrame):
        raise _unusable(
            query, f"{query.python!r} returned {type(frame).__name__}", "return the DataFrame, without an action"
        )
    return frame


@contextmanager
def _python_functions_made_for(spark: SparkSession) -> Iterator[None]:
    """Let PySpark read how rows travel to Python from this session.

    It reads that when a function is made, and from the first session of the process, whichever the function is for.
    That session is put back at once, and stays where it is while both say the same: other threads may ask for it.
    """
    from pyspark.sql import SparkSession

    first = SparkSession._instantiatedSession
    if first is None or first.conf.get(ARROW) == spark.conf.get(ARROW):
        yield
        return
    SparkSession._instantiatedSession = spark
    try:
        yield
    finally:
        SparkSession._instantiatedSession = first


def _file(workload: Workload, query: Query) -> Path:
    """A module beside the workload file comes first, then the installed ones."""
    assert query.python is not None
    module = query.python.partition(":")[0]
    beside = workload.file.parent.joinpath(*module.split(".")).with_suffix(".py")
    if beside.is_file():
        return beside
    try:
        spec = importlib.util.find_spec(module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise _unusable(
            query,
            f"module {module!r} is not there",
            f"put it at {'/'.join(module.split('.'))}.py beside the workload file",
        )
    return Path(spec.origin)


def _module(workload: Workload, query: Query) -> Any:
    path = _file(workload, query)
    name = f"planopt_query_{query.id}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's module may raise anything: this is where it becomes ours
        raise _unusable(
            query, f"importing {path.name} failed: {type(error).__name__}: {error}", "make it import by itself"
        ) from error
    return module


def _unusable(query: Query, what: str, fix: str) -> CallableUnusable:
    return CallableUnusable(what, where=f"query {query.id}", fix=fix)
