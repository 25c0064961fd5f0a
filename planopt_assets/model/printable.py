"""Text from outside, before a terminal gets it: an error may carry what a query or a file holds."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """The text without control characters, which could move the cursor or change the terminal; lines and tabs stay.

    >>> printable("red \\x1b[31mtext\\r\\n")
    'red [31mtext\\n'
    """
    return _CONTROLS.sub("", text)
