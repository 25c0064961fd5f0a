"""Text from outside, before a terminal shows it. An error may quote what a query or a file contains."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNESCAPED_IN_JSON = re.compile(r"[\x7f-\x9f]")


def printable(text: str) -> str:
    """The text without control characters, which could move the cursor or change the terminal. Lines and tabs stay.

    >>> printable("red \\x1b[31mtext\\r\\n")
    'red [31mtext\\n'
    """
    return _CONTROLS.sub("", text)


def printable_json(text: str) -> str:
    """The same JSON with the control characters escaped that JSON allows in strings as they are.

    >>> print(printable_json('"red \\x9b31m"'))
    "red \\u009b31m"
    """
    return _UNESCAPED_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
