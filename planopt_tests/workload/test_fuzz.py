"""Whatever the bytes are, loading gives a workload or an error that planopt understands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planopt_assets.errors import WorkloadError, WorkloadErrors
from planopt_assets.model.workload import Workload
from planopt_assets.workload import load_workload
from planopt_assets.workload.spec import (
    BudgetFields,
    KnobFields,
    QueryFields,
    SparkFields,
    TableFields,
    WorkloadFile,
)
from planopt_tests.workload.conftest import RIGHT
from planopt_tests.workload.test_load import FULL

pytestmark = pytest.mark.fast

MODELS = (WorkloadFile, TableFields, QueryFields, SparkFields, BudgetFields, KnobFields)
FIELDS = sorted({name for model in MODELS for name in model.model_fields})
TOKENS = [
    *(
        "- ",
        "? ",
        ": ",
        ", ",
        "[",
        "]",
        "{",
        "}",
        "\n",
        "  ",
        "\t",
        "#",
        "&a ",
        "*a",
        "!",
        "!!int ",
        "!<x> ",
        "|\n",
        ">-\n",
    ),
    *(
        "'",
        '"',
        '"\\x00"',
        '"\\ud800"',
        '"\\UFFFFFFFF"',
        "!%FF ",
        "%YAML 1.1\n",
        "%TAG ! x\n",
        "---\n",
        "...\n",
        "<<: ",
        "=",
    ),
    *(
        "~",
        ".nan",
        "-.inf",
        "0x_",
        "-_",
        "1_000",
        "1e400",
        "1995-13-45",
        "2001-12-14 21:59:43 +99:99",
        "9" * 5000,
        "\x85",
    ),
    *(f"{name}: " for name in FIELDS),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["first", "SELECT 1", "data/orders", "../x", "s3://b/../c", "a:b", "spark.x", "q.sql", "auto", "~"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "planopt.yaml"


def load(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    try:
        assert isinstance(load_workload(file), Workload)
    except (WorkloadError, WorkloadErrors) as error:
        lines = data.count(b"\n") + data.count(b"\r") + data.count("\x85".encode()) + data.count(b"\xe2\x80") + 2
        for each in error.errors if isinstance(error, WorkloadErrors) else (error,):
            assert each.code != "PLN-000"
            assert each.fix
            assert len(str(each).splitlines()) == 1
            assert 0 <= each.line <= lines


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(file: Path, data: bytes) -> None:
    load(file, data)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text(file: Path, text: str) -> None:
    load(file, text.encode(errors="surrogatepass"))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=25).map("".join))
def test_any_row_of_yaml_tokens(file: Path, text: str) -> None:
    load(file, text.encode())


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(WorkloadFile.model_fields)), VALUES))
def test_any_structure_with_the_right_names(file: Path, data: dict[str, Any]) -> None:
    load(file, json.dumps({"version": 1, **data}).encode())


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([RIGHT, FULL]),
    st.floats(0, 1),
    st.integers(0, 30),
    st.lists(st.sampled_from(TOKENS), max_size=3).map("".join) | st.text(max_size=5),
)
def test_a_right_file_with_any_piece_replaced(file: Path, text: str, at: float, cut: int, piece: str) -> None:
    start = int(at * len(text))
    load(file, (text[:start] + piece + text[start + cut :]).encode(errors="surrogatepass"))
