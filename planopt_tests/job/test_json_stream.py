"""A list written element by element reads as if it was written at once, and nothing is asked for ahead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import orjson
import pytest

from planopt_assets.cli.command import print_json, print_json_list
from planopt_assets.job.json_stream import json_object

pytestmark = pytest.mark.fast

ELEMENTS = [
    {"id": "a", "nested": {"list": [1, 2], "none": None}},
    {"text": 'line\nend \u2028 \x0b \x85 "quoted" }, ]', "empty": [], "object": {}},
    "a text",
    [],
]


def at_once(facts: Any) -> str:
    return orjson.dumps(facts, option=orjson.OPT_INDENT_2).decode()


@pytest.mark.parametrize("dumps", [partial(json.dumps, indent=2), at_once], ids=["json", "orjson"])
@pytest.mark.parametrize("count", range(len(ELEMENTS) + 1))
def test_the_pieces_are_the_whole(dumps: Callable[[Any], str], count: int) -> None:
    head, elements = {"workload": "sales", "facts": {"a": [1]}}, ELEMENTS[:count]
    assert "".join(json_object(head, "queries", elements, dumps)) == dumps({**head, "queries": elements})


def test_an_element_is_asked_for_when_the_one_before_is_written() -> None:
    asked = []

    def elements() -> Iterator[int]:
        for number in range(3):
            asked.append(number)
            yield number

    pieces = json_object({"workload": "sales"}, "queries", elements())
    for expected in ([], [0], [0, 1], [0, 1, 2]):
        next(pieces)
        assert asked == expected


def test_a_command_prints_what_it_printed_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"workload": "sales", "queries": ELEMENTS})
    expected = capsys.readouterr().out
    print_json_list({"workload": "sales"}, "queries", iter(ELEMENTS))
    assert capsys.readouterr().out == expected
