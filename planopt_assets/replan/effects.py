"""Which parts of a policy show in a plan: the plan with the policy against the plan without that one part."""

from __future__ import annotations

from dataclasses import replace

from planopt_assets.decide.knobs import knob
from planopt_assets.model.hint import Hint
from planopt_assets.model.policy import Policy


def visible_parts(policy: Policy) -> dict[str, Policy]:
    """Every part that must show in the plan, each with the policy without it; hints and rewrites always must.

    >>> list(visible_parts(Policy((("spark.sql.shuffle.partitions", "8"),), ("broadcast(join0.right d)",))))
    ['spark.sql.shuffle.partitions', 'broadcast(join0.right d)']
    """
    found = {}
    for setting in policy.settings:
        if not _only_while_running(setting[0]):
            found[setting[0]] = replace(policy, settings=tuple(s for s in policy.settings if s != setting))
    for hint in policy.hints:
        found[hint] = replace(policy, hints=tuple(h for h in policy.hints if h != hint))
    for rewrite in policy.rewrites:
        found[rewrite] = replace(policy, rewrites=tuple(r for r in policy.rewrites if r != rewrite))
    return found


def runtime_parts(policy: Policy) -> tuple[str, ...]:
    """Settings that may work only while the query runs: adaptive execution, readers, batches."""
    return tuple(name for name, _ in policy.settings if _only_while_running(name))


def idle_hint_words(hint: Hint, joins: list[tuple[str, str]]) -> str:
    """What became of the join a hint is for; `joins` are those that Spark says a hint reached.

    >>> joins = [("rightHint=(strategy=broadcast)", "SortMergeJoin [a#1], [b#2], FullOuter")]
    >>> idle_hint_words(Hint("broadcast", "join0.right d"), joins)
    'hint not applied: join0.right d stays SortMergeJoin'
    """
    asked = f"{hint.side}Hint=(strategy={hint.strategy})"
    operators = sorted({operator.split(" ")[0] for words, operator in joins if asked in words})
    became = f"stays {' or '.join(operators)}" if operators else "is no join of its own in the plan"
    return f"hint not applied: {hint.target} {became}"


def _only_while_running(name: str) -> bool:
    entry = knob(name)
    return entry is not None and not entry.visible_in_plan
