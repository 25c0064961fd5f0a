"""What the page of an asset shows: the summary of a run first, then the facts of one query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from planopt_assets.defs import names
from planopt_assets.loop.summary import happened, headline, run_summary
from planopt_assets.model.redaction import redact

if TYPE_CHECKING:
    from planopt_assets.loop.run import Run, StageResult
    from planopt_assets.loop.standing import Standing
    from planopt_assets.model.workload import Workload


ALL_QUERIES = "all queries"
"""Metadata with the summary of a run. It has an event of its own, for no partition and after theirs: the page of an
asset shows the newest event, and Dagster records the partitions of a range in any order."""


def stage_metadata(called: names.Names, run: Run, stage: str, asset: str, result: StageResult) -> dict[str, Any]:
    """Metadata of one query: what happened in a sentence, details, and numbers, which Dagster plots over time."""
    said = happened(stage, result, run.standings()[result.query_id], run.workload.objective)
    details = {"details": dg.MetadataValue.md(result.markdown)} if result.markdown else {}
    owners = run.workload.owners_of(result.query_id)
    return {
        "query": result.query_id,
        "summary": redact(said),
        **result.words,
        **details,
        **result.numbers,
        "changed": int(result.changed),
        **({"owners": ", ".join(owners)} if owners else {}),
        "dagster/uri": f"{run.workload.store}/{asset}",
        "dagster/table_name": asset,
        **column_lineage(called, result),
    }


def summaries(
    called: names.Names, run: Run, stage: str, results: Sequence[StageResult]
) -> Iterator[dg.AssetMaterialization]:
    """One event per asset of the stage for the page that is not of one query, to be logged after all others."""
    metadata = _summary(run.workload, stage, results, run.standings())
    for asset in names.ASSETS[stage]:
        yield dg.AssetMaterialization(called.asset_key(asset), metadata=metadata)


def nothing_due(called: names.Names, workload: Workload, standings: Mapping[str, Standing]) -> dg.AssetMaterialization:
    """A sweep that found nothing to do: what is in force was looked at, and stays."""
    key = called.asset_key("active_policies")
    return dg.AssetMaterialization(key, metadata=_summary(workload, "promote", [], standings))


def _summary(
    workload: Workload, stage: str, results: Sequence[StageResult], standings: Mapping[str, Standing]
) -> dict[str, Any]:
    return {
        "overview": headline(list(standings.values()), len(results)),
        ALL_QUERIES: dg.MetadataValue.md(run_summary(stage, results, standings, workload.objective)),
    }


def column_lineage(called: names.Names, result: StageResult) -> dict[str, Any]:
    """The origins of the result's columns in Dagster's format. They lead to the assets of the source tables.

    Dagster holds one column per name, so the origins of two columns with the same name are merged.
    """
    origins: dict[str, dict[tuple[str, str], None]] = {}
    for name, made_from in result.columns:
        found = origins.setdefault(name, {})
        found.update(dict.fromkeys((table, column) for table, _, column in (o.partition(".") for o in made_from)))
    if not origins:
        return {}
    deps = {
        name: [dg.TableColumnDep(asset_key=called.table_key(table), column_name=column) for table, column in found]
        for name, found in origins.items()
    }
    return {"dagster/column_lineage": dg.TableColumnLineage(deps_by_column=deps)}
