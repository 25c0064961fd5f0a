"""Each field by itself: pydantic judges, and its findings become mistakes with a place, a nearest name and a fix."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from planopt_assets.errors import MissingField, UnknownField, WrongValue
from planopt_assets.workload.document import Document, Loc
from planopt_assets.workload.mistakes import Mistakes, nearest_of, show
from planopt_assets.workload.spec import EXPECTED, WorkloadFile

_KINDS = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_type": "a finite number",
    "int_from_float": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a mapping",
    "string_type": "text",
    "too_short": "at least one entry",
}


def check_shape(document: Document, mistakes: Mistakes) -> tuple[WorkloadFile | None, set[Loc]]:
    """The typed file (None if a field is wrong), and the known fields whose names are written wrongly in it.

    A misspelt name is one mistake: `qeries` is an unknown field, and `queries` is then not reported as missing.
    """
    try:
        return WorkloadFile.model_validate(document.data), set()
    except ValidationError as error:
        found = [each for each in error.errors(include_url=False) if not document.is_broken(each["loc"])]
    misspelt = {_meant(each["loc"]) for each in found if each["type"] == "extra_forbidden"}
    for each in found:
        _report(each, document, misspelt, mistakes)
    return None, misspelt


def _report(finding: ErrorDetails, document: Document, misspelt: set[Loc], mistakes: Mistakes) -> None:
    loc = finding["loc"]
    if finding["type"] == "extra_forbidden":
        nearest = str(_meant(loc)[-1])
        fix = f"write `{nearest}`" if nearest else f"remove it; the fields here are {', '.join(_fields_at(loc[:-1]))}"
        what = f"unknown field {show(loc[-1])}"
        mistakes.add(UnknownField, document.key_place(loc), what, nearest=nearest, fix=fix)
    elif finding["type"] == "missing":
        if loc not in misspelt and loc[:-1] not in document.incomplete:
            fix = f"add it{_example(loc)}"
            mistakes.add(MissingField, document.value_place(loc[:-1]), f"`{name_of(loc)}` is missing", fix=fix)
    elif loc[-1:] == ("[key]",):
        what, expected = f"the name {show(loc[-2])} is not allowed", _expected(finding)
        mistakes.add(WrongValue, document.key_place(loc[:-1]), what, fix=f"write {expected}")
    elif finding["type"] == "literal_error":
        choices = _choices(loc)
        nearest = nearest_of(finding["input"], choices) if isinstance(finding["input"], str) else ""
        what = f"`{name_of(loc)}` is {show(finding['input'])}, which is not one of {', '.join(choices)}"
        fix = f"write `{nearest}`" if nearest else f"write one of {', '.join(choices)}"
        mistakes.add(WrongValue, document.value_place(loc), what, nearest=nearest, fix=fix)
    else:
        what = f"`{name_of(loc)}` is {show(finding['input'])}"
        fix = f"write {_expected(finding)}{_example(loc)}"
        mistakes.add(WrongValue, document.value_place(loc), what, fix=fix)


def name_of(loc: Loc) -> str:
    """A place in the data the way people write it.

    >>> name_of(("queries", 1, "runs_per_day"))
    'queries[1].runs_per_day'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{show(part).strip('`')}" for part in loc).lstrip(".")


def _expected(finding: ErrorDetails) -> str:
    limits: dict[str, Any] = finding.get("ctx", {})
    match finding["type"]:
        case "greater_than":
            return f"a number above {limits['gt']:g}"
        case "greater_than_equal":
            return f"a number of at least {limits['ge']}"
        case "less_than_equal":
            return f"a number of at most {limits['le']}"
        case "string_pattern_mismatch":
            return EXPECTED[limits["pattern"]]
        case kind:
            return _KINDS.get(kind, finding["msg"])  # our own validators say in `msg` what they expect


def _example(loc: Loc) -> str:
    field = _at(loc)
    if not isinstance(field, FieldInfo) or not field.examples or isinstance(field.examples[0], list | dict):
        return ""
    return f", for example `{loc[-1]}: {show(field.examples[0]).strip('`')}`"


def _meant(loc: Loc) -> Loc:
    """The known field that an unknown one most likely is; its last part is "" if there is none."""
    return (*loc[:-1], nearest_of(str(loc[-1]), _fields_at(loc[:-1])))


def _fields_at(loc: Loc) -> list[str]:
    model = _at(loc)
    model = _bare(model.annotation if isinstance(model, FieldInfo) else model)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _choices(loc: Loc) -> list[str]:
    field = _at(loc)
    return [str(each) for each in get_args(field.annotation)] if isinstance(field, FieldInfo) else []


def _at(loc: Loc) -> Any:
    """What the models have at a place: a `FieldInfo` for a field, a type inside a list or a mapping."""
    found: Any = WorkloadFile
    for part in loc:
        found = _bare(found.annotation if isinstance(found, FieldInfo) else found)
        if isinstance(found, type) and issubclass(found, BaseModel):
            found = found.model_fields.get(str(part))
        else:
            found = get_args(found)[-1] if get_args(found) else None
    return found


def _bare(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
