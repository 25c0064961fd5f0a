"""What the assets and ops of all stages share, whether their subject is a query or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.defs.doc_links import doc_metadata, with_doc_link

if TYPE_CHECKING:
    from planopt_assets.defs.code_location import CodeLocation

KINDS = {"spark", "deltalake"}
PAGES = {
    "observe": "observe.md",
    "decide": "decide.md",
    "replan": "replan.md",
    "validate": "validate.md",
    "promote": "using.md",
    "readiness": "tables.md",
    "maintain": "layouts.md",
}


def stage_step(
    location: CodeLocation,
    stage: str,
    *,
    deps: Mapping[str, Sequence[dg.AssetKey | dg.AssetDep]],
    descriptions: Mapping[str, str],
    freshness: dg.FreshnessPolicy | None = None,
) -> Any:
    """Decorates the function of a stage: one step that makes all its assets, for all partitions of the run."""
    called = location.names
    about_queries = stage in names.ASSETS
    specs = [
        dg.AssetSpec(
            called.asset_key(asset),
            group_name=called.group(stage),
            deps=deps[asset],
            partitions_def=location.queries if about_queries else location.table_partitions,
            description=with_doc_link(descriptions[asset], PAGES[stage], location.docs_url),
            kinds=KINDS,
            owners=location.owners_of_queries if about_queries else location.owners_of_tables,
            freshness_policy=freshness,
            metadata=doc_metadata(PAGES[stage], location.docs_url),
        )
        for asset in (names.ASSETS | names.TABLE_ASSETS)[stage]
    ]
    return dg.multi_asset(
        name=called.named(stage),
        specs=specs,
        pool=names.POOL,
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={called.workspace},
    )


def queries_step(location: CodeLocation, name: str) -> Any:
    """Decorates one step of a job over a list of queries: it gets the list, and hands it on."""
    return dg.op(
        name=location.names.named(name),
        ins={"queries": dg.In(list)},
        out=dg.Out(list),
        pool=names.POOL,
        required_resource_keys={location.names.workspace},
    )
