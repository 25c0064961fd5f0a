"""A table's metadata as the SQL that would make it: Delta refuses `SHOW CREATE TABLE`."""

from __future__ import annotations

import json
from typing import Any

from planopt_assets.model.table_facts import Column, TableFacts

_SQL_NAMES = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}


def create_statement(table: TableFacts) -> str:
    """SQL that makes an empty table of the same schema, constraints, layout and settings.

    >>> from planopt_assets.model.table_facts import Protocol
    >>> columns = (Column("id", "long", nullable=False), Column("day", "date", comment="of sale"))
    >>> print(create_statement(TableFacts("sales", "/s", "x", 0, Protocol(1, 2), columns, partition_columns=("day",))))
    CREATE TABLE `sales` (
      `id` BIGINT NOT NULL,
      `day` DATE COMMENT 'of sale'
    )
    USING delta
    PARTITIONED BY (`day`);
    """
    name = quoted_name(table.name)
    columns = ",\n".join(f"  {_column(c)}" for c in table.columns)
    lines = [f"CREATE TABLE {name} (\n{columns}\n)", "USING delta"]
    if table.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted_name, table.partition_columns))})")
    if table.clustering_columns:
        lines.append(f"CLUSTER BY ({', '.join(table.clustering_columns)})")
    if table.description is not None:
        lines.append(f"COMMENT {quoted_text(table.description)}")
    if table.properties or any(c.default is not None for c in table.columns):
        lines.append(f"TBLPROPERTIES ({', '.join(_properties(table))})")
    checks = [
        f"ALTER TABLE {name} ADD CONSTRAINT {quoted_name(c.subject)} CHECK ({c.expression});"
        for c in table.constraints
        if c.kind == "check"
    ]
    return "\n".join(["\n".join(lines) + ";", *checks])


def sql_type(type_text: str) -> str:
    """A column's type as SQL writes it.

    >>> sql_type("long"), sql_type("decimal(10,2)")
    ('BIGINT', 'DECIMAL(10,2)')
    >>> sql_type('{"type":"array","elementType":{"type":"map","keyType":"string","valueType":"short"}}')
    'ARRAY<MAP<STRING, SMALLINT>>'
    """
    return _sql(json.loads(type_text) if type_text.startswith("{") else type_text)


def _sql(kind: Any) -> str:
    if isinstance(kind, str):
        return _SQL_NAMES.get(kind, kind.upper())
    if kind["type"] == "array":
        return f"ARRAY<{_sql(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{_sql(kind['keyType'])}, {_sql(kind['valueType'])}>"
    if kind["type"] == "struct":
        return f"STRUCT<{', '.join(_field(f) for f in kind['fields'])}>"
    return json.dumps(kind, sort_keys=True)  # a kind of type that is newer than this: shown as the table writes it


def _field(field: dict[str, Any]) -> str:
    return f"{quoted_name(field['name'])}: {_sql(field['type'])}{'' if field['nullable'] else ' NOT NULL'}"


def _column(column: Column) -> str:
    parts = [quoted_name(column.name), column.length.upper() if column.length else sql_type(column.type)]
    if not column.nullable:
        parts.append("NOT NULL")
    if column.generated is not None:
        parts.append(f"GENERATED ALWAYS AS ({column.generated})")
    if column.identity is not None:
        how = "BY DEFAULT" if column.identity.explicit_insert else "ALWAYS"
        parts.append(
            f"GENERATED {how} AS IDENTITY (START WITH {column.identity.start} INCREMENT BY {column.identity.step})"
        )
    if column.default is not None:
        parts.append(f"DEFAULT {column.default}")
    if column.comment is not None:
        parts.append(f"COMMENT {quoted_text(column.comment)}")
    return " ".join(parts)


def _properties(table: TableFacts) -> list[str]:
    # Delta takes no DEFAULT unless the feature is switched on in the same statement.
    defaults = any(c.default is not None for c in table.columns)
    switched_on = [("delta.feature.allowColumnDefaults", "supported")] if defaults else []
    return [f"{quoted_text(name)} = {quoted_text(value)}" for name, value in [*switched_on, *table.properties]]


def quoted_name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def quoted_text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"
