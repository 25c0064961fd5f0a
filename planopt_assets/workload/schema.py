"""The published form of the workload file: its JSON Schema, and the tables of its reference page.

`python -m planopt_assets.workload.schema [docs]` writes both; a test holds them to the models and the errors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from planopt_assets.errors import PlanoptError, WorkloadError, WorkloadErrors
from planopt_assets.workload.spec import SECTIONS, WorkloadFile


def json_schema() -> dict[str, Any]:
    """The JSON Schema that editors check `planopt.yaml` against while it is written."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **WorkloadFile.model_json_schema()}


def field_table() -> str:
    """One Markdown row for each field, from its description, default and example."""
    rows = ["| field | default | meaning | example |", "|---|---|---|---|"]
    for section, model in SECTIONS.items():
        prefix = "".join(f"{part}." for part in section).replace(".[]", "[]")
        for name, field in model.model_fields.items():
            example = f"`{json.dumps((field.examples or [''])[0])}`"
            rows.append(f"| `{prefix}{name}` | {_default(field)} | {field.description} | {example} |")
    return "\n".join(rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    is_one_value = isinstance(field.default, str | int | float) and field.default != ""
    return f"`{json.dumps(field.default)}`" if is_one_value else ""


def error_table() -> str:
    """One Markdown row for each code, from the docstring of its error."""
    kinds: list[type[PlanoptError]] = [*WorkloadError.__subclasses__(), WorkloadErrors]
    rows = ["| code | error | when |", "|---|---|---|"]
    rows += [
        f"| {kind.code} | `{kind.__name__}` | {(kind.__doc__ or '').splitlines()[0]} |"
        for kind in sorted(kinds, key=lambda kind: kind.code)
    ]
    return "\n".join(rows)


def with_tables(page: str) -> str:
    """The page with each of its marked tables as it is now.

    The marks are `<!-- errors -->` and `<!-- /errors -->` on lines of their own, and the same with `fields`.
    """
    for mark, table in (("fields", field_table()), ("errors", error_table())):
        start, end = f"<!-- {mark} -->\n", f"<!-- /{mark} -->"
        before, _, rest = page.partition(start)
        page = f"{before}{start}{table}\n{end}{rest.partition(end)[2]}"
    return page


def publish(docs: Path) -> None:
    """Write `workload.schema.json`, and bring the tables of `workload.md` up to date."""
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    (docs / "workload.schema.json").write_text(text, encoding="utf-8")
    page = docs / "workload.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    publish(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
