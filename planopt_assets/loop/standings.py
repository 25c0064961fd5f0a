"""Where every query of a workload stands, from the store and the heads of the Delta logs. Never starts Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.errors import TableUnreadable
from planopt_assets.loop.spelling import canonical_identity, earlier_spelling
from planopt_assets.loop.standing import Rows, Standing
from planopt_assets.loop.versions import contract
from planopt_assets.loop.watching import due
from planopt_assets.model.inputs import PinnedTable, context_hash, input_fingerprint, query_fingerprint
from planopt_assets.model.policy import Policy
from planopt_assets.promote.expiry import layout_of
from planopt_assets.promote.lifecycle import lifecycles
from planopt_assets.store.promotions import newest, verified_chain

if TYPE_CHECKING:
    from planopt_assets.engine.delta.pins import Pins
    from planopt_assets.model.workload import Query, Workload
    from planopt_assets.store.reader import StoreReader

Layouts = dict[str, dict[str, dict[str, str]]]  # observation, table, property

_WEIGHT = ["execution_id", "table_bytes"]
_LAYOUT = ["observation_id", "table", "metadata"]


def standings(workload: Workload, reader: StoreReader, sources: Mapping[str, str], pins: Pins) -> dict[str, Standing]:
    """Every query of the workload; `sources` holds the text that defines each (SQL, or a module's source)."""
    by_query = {
        name: _by_query(reader.rows(name))
        for name in ("plan_artifacts", "policy_decisions", "candidate_plans", "verdicts")
    }
    promotions = _by_query(reader.rows("active_policies"))
    tried = _by_query(reader.rows("trials", ["query_id", "policy_id"]))
    linked = {r["child_id"] for r in reader.rows("lineage", ["child_id"], stage="promote")} if promotions else set()
    weights = {r["execution_id"]: r["table_bytes"] for r in reader.rows("runtime_counters", _WEIGHT)}
    layouts = _layouts(reader.rows("input_tables", _LAYOUT))
    found = {}
    for query in workload.queries:
        rows = {name: groups.get(query.id, []) for name, groups in by_query.items()}
        fingerprint = query_fingerprint(query, sources[query.id])
        spelling = _spelling(workload, query, fingerprint, rows, pins)
        known = [a for a in rows["plan_artifacts"] if a["query_fingerprint"] == spelling]
        read = _tables_now(workload, known, pins)
        inputs = _current_inputs(workload, query, spelling, known, read)
        # The last run that saw these inputs speaks; an older one of the same inputs may have been cut short.
        artifacts = _last_run([a for a in known if a["input_fingerprint"] == inputs])
        decisions = _last_run([d for d in rows["policy_decisions"] if d["input_fingerprint"] == inputs])
        chain = verified_chain(workload.name, query.id, promotions.get(query.id, []))
        active = newest(chain)
        found[query.id] = Standing(
            query_id=query.id,
            query_fingerprint=fingerprint,
            input_fingerprint=inputs,
            mode=workload.mode,
            artifacts=artifacts,
            decisions=decisions,
            candidates=_newest_each([c for c in rows["candidate_plans"] if c["input_fingerprint"] == inputs]),
            verdicts=_newest_each([v for v in rows["verdicts"] if v["input_fingerprint"] == inputs]),
            active=active,
            promoted_by=next((v for v in rows["verdicts"] if active and v["verdict_id"] == active.verdict_id), None),
            carried=_carried(decisions, rows["verdicts"]),
            past_verdicts=rows["verdicts"],
            canonical_fingerprint=canonical_identity(artifacts),
            context_hash=_context(workload, query, artifacts, read, layouts),
            input_bytes=_total([weights.get(a["observation_id"]) for a in artifacts]),
            changes=() if artifacts else _changes(rows["plan_artifacts"], known, read),
            chain=chain,
            promotions=promotions.get(query.id, []),
            due=due(reader, query.id, chain, promotions.get(query.id, []), rows, inputs),
            unlinked=any(p.id not in linked for p in chain),
            policies=lifecycles(rows["candidate_plans"], tried.get(query.id, []), rows["verdicts"], chain),
        )
    return found


def _spelling(workload: Workload, query: Query, fingerprint: str, rows: Mapping[str, Rows], pins: Pins) -> str:
    """The fingerprint this query is known by: its own, or that of the same query in an earlier spelling.

    A hint names an input by its alias, which may be what was changed: there the text counts as it is written.
    """
    artifacts = rows["plan_artifacts"]
    hinted = any(Policy.from_json(c["policy"]).hints for c in rows["candidate_plans"])
    if not artifacts or hinted or any(a["query_fingerprint"] == fingerprint for a in artifacts):
        return fingerprint
    return earlier_spelling(workload, query, artifacts, pins) or fingerprint


def _tables_now(workload: Workload, known: Rows, pins: Pins) -> tuple[PinnedTable, ...] | None:
    """The tables this query read last time, as they are now; None where one cannot be read or nothing is known."""
    if not known:
        return None
    declared = {t.name: t.path for t in workload.tables}
    try:
        return tuple(
            pins.pin(t["name"], declared.get(t["name"]) or t["location"]) for t in json.loads(known[-1]["tables"])
        )
    except TableUnreadable:
        return None  # it was there before: looking again will say what is wrong with it


def _current_inputs(
    workload: Workload, query: Query, spelling: str, known: Rows, read: tuple[PinnedTable, ...] | None
) -> str | None:
    if read is None:
        return None
    captured = known[-1]["status"] == "captured"
    return input_fingerprint(workload, query, "", read, contract(workload.master), captured=captured, known_as=spelling)


def _context(
    workload: Workload, query: Query, artifacts: Rows, read: tuple[PinnedTable, ...] | None, layouts: Layouts
) -> str | None:
    if not artifacts or read is None or artifacts[0]["contract_hash"] is None:
        return None
    return context_hash(
        workload,
        query,
        read,
        artifacts[0]["contract_hash"],
        contract(workload.master),
        engine=artifacts[0]["engine"],
        layouts=layouts.get(artifacts[0]["observation_id"]),
    )


def _layouts(tables: Rows) -> Layouts:
    """Of each observation, how its tables were laid out."""
    found: Layouts = {}
    for row in tables:
        found.setdefault(row["observation_id"], {})[row["table"]] = layout_of(row["metadata"] or "")
    return found


def _carried(decisions: Rows, verdicts: Rows) -> Rows:
    """Accepted verdicts on similar inputs that these decisions rely on."""
    named = {row_id for d in decisions for row_id in d["evidence_ids"]}
    return [v for v in verdicts if v["verdict_id"] in named and v["outcome"] == "accept"]


def _changes(artifacts: Rows, known: Rows, read: tuple[PinnedTable, ...] | None) -> tuple[str, ...]:
    """What is not as it was when the query was last observed."""
    if not artifacts:
        return ()
    if not known:
        return ("its text or its parameters",)
    if read is None:
        return ("a table that cannot be read now",)
    before = {t["name"]: t for t in json.loads(known[-1]["tables"])}
    moved = [
        f"{t.name} v{before[t.name]['version']} -> v{t.version}"
        if t.table_id == before[t.name]["table_id"]
        else f"{t.name} is another table"
        for t in read
        if (t.table_id, t.version) != (before[t.name]["table_id"], before[t.name]["version"])
    ]
    return tuple(moved) or ("settings, budgets or versions of Spark, Delta or planopt",)


def _by_query(rows: Rows) -> dict[str, Rows]:
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(row["query_id"], []).append(row)
    return groups


def _last_run(rows: Sequence[dict[str, Any]]) -> Rows:
    return [r for r in rows if r["run_id"] == rows[-1]["run_id"]]


def _newest_each(rows: Sequence[dict[str, Any]]) -> Rows:
    """The last word on each candidate; a later pass adds candidates, it does not take back the ones before."""
    return list({r["candidate_id"]: r for r in rows}.values())


def _total(values: Sequence[int | None]) -> int | None:
    return sum(v for v in values if v is not None) if values and None not in values else None
