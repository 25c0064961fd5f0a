"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import planopt_assets

pytestmark = pytest.mark.fast

PURE = (
    "model",
    "observe",
    "decide",
    "replan",
    "validate",
    "maintain",
    "promote",
    "workload",
    "store.lineage",
    "errors",
)


def pure_modules() -> list[str]:
    """Every module under the names of `PURE`."""
    every = [m.name for m in pkgutil.walk_packages(planopt_assets.__path__, "planopt_assets.")]
    roots = [f"planopt_assets.{name}" for name in PURE]
    return sorted(name for name in every if any(name == root or name.startswith(f"{root}.") for root in roots))


def examples(module: ModuleType) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


MODULES = [module for name in pure_modules() if examples(module := importlib.import_module(name))]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.removeprefix("planopt_assets."))
def test_the_examples_of_a_module_are_true(module: ModuleType) -> None:
    result = doctest.testmod(module, verbose=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_there_are_examples_in_every_part() -> None:
    parts = {m.__name__.split(".")[1] for m in MODULES}
    assert parts >= {"model", "observe", "decide", "replan", "validate", "store", "errors"}


def test_an_example_that_is_not_true_would_be_found() -> None:
    lying = ModuleType("lying", doc=">>> 1 + 1\n3\n")
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(lying):
        runner.run(test, out=lambda _: None)
    assert runner.summarize(verbose=False).failed == 1
