"""The veto: what automation may set, hint or rewrite, by the knob catalogue and the workload file."""

from __future__ import annotations

from functools import lru_cache

from planopt_assets.decide.catalogue import CATALOGUE, RESULT_CHANGING
from planopt_assets.model.hint import Hint
from planopt_assets.model.knob import Knob
from planopt_assets.model.part import Part
from planopt_assets.model.policy import Policy
from planopt_assets.model.rewrite import Rewrite
from planopt_assets.model.setting import Setting
from planopt_assets.model.workload import Knobs


def knob(name: str) -> Knob | None:
    return next((k for k in CATALOGUE if k.name == name), None)


def objection(name: str, value: str, limits: Knobs) -> str | None:
    """Why automation may not set this knob to this value, or None.

    >>> objection("spark.sql.ansi.enabled", "false", Knobs())
    'spark.sql.ansi.enabled may change results'
    >>> objection("spark.sql.optimizer.excludedRules", "any.Rule", Knobs(allow=("spark.sql.optimizer.excludedRules",)))
    "spark.sql.optimizer.excludedRules: 'any.Rule' is not among its values"
    """
    if changes_results(name):
        return f"{name} may change results"
    entry = knob(name)
    if entry is None or entry.may_change_results:
        return f"{name} is not in the knob catalogue"
    if (strange := entry.objection(value)) is not None:
        return strange
    if name in limits.deny:
        return f"{name} is denied in the workload file"
    if entry.opt_in and name not in limits.allow:
        return f"{name} is opt-in: list it in `knobs.allow` of the workload file"
    if limits.allow and name not in limits.allow:
        return f"{name} is not among the allowed knobs of the workload file"
    if name in dict(limits.pin):
        return f"{name} is pinned in the workload file"
    return None


def objections(change: Policy, limits: Knobs) -> tuple[str, ...]:
    """All objections to a change, in the order of its parts.

    >>> objections(Policy.of({"spark.sql.ansi.enabled": "false"}, rewrites=["drop_where"]), Knobs())
    ('spark.sql.ansi.enabled may change results', "'drop_where' is not a known rewrite")
    """
    return tuple(against for part in change.parts if (against := _part_objection(part, limits)))


def persons_limits(policy: Policy, limits: Knobs) -> Knobs:
    """The limits for a policy that a person chose: they may set what the workload file denies to automation.

    A knob that the file pins stays as it is.
    """
    return Knobs(allow=tuple(name for name, _ in policy.settings), pin=limits.pin)


@lru_cache(maxsize=1024)  # asked for every policy of every query, of a few dozen names
def changes_results(name: str) -> bool:
    """Whether a setting may change results. An entry that ends with a dot is a prefix."""
    return any(name == other or (other.endswith(".") and name.startswith(other)) for other in RESULT_CHANGING)


def size_in_bytes(text: str) -> int:
    """A byte setting as a number. Spark shows it as `134217728b`, `128MB` or a plain number.

    >>> size_in_bytes("128MB"), size_in_bytes("4194304b"), size_in_bytes("42"), size_in_bytes("-1b")
    (134217728, 4194304, 42, -1)
    """
    digits = text.rstrip("bBkKmMgGtT")
    unit = text[len(digits) :].lower().removesuffix("b")
    power = "kmgt".index(unit) + 1 if unit else 0
    return int(digits) * int(1024**power)


def _part_objection(part: Part, limits: Knobs) -> str | None:
    """The veto for each kind of part. A kind without a veto is refused."""
    match part:
        case Setting(name, value):
            return objection(name, value, limits)
        case Hint():
            return _hint_objection(part)
        case Rewrite(name):
            return None if part.spec else f"{name!r} is not a known rewrite"
    return f"{part.describe()}: no veto covers this kind of part, so it is refused"


def _hint_objection(hint: Hint) -> str | None:
    """A hint passes only if it can be parsed back: one join and one of three strategies."""
    try:
        Hint.parse(str(hint))
    except ValueError as error:
        return str(error)
    return None
