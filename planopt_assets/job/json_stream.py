"""Writes a JSON object that ends with a long list, element by element. The whole text is never in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

Dumps = Callable[[Any], str]
_INDENTED: Dumps = partial(json.dumps, indent=2)


def json_object(head: Mapping[str, Any], name: str, elements: Iterable[Any], dumps: Dumps = _INDENTED) -> Iterator[str]:
    """The text of `{**head, name: [*elements]}` in pieces. `dumps` must indent by two.

    >>> print("".join(json_object({"workload": "sales"}, "queries", [{"id": "by_shop"}])))
    {
      "workload": "sales",
      "queries": [
        {
          "id": "by_shop"
        }
      ]
    }
    """
    yield f"{dumps(head).removesuffix('}').rstrip()},\n  {dumps(name)}: ["
    separator = ""
    for element in elements:
        # Line breaks inside strings are escaped, so these are all between members.
        yield f"{separator}\n{dumps(element)}".replace("\n", "\n    ")
        separator = ","
    yield "\n  ]\n}" if separator else "]\n}"
