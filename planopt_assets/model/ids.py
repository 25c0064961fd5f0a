"""Content ids: the same content gives the same id, in any process, on any day."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def content_id(kind: str, content: Any) -> str:
    """Hash plain data (dicts, lists, strings, numbers, None) into `kind_` + 16 hex digits.

    Dict order does not matter, list order does. Timestamps and run ids never go in here.

    >>> content_id("pol", {"b": 1, "a": 2}) == content_id("pol", {"a": 2, "b": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return f"{kind}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
