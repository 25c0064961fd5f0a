"""Names and types of a result as text: two results with different texts are different, whatever their rows are."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from planopt_assets.engine.results.lossless import has_own_form, stored_form

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

LONG = 2_000  # characters


def shortened(text: str) -> str:
    """The same text if it is short; else its start, and a hash of it all. It is stored with every trial."""
    if len(text) <= LONG:
        return text
    return f"{text[:LONG]} … {hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def columns_text(schema: StructType) -> str:
    """Names and types at every depth, with collations. Whether a value may be NULL is no part of it."""
    return ", ".join(f"{_quoted(field.name)} {_type(field.dataType)}" for field in schema.fields)


def _type(kind: Any) -> str:
    if has_own_form(kind):
        return f"{type(kind).__module__}.{type(kind).__name__}<{_type(stored_form(kind))}>"
    match kind.typeName():
        case "struct":
            return f"struct<{', '.join(f'{_quoted(f.name)} {_type(f.dataType)}' for f in kind.fields)}>"
        case "array":
            return f"array<{_type(kind.elementType)}>"
        case "map":
            return f"map<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    return str(kind.simpleString())


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name.replace('`', '``')}`"
