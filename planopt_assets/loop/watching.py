"""What is due for a policy in force, from stored rows: it expired, or it got worse. Never starts Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planopt_assets.model.policy import ORIGINAL
from planopt_assets.promote.chain import spent
from planopt_assets.promote.expiry import expired
from planopt_assets.promote.transitions import Expire, Revert
from planopt_assets.promote.watch import found_worse, regression

if TYPE_CHECKING:
    from planopt_assets.model.promotion import Chain
    from planopt_assets.store.reader import StoreReader

Row = dict[str, Any]
LIVE = ("observe", "production")


def due(
    reader: StoreReader,
    query_id: str,
    chain: Chain,
    promotions: Sequence[Row],
    stored: Mapping[str, Sequence[Row]],
    inputs: str | None,
) -> Expire | Revert | None:
    """The event that should happen now; rows are all of the query, oldest first, `inputs` are the current ones.

    Nothing is due for original, for a pin, and where the evidence itself is missing: a gate says so.
    """
    if not chain or chain[-1].fixed or chain[-1].policy == ORIGINAL:
        return None
    policy, verdicts = chain[-1].policy, stored["verdicts"]
    accepted = [v for v in verdicts if v["policy_id"] == policy.id and v["outcome"] == "accept"]
    gone = spent(chain, by_hand=False) - {chain[-1].verdict_id}
    # The newest one: a policy that was proven again on newer inputs is measured by that.
    proof = next((v for v in reversed(accepted) if v["verdict_id"] not in gone), None)
    if proof is None:
        return None
    known = tuple(v["verdict_id"] for v in accepted)
    captured = [a for a in stored["plan_artifacts"] if a["status"] == "captured"]
    then = _last_run([a for a in captured if a["input_fingerprint"] == proof["input_fingerprint"]])
    now = _last_run(captured)
    if then and now and then[0]["run_id"] != now[0]["run_id"]:
        tables = reader.rows("input_tables", ["observation_id", "table", "metadata"], query_id=query_id)
        if why := expired(then, now, _of(tables, then[:1]), _of(tables, now[:1])):
            return Expire(why, (now[0]["observation_id"], *known))
    worse = next(
        (v for v in reversed(verdicts) if v["policy_id"] == policy.id and v["input_fingerprint"] == inputs), None
    )
    if worse is not None and worse["verdict_id"] != proof["verdict_id"] and found_worse(worse):
        return Revert(
            "last_good", f"a later trial found it worse: {worse['reason']}", None, (*known, worse["verdict_id"])
        )
    return _regressed(reader, query_id, policy.id, promotions[-1], proof, then, known)


def _regressed(
    reader: StoreReader,
    query_id: str,
    policy_id: str,
    promoted: Row,
    proof: Row,
    observed: Sequence[Row],
    known: tuple[str, ...],
) -> Revert | None:
    counters = reader.rows("runtime_counters", query_id=query_id)
    live = [c for c in counters if c["purpose"] in LIVE]
    later = [c for c in live if c["policy_id"] == policy_id and c["recorded_at"] > promoted["recorded_at"]]
    if not later:
        return None
    warm_ups = {
        t["trial_id"] for t in reader.rows("trials", ["trial_id", "warm_up"], query_id=query_id) if t["warm_up"]
    }
    counted = set(proof["trial_ids"]) - warm_ups
    sizes = _sizes(counters, observed)
    evidence = [_sized(c, sizes) for c in counters if c["execution_id"] in counted]
    control = [c for c in live if c["policy_id"] == ORIGINAL.id]
    found = regression(evidence, later, control, since=promoted["recorded_at"])
    return Revert("last_good", found.reason, None, (*found.evidence, *known)) if found else None


def _sizes(counters: Sequence[Row], observed: Sequence[Row]) -> dict[int, int | None]:
    """Bytes of the tables, per binding: trials read the versions of their observation, and are not asked themselves."""
    by_id = {c["execution_id"]: c["table_bytes"] for c in counters}
    return {a["binding"]: by_id.get(a["observation_id"]) for a in observed}


def _sized(row: Row, sizes: Mapping[int, int | None]) -> Row:
    return row if row["table_bytes"] is not None else {**row, "table_bytes": sizes.get(row["binding"])}


def _of(tables: Sequence[Row], artifacts: Sequence[Row]) -> list[Row]:
    return [t for t in tables if t["observation_id"] in {a["observation_id"] for a in artifacts}]


def _last_run(rows: Sequence[Row]) -> list[Row]:
    return [r for r in rows if r["run_id"] == rows[-1]["run_id"]]
