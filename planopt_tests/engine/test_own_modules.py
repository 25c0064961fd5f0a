"""The modules of a workload that a Python query imports: found without importing, and counted by what they mean."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from planopt_assets.engine.frames.callables import query_source
from planopt_assets.engine.frames.own_modules import own_modules
from planopt_assets.errors import CallableUnusable
from planopt_assets.model.inputs import QuerySource, query_fingerprint
from planopt_assets.model.workload import Query, Workload

pytestmark = pytest.mark.fast

QUERY = Query("q", python="queries.daily:build")
HELPERS = "def least():\n    return 5\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / "queries" / "daily.py"


def found(folder: Path, query: str, *modules: str) -> list[str]:
    """The names of the modules that count for a query with this text, where all of these exist."""
    file = write(folder, {"queries/daily.py": query, **{name: f"NAME = {name!r}\n" for name in modules}})
    return [name for name, _ in own_modules(file, folder).modules]


def fingerprint(folder: Path) -> str:
    workload = Workload("demo", folder / "planopt.yaml", str(folder / "store"), (), (QUERY,), allow_python=True)
    return query_fingerprint(QUERY, query_source(workload, QUERY))


def test_a_module_that_is_no_text_is_an_error_of_its_query(tmp_path: Path) -> None:
    write(tmp_path, {"queries/daily.py": ""}).write_bytes(b"\xff\xfe")
    with pytest.raises(CallableUnusable, match="save it as UTF-8"):
        fingerprint(tmp_path)


# What is found

IMPORTS: dict[str, tuple[str, list[str]]] = {
    "a module beside the query": ("import helpers", ["queries/helpers.py"]),
    "a module at the top": ("import shared", ["shared.py"]),
    "a name from a module": ("from shared import least", ["shared.py"]),
    "a module of a package, with the package": ("import lib.dates", ["lib/__init__.py", "lib/dates.py"]),
    "a module as a name of its package": ("from lib import dates", ["lib/__init__.py", "lib/dates.py"]),
    "all of a package": ("from lib import *", ["lib/__init__.py", "lib/dates.py"]),
    "a module of a folder without __init__": ("import space.days", ["space/days.py"]),
    "a sibling": ("from . import helpers", ["queries/helpers.py"]),
    "a module of a sibling's": ("from .helpers import least", ["queries/helpers.py"]),
    "a module above": ("from ..lib.dates import day", ["lib/__init__.py", "lib/dates.py"]),
    "inside a function": ("def build(spark):\n    import shared", ["shared.py"]),
    "where types are checked": ("if TYPE_CHECKING:\n    import shared", ["shared.py"]),
    "by a name that is written out": ("import_module('lib.dates')", ["lib/__init__.py", "lib/dates.py"]),
    "by a builtin": ("__import__('shared')", ["shared.py"]),
    "nothing of Python's own or installed": ("import json, pyspark\nfrom pyspark.sql import functions", []),
    "nothing outside of the folder": ("from ... import shared", []),
}


@pytest.mark.parametrize(("text", "expected"), IMPORTS.values(), ids=IMPORTS)
def test_an_import_finds(tmp_path: Path, text: str, expected: list[str]) -> None:
    others = ("queries/helpers.py", "shared.py", "lib/__init__.py", "lib/dates.py", "space/days.py")
    assert found(tmp_path, text, *others) == expected


def test_imports_are_followed_in_circles_too(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        {"queries/daily.py": "import one", "one.py": "import two", "two.py": "import one\nimport queries.daily"},
    )
    assert [name for name, _ in own_modules(file, tmp_path).modules] == ["one.py", "two.py"]


def test_a_query_without_modules_of_its_own_keeps_its_fingerprint(tmp_path: Path) -> None:
    write(tmp_path, {"queries/daily.py": "import json\n"})
    assert fingerprint(tmp_path) == query_fingerprint(QUERY, QuerySource("import json\n"))


def test_a_workload_in_another_folder_has_the_same_fingerprint(tmp_path: Path) -> None:
    files = {"queries/daily.py": "import helpers\n", "queries/helpers.py": HELPERS}
    for place in ("here", "there"):
        write(tmp_path / place, files)
    assert fingerprint(tmp_path / "here") == fingerprint(tmp_path / "there")


def test_an_installed_query_counts_the_modules_of_its_own_package_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    query = "import other\nfrom house.sub import rules\nfrom . import rules"
    write(site, {"house/__init__.py": "", "house/sub/__init__.py": "", "house/sub/daily.py": query})
    write(site, {"house/sub/rules.py": HELPERS, "other.py": HELPERS})
    monkeypatch.syspath_prepend(str(site))
    asked = replace(QUERY, python="house.sub.daily:build")
    workload = Workload("demo", tmp_path / "w" / "planopt.yaml", "store", (), (asked,), allow_python=True)
    names = [name for name, _ in query_source(workload, asked).modules]
    assert names == ["house/__init__.py", "house/sub/__init__.py", "house/sub/rules.py"]
    for name in ("house", "house.sub"):
        sys.modules.pop(name, None)


# What changes a fingerprint

CHANGES = {
    "a constant": "def least():\n    return 6\n",
    "the type of a constant": "def least():\n    return 5.0\n",
    "an operator": "def least():\n    return -5\n",
    "a name": "def most():\n    return 5\n",
    "a default": "def least(x=None):\n    return 5\n",
    "a decorator": "@udf\ndef least():\n    return 5\n",
}
SPELLINGS = {
    "a comment": "def least():\n    # why\n    return 5\n",
    "formatting": "def least() :\n\n    return  (5)\n",
    "line ends": "def least():\r\n    return 5\r\n",
}


@pytest.mark.parametrize("helpers", CHANGES.values(), ids=CHANGES)
def test_a_helper_that_means_something_else_changes_the_fingerprint_of_the_query(tmp_path: Path, helpers: str) -> None:
    write(tmp_path, {"queries/daily.py": "import one\n", "one.py": "import helpers\n", "helpers.py": HELPERS})
    before = fingerprint(tmp_path)
    write(tmp_path, {"helpers.py": helpers})
    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize("helpers", SPELLINGS.values(), ids=SPELLINGS)
def test_another_spelling_of_a_helper_does_not(tmp_path: Path, helpers: str) -> None:
    write(tmp_path, {"queries/daily.py": "import helpers\n", "helpers.py": HELPERS})
    before = fingerprint(tmp_path)
    write(tmp_path, {"helpers.py": helpers})
    assert fingerprint(tmp_path) == before


# What cannot be followed is said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import importlib\nimportlib.import_module(name)", "import_module(…) in line 2"),
        ("import_module('.rules', package)", "import_module(…) in line 1"),
        ("exec(open('rules.py').read())", "exec(…) in line 1"),
        ("importlib.util.spec_from_file_location('rules', path)", "spec_from_file_location(…) in line 1"),
        ("def broken(:", "it cannot be parsed"),
        ("x = 'nul \0 in it'", "it cannot be parsed"),
    ],
)
def test_what_only_a_run_could_tell_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, {"queries/daily.py": "import helpers", "helpers.py": text})
    assert own_modules(file, tmp_path).not_followed == (f"helpers.py: {said}",)


def test_a_method_of_that_name_is_none(tmp_path: Path) -> None:
    file = write(tmp_path, {"queries/daily.py": "frame.eval('a + b')\nimport_module('json')"})
    assert own_modules(file, tmp_path).not_followed == ()


def test_a_module_that_cannot_be_parsed_counts_by_its_bytes(tmp_path: Path) -> None:
    hashes = set()
    for text in ("def broken(:", "def broken(::"):
        file = write(tmp_path, {"queries/daily.py": "import helpers", "helpers.py": text})
        hashes.add(own_modules(file, tmp_path).modules)
    assert len(hashes) == 2
