"""Runs that sensors ask for: what became of them, and how often they may be asked for again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from planopt_assets.model.ids import content_id

if TYPE_CHECKING:
    from planopt_assets.automate.changes import RunState
    from planopt_assets.defs.names import Names

CHANGE_TAG = "planopt/change"  # what a run was asked for; a retry has the same
SENSOR_TAG = "dagster/sensor_name"
MOST_TRIES = 3
_ENDED = {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED}
# A run that was only created is not at work: its daemon was killed. Asked for again by its key, Dagster launches it.
_UNFINISHED = [s for s in dg.DagsterRunStatus if s not in _ENDED and s != dg.DagsterRunStatus.NOT_STARTED]


def key_of(parts: Mapping[str, str]) -> str:
    """The same queries on the same inputs have the same key, in any tick and after any restart."""
    return content_id("chg", dict(sorted(parts.items())))


def at_work(instance: dg.DagsterInstance, sensor: str) -> str:
    """The id of a run of this sensor that has not ended. While there is one, the sensor asks for no other."""
    runs = instance.get_runs(dg.RunsFilter(tags={SENSOR_TAG: sensor}, statuses=_UNFINISHED), limit=1)
    return runs[0].run_id if runs else ""


def states(instance: dg.DagsterInstance, keys: Iterable[str]) -> dict[str, RunState]:
    """What became of the newest run for each key. A key without a run that was launched is left out."""
    found: dict[str, RunState] = {}
    for key in set(keys) - {""}:
        runs = instance.get_runs(dg.RunsFilter(tags={CHANGE_TAG: key}), limit=1)
        status = runs[0].status if runs else dg.DagsterRunStatus.NOT_STARTED
        if status != dg.DagsterRunStatus.NOT_STARTED:
            done: RunState = "succeeded" if status == dg.DagsterRunStatus.SUCCESS else "failed"
            found[key] = done if status in _ENDED else "unfinished"
    return found


def failures(instance: dg.DagsterInstance, key: str) -> int:
    """How many runs for this key ended without success."""
    lost = [status for status in _ENDED if status != dg.DagsterRunStatus.SUCCESS]
    return len(instance.get_runs(dg.RunsFilter(tags={CHANGE_TAG: key}, statuses=lost), limit=MOST_TRIES))


def run_request(
    instance: dg.DagsterInstance, names: Names, job: str, key: str, queries: Sequence[str]
) -> dg.RunRequest | str:
    """A run for these queries, or why none is asked for any more: it is left for the nightly sweep.

    Dagster starts a run key once, ever: a second tick, or a daemon killed in between, starts nothing twice. So a key
    whose run succeeded must not be asked for again: nothing would start, and whoever asked would wait for ever.
    """
    if states(instance, [key]).get(key) == "succeeded":
        return f"a run looked at exactly these queries and inputs, and left {len(queries)} so"
    tries = failures(instance, key)
    if tries >= MOST_TRIES:
        return f"{tries} runs did not succeed: left for the nightly sweep"
    return dg.RunRequest(
        run_key=f"{key}-{tries + 1}",
        job_name=names.named(job),
        run_config=names.run_config(queries, job=job, by_person=False),
        tags={CHANGE_TAG: key},
    )
