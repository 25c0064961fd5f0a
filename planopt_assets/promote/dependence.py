"""The conditions of a policy: what each of its parts depends on, in the circumstances of its trials. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planopt_assets.decide.catalogue import CATALOGUE, LOOKED_AT
from planopt_assets.decide.knobs import knob, size_in_bytes
from planopt_assets.model.conditions import Circumstances, Condition, Conditions, Pairs, TableState
from planopt_assets.model.knob import UNSET
from planopt_assets.model.observation import PlanArtifact, PlanDetails
from planopt_assets.model.part import Part
from planopt_assets.model.policy import Policy
from planopt_assets.model.signals import Join

MEMORY = ("driver_memory", "executor_memory")

# How rows travel to Python workers does not shape a plan, and planopt's own session sets it to be safe (SPARK-58241).
_OF_PYTHON = ("spark.sql.execution.arrow.", "spark.sql.execution.pythonUDF.")

COMPARED = tuple(n for n in (*(k.name for k in CATALOGUE), *LOOKED_AT) if not n.startswith(_OF_PYTHON))
"""Settings that shape plans: what was proven under one value proves nothing under another."""


def conditions_of(policy: Policy, proven: Circumstances, joins: Iterable[Join]) -> Conditions:
    """What a policy depends on. `joins` are those of the plan as original, in which hints name their inputs.

    A setting that the policy sets itself is no condition: the session's own value does not matter.
    """
    own = {name for name, _ in policy.settings}
    kept = tuple((name, value) for name, value in proven.settings if name not in own)
    seen = list(joins)
    shown = Circumstances(proven.engine, proven.cores, proven.memory, proven.tables, kept, proven.parameters)
    return Conditions(shown, tuple(_condition(part, shown, seen) for part in policy.parts))


def circumstances_of(
    artifacts: Sequence[PlanArtifact], details: PlanDetails, tables: Sequence[TableState]
) -> Circumstances:
    """What an observation, and so the trials on its inputs, ran on. There is one artifact per binding."""
    known = dict(details.settings)
    return Circumstances(
        engine=release(artifacts[0].engine),
        cores=details.cores,
        memory=tuple((name, size_in_bytes(known[name])) for name in MEMORY if name in known),
        tables=tuple(sorted(tables, key=lambda t: t.name)),
        settings=compared(known),
        parameters=tuple(sorted({a.parameters or "{}" for a in artifacts})),
    )


def compared(settings: dict[str, str]) -> Pairs:
    """Of these settings those that are compared, each in one spelling.

    >>> compared({"spark.sql.autoBroadcastJoinThreshold": "10MB", "spark.app.name": "sales"})
    (('spark.sql.autoBroadcastJoinThreshold', '10485760'),)
    """
    return tuple(sorted((name, _plain(name, settings[name])) for name in COMPARED if name in settings))


def release(engine: str | None) -> str | None:
    """The engine with the release of Java alone: its patches change no plan.

    >>> release("delta 4.4.0, java 17.0.9, spark 4.2.0")
    'delta 4.4.0, java 17, spark 4.2.0'
    """
    if engine is None:
        return None
    parts = [p.split(".")[0] if p.startswith("java ") else p for p in engine.split(", ")]
    return ", ".join(parts)


def _plain(name: str, value: str) -> str:
    entry = knob(name)
    if entry is not None and entry.kind == "bytes" and value != UNSET:
        return str(size_in_bytes(value))
    return value.lower() if value.lower() in ("true", "false") else value


def _condition(part: Part, proven: Circumstances, joins: Sequence[Join]) -> Condition:
    needs, every = part.depends_on, tuple(t.name for t in proven.tables)
    return Condition(part.label, part.tables_behind(joins, every), cores=needs.cores, memory=needs.memory)
