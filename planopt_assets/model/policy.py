"""A policy: what is set differently from the workload's own settings when a query is planned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from planopt_assets.model.hint import Hint
from planopt_assets.model.ids import content_id
from planopt_assets.model.part import Part
from planopt_assets.model.rewrite import Rewrite, RewriteSpec
from planopt_assets.model.setting import Setting

KINDS: tuple[type[Part], ...] = (Setting, Hint, Rewrite)
"""Every kind of part, in the order in which a policy holds and names them."""

_ALWAYS_STORED = ("settings", "hints")


@dataclass(frozen=True, slots=True)
class Policy:
    """A tuple of parts in one order, whatever order they come in; its id is the hash of its content.

    >>> Policy.of({"spark.sql.shuffle.partitions": "8"}, hints=["broadcast(join0.right d)"]).describe()
    'shuffle.partitions=8, broadcast(join0.right d)'
    """

    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        order = {kind: number for number, kind in enumerate(KINDS)}
        parts = sorted(self.parts, key=lambda part: (order[type(part)], part.place))
        object.__setattr__(self, "parts", tuple(parts))

    @staticmethod
    def of(
        settings: Mapping[str, str] | None = None, *, hints: Iterable[str] = (), rewrites: Iterable[str] = ()
    ) -> Policy:
        """From plain words, as people and files write them; a ValueError where a text is no hint."""
        return Policy((*Setting.read(settings or {}), *Hint.read(hints), *Rewrite.read(rewrites)))

    @staticmethod
    def from_json(text: str) -> Policy:
        """A stored policy, whole: a ValueError where it has parts that this planopt does not know."""
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError(f"not a policy: {text}")  # a damaged row, no mistake of the program
        known = {kind.kind for kind in KINDS}
        strange = [kind for kind, stored in content.items() if stored and kind not in known]
        if strange or not content.keys() >= set(_ALWAYS_STORED):
            raise ValueError(f"not a policy of this version: {', '.join(strange) or text}")
        return Policy(tuple(part for kind in KINDS if kind.kind in content for part in kind.read(content[kind.kind])))

    @property
    def content(self) -> dict[str, Any]:
        """What is stored and hashed: a kind that came later is absent where there is none, so that older ids hold.

        No part is a layout, but the first ids have a place for them.
        """
        later = {kind: stored for kind, stored in self.facts().items() if stored}
        return {"settings": {}, "hints": [], "layouts": []} | later

    @property
    def id(self) -> str:
        return _id_of(self)

    def to_json(self) -> str:
        return json.dumps(self.content, sort_keys=True)

    def facts(self) -> dict[str, Any]:
        """The whole policy as plain data, every kind of part in it.

        >>> Policy.of(hints=["merge(join0.left)"]).facts()
        {'settings': {}, 'hints': ['merge(join0.left)'], 'rewrites': []}
        """
        return {kind.kind: kind.stored([p for p in self.parts if isinstance(p, kind)]) for kind in KINDS}

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """As sessions take them."""
        return tuple((part.name, part.value) for part in self.parts if isinstance(part, Setting))

    @property
    def hints(self) -> tuple[Hint, ...]:
        return tuple(part for part in self.parts if isinstance(part, Hint))

    @property
    def rewrites(self) -> tuple[str, ...]:
        """Their names, in the order in which they are applied."""
        return tuple(part.name for part in self.parts if isinstance(part, Rewrite))

    @property
    def rewrite_specs(self) -> tuple[RewriteSpec, ...]:
        """What is known of them, for those that this planopt has."""
        specs = (part.spec for part in self.parts if isinstance(part, Rewrite))
        return tuple(spec for spec in specs if spec is not None)

    @property
    def needs_text(self) -> bool:
        """Whether settings alone cannot carry it."""
        return any(part.needs_text for part in self.parts)

    def without(self, part: Part) -> Policy:
        return Policy(tuple(p for p in self.parts if p != part))

    def beyond(self, other: Policy) -> Policy:
        """The parts that the other one does not have.

        >>> Policy.of({"a": "1", "b": "2"}).beyond(Policy.of({"a": "1"})).describe()
        'b=2'
        """
        return Policy(tuple(part for part in self.parts if part not in other.parts))

    def merged(self, other: Policy) -> Policy:
        """Both together; where parts conflict, the other one's."""
        kept = [part for part in self.parts if not any(part.conflicts_with(new) for new in other.parts)]
        return Policy(tuple(sorted({*kept, *other.parts}, key=lambda part: part.label)))

    def within(self, other: Policy) -> bool:
        """Whether the other one changes all that this one does, and maybe more.

        >>> Policy.of({"a": "1"}).within(Policy.of({"a": "1", "b": "2"}))
        True
        """
        return set(self.parts) <= set(other.parts)

    def conflicts_with(self, other: Policy) -> bool:
        """Whether both cannot be in force together: one knob with two values, one join input with two strategies.

        >>> Policy.of({"a": "1"}).conflicts_with(Policy.of({"a": "2"}))
        True
        """
        return any(one.conflicts_with(two) for one in self.parts for two in other.parts)

    def describe(self) -> str:
        """The policy in a few words, for tables and logs."""
        return ", ".join(part.describe() for part in self.parts) or "original"


@lru_cache(maxsize=65536)
def _id_of(policy: Policy) -> str:
    """Hashed once: the same few policies stand in many rows, and are compared by id."""
    return content_id("pol", policy.content)


ORIGINAL = Policy()
"""Nothing set: always exists, never purged, always an arm of every trial."""
