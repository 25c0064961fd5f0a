"""How a table is laid out: partitioning, clustering, and the properties that shape its files or scans."""

from __future__ import annotations

import re

from planopt_assets.model.table_ddl import quoted_name, quoted_text
from planopt_assets.model.table_facts import TableFacts

Layout = dict[str, str]

# Properties that move no file and change no scan.
_NO_LAYOUT = re.compile(
    r"delta\.(feature\..*|constraints\..*|columnMapping\.maxColumnId|appendOnly|enableChangeDataFeed"
    r"|.*[Rr]etention.*|.*[Cc]heckpoint.*|in[Cc]ommitTimestamp.*|enableInCommitTimestamps.*)"
)
_PROPERTY = re.compile(r"'((?:[^'\\]|\\.)*)' = '((?:[^'\\]|\\.)*)'")


def table_layout(table: TableFacts) -> Layout:
    """By part, each in the words of SQL.

    >>> from planopt_assets.model.table_facts import Protocol
    >>> properties = (("delta.logRetentionDuration", "1 day"), ("delta.targetFileSize", "32mb"))
    >>> facts = TableFacts("t", "/t", "x", 0, Protocol(1, 2), (), partition_columns=("d",), properties=properties)
    >>> table_layout(facts)
    {'partitioned by': '`d`', 'delta.targetFileSize': '32mb'}
    """
    found: Layout = {}
    if table.partition_columns:
        found["partitioned by"] = ", ".join(map(quoted_name, table.partition_columns))
    if table.clustering_columns:
        found["clustered by"] = ", ".join(table.clustering_columns)
    return found | {
        _inner(name): _inner(value) for name, value in table.properties if not _NO_LAYOUT.fullmatch(_inner(name))
    }


def layout_in_ddl(metadata: str) -> Layout:
    """The same from a stored CREATE statement: rows before schema version 5 hold nothing else.

    >>> layout_in_ddl("CREATE TABLE `t` (\\n  `d` DATE\\n)\\nUSING delta\\nPARTITIONED BY (`d`)\\n"
    ...               "TBLPROPERTIES ('delta.targetFileSize' = '32mb', 'delta.logRetentionDuration' = '1 day');")
    {'partitioned by': '`d`', 'delta.targetFileSize': '32mb'}
    """
    found: Layout = {}
    for line in metadata.removesuffix(";").splitlines():
        text = line.removesuffix(";")
        for clause, part in (("PARTITIONED BY (", "partitioned by"), ("CLUSTER BY (", "clustered by")):
            if text.startswith(clause):
                found[part] = text.removeprefix(clause).removesuffix(")")
        if text.startswith("TBLPROPERTIES ("):
            found |= {name: value for name, value in _PROPERTY.findall(text) if not _NO_LAYOUT.fullmatch(name)}
    return found


def _inner(text: str) -> str:
    return quoted_text(text)[1:-1]
