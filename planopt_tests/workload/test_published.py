"""The schema and the reference page say what the code does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from planopt_assets.errors import WorkloadError
from planopt_assets.workload import load_workload
from planopt_assets.workload.schema import json_schema, publish, with_tables
from planopt_tests.workload.conftest import RIGHT
from planopt_tests.workload.test_load import FULL
from planopt_tests.workload.test_mistakes import CASES

pytestmark = pytest.mark.fast

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "workload.md").read_text(encoding="utf-8")
RENEW = "run `python -m planopt_assets.workload.schema`"


def example() -> str:
    found = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def properties(part: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(part, dict):
        yield from part.get("properties", {}).items()
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from properties(inner)


def test_the_published_schema_is_current() -> None:
    assert json.loads((DOCS / "workload.schema.json").read_text(encoding="utf-8")) == json_schema(), RENEW


def test_the_tables_of_the_page_are_current() -> None:
    assert with_tables(PAGE) == PAGE, RENEW


def test_publishing_twice_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "workload.md").write_text(PAGE, encoding="utf-8")
    publish(tmp_path)
    for name in ("workload.md", "workload.schema.json"):
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes(), RENEW


def test_every_field_has_a_description_and_an_example() -> None:
    fields = [(name, field) for name, field in properties(json_schema()) if "type" in field or "$ref" in field]
    assert len(fields) >= 28
    assert [name for name, field in fields if not field.get("description") or not field.get("examples")] == []


def test_the_example_of_the_page_loads(folder: Path) -> None:
    (folder / "queries").mkdir()
    (folder / "queries/by_segment.sql").write_text("SELECT :segment, :since")
    (folder / "planopt.yaml").write_text(example(), encoding="utf-8")
    assert [query.id for query in load_workload("planopt.yaml").queries] == ["daily_revenue", "by_segment", "cohort"]


def test_the_message_on_the_page_is_the_one_the_example_gives(
    folder: Path, mistakes_in: Callable[[str], tuple[WorkloadError, ...]]
) -> None:
    (folder / "queries").mkdir()
    (folder / "queries/by_segment.sql").write_text("SELECT :segment, :since")
    (error,) = mistakes_in(example().replace("runs_per_day", "runs_per_dya"))
    assert f"```\n{error}\n```" in PAGE


@pytest.mark.parametrize("text", [RIGHT, FULL, example()])
def test_the_schema_accepts_what_loads(text: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    data = json.loads(json.dumps(YAML(typ="safe", pure=True).load(text), default=str))
    jsonschema.Draft202012Validator(json_schema()).validate(data)


@pytest.mark.parametrize("case", [name for name, case in CASES.items() if case[1] in ("PLN-007", "PLN-009", "PLN-017")])
def test_the_schema_refuses_unknown_missing_and_double_fields(case: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    data = YAML(typ="safe", pure=True).load(CASES[case][0])
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(data)
