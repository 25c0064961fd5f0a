"""pydantic checks each field by itself; its findings become mistakes with a place, a nearest name and a fix."""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from planopt_assets import errors
from planopt_assets.workload.files import Bounds, Refused
from planopt_assets.workload.page import BROKEN, Loc, Page, name_of, nearest_of, show
from planopt_assets.workload.spec import BLANK, EXPECTED, WorkloadFile, fields_at

_EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a finite number",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge}",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "less_than_equal": "a number of at most {le}",
    "list_type": "a list",
    "model_type": "a mapping",
    "string_type": "text",
    "too_short": "at least one entry",
}


def check_fields(page: Page, bounds: Bounds) -> WorkloadFile | None:
    """The typed file, or None and the mistakes on the page.

    A misspelt name is one mistake: `qeries` is an unknown field, and `queries` is then not reported as missing.
    """
    try:
        return WorkloadFile.model_validate(page.data, context=bounds)
    except ValidationError as error:
        found = [each for each in error.errors(include_url=False) if each["input"] is not BROKEN]
    page.excused |= {_meant(each["loc"]) for each in found if each["type"] == "extra_forbidden"}
    for each in found:
        _report(each, page)
    return None


def _report(finding: ErrorDetails, page: Page) -> None:
    loc, value, context = finding["loc"], finding["input"], finding.get("ctx", {})
    match finding["type"]:
        case "extra_forbidden":
            nearest, known = str(_meant(loc)[-1]), ", ".join(fields_at(loc[:-1]))
            fix = f"write `{nearest}`" if nearest else f"remove it; the fields here are {known}"
            page.report(errors.UnknownField, page.key_place(loc), f"unknown field {show(loc[-1])}", fix, nearest)
        case "missing":
            if not page.excused & {loc, loc[:-1]}:
                fix = f"add it{_example(loc)}"
                page.report(errors.MissingField, page.value_place(loc[:-1]), f"`{name_of(loc)}` is missing", fix)
        case "literal_error":
            choices = re.findall(r"'(\w+)'", context["expected"])
            nearest = nearest_of(value, choices) if isinstance(value, str) else ""
            what = f"`{name_of(loc)}` is {show(value)}, which is not one of {', '.join(choices)}"
            fix = f"write `{nearest}`" if nearest else f"write one of {', '.join(choices)}"
            page.report(errors.WrongValue, page.value_place(loc), what, fix, nearest)
        case _ if isinstance(refused := context.get("error"), Refused):
            page.report(refused.kind, page.value_place(loc), refused.what, refused.fix, refused.nearest)
        case _ if loc[-1] == "[key]":
            what = f"the name {show(loc[-2])} is not allowed"
            page.report(errors.WrongValue, page.key_place(loc[:-1]), what, f"write {_expected(finding, context)}")
        case _:
            fix = f"write {_expected(finding, context)}{_example(loc)}"
            page.report(errors.WrongValue, page.value_place(loc), f"`{name_of(loc)}` is {show(value)}", fix)


def _expected(finding: ErrorDetails, context: dict[str, Any]) -> str:
    if "pattern" in context or (finding["type"] == "string_type" and finding["input"] is None):
        return EXPECTED[context.get("pattern", BLANK)]
    # The validators of `spec.py` say in `msg` what they expect.
    return _EXPECTED[finding["type"]].format(**context) if finding["type"] in _EXPECTED else finding["msg"]


def _example(loc: Loc) -> str:
    field = fields_at(loc[:-1]).get(str(loc[-1]))
    example = field.examples[0] if field and field.examples else []
    return "" if isinstance(example, list | dict) else f", for example `{loc[-1]}: {show(example).strip('`')}`"


def _meant(loc: Loc) -> Loc:
    """The known field that an unknown one most likely is; its last part is "" if there is none."""
    return (*loc[:-1], nearest_of(str(loc[-1]), fields_at(loc[:-1])))
