"""The source Delta tables of the workload as external assets, each with who may change its layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg

from planopt_assets.defs.doc_links import doc_metadata, with_doc_link
from planopt_assets.defs.names import TABLES_GROUP, Names
from planopt_assets.loop.tables_read import tables_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from planopt_assets.defs.code_location import CodeLocation
    from planopt_assets.loop.run import Run
    from planopt_assets.loop.tables_read import TableRead
    from planopt_assets.model.workload import Maintain, Table

PAGE = "workload.md"
_SHOWN = 100  # readers by name
_WRITTEN: dict[Maintain, str] = {
    "never": "planopt reads it and never writes to it.",
    "by_hand": "planopt reads it, and changes its layout only when a person asks for it.",
    "auto": "planopt reads it, and may change its layout in mode `auto`, never its rows.",
}


def table_assets(location: CodeLocation) -> list[dg.AssetSpec]:
    """One external asset per registered table, except for those that are assets of the project already."""
    names = location.names
    return [
        dg.AssetSpec(
            names.table_key(table.name),
            group_name=names.group(TABLES_GROUP),
            kinds={"deltalake"},
            owners=table.owners or location.owners,
            description=with_doc_link(
                f"Delta table `{table.name}` of the workload file. {_WRITTEN[table.maintain]} "
                "Version, rows, size and the queries that read it are under the newest observation.",
                PAGE,
                location.docs_url,
            ),
            metadata={**_where(table), **doc_metadata(PAGE, location.docs_url)},
        )
        for table in location.tables
        if table.name not in names.own_tables
    ]


def _where(table: Table) -> dict[str, Any]:
    where = {"dagster/uri": table.path} if table.path else {}
    return {"dagster/table_name": table.catalog or table.name, **where}


def table_observations(names: Names, run: Run, stage: str, query_ids: Sequence[str]) -> Iterator[dg.AssetObservation]:
    """After observe: every source table of these queries, as this run sees it."""
    if stage == "observe":
        read = [one for one in tables_read(run, query_ids) if one.table.name not in names.own_tables]
        yield from (observed_table(names, one) for one in read)


def observed_table(names: Names, read: TableRead) -> dg.AssetObservation:
    """What a run saw of a source table."""
    table, size = read.table, read.size
    known = {"dagster/row_count": size.rows, "files": size.files, "size_bytes": size.bytes}
    return table_observation(
        names,
        table.name,
        table_id=table.table_id,
        version=table.version,
        metadata={
            "queries": dg.MetadataValue.md(_list(read.readers)),
            "readers": len(read.readers),
            **{name: value for name, value in known.items() if value is not None},
            "dagster/uri": table.location,
        },
    )


def table_observation(
    names: Names, table: str, *, table_id: str, version: int, metadata: Mapping[str, Any] | None = None
) -> dg.AssetObservation:
    """A source table at a version, whoever saw it: a run or a sensor. The data version changes with each commit."""
    return dg.AssetObservation(
        names.table_key(table),
        description=f"{table} is at version {version}",
        metadata={"version": version, **(metadata or {}), "table_id": table_id},
        tags={"dagster/data_version": f"{table_id}@{version}"},
    )


def _list(query_ids: Sequence[str]) -> str:
    more = f"\n\n{len(query_ids) - _SHOWN:,} more" if len(query_ids) > _SHOWN else ""
    return "Read by\n\n" + "\n".join(f"- `{query}`" for query in query_ids[:_SHOWN]) + more
