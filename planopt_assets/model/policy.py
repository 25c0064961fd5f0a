"""A policy: what is set differently from the workload's own settings when a query is planned."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from planopt_assets.model.ids import content_id


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings, join hints, rewrites and layout references; its id is the hash of its content.

    >>> Policy.of({"spark.sql.shuffle.partitions": "8"}).describe()
    'shuffle.partitions=8'
    """

    settings: tuple[tuple[str, str], ...] = ()
    hints: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    rewrites: tuple[str, ...] = ()  # names of rewrites of the query's own text, as in `replan/rewrites`

    @staticmethod
    def of(settings: dict[str, str]) -> Policy:
        return Policy(settings=tuple(sorted(settings.items())))

    @staticmethod
    def from_json(text: str) -> Policy:
        content = json.loads(text)
        return Policy(
            settings=tuple(sorted(content["settings"].items())),
            hints=tuple(content["hints"]),
            layouts=tuple(content["layouts"]),
            rewrites=tuple(content.get("rewrites", ())),
        )

    @property
    def content(self) -> dict[str, object]:
        content: dict[str, object] = {
            "settings": dict(self.settings),
            "hints": list(self.hints),
            "layouts": list(self.layouts),
        }
        return content | ({"rewrites": list(self.rewrites)} if self.rewrites else {})  # absent in older ids

    @property
    def id(self) -> str:
        return content_id("pol", self.content)

    def to_json(self) -> str:
        return json.dumps(self.content, sort_keys=True)

    def with_settings(self, settings: dict[str, str]) -> Policy:
        return replace(self, settings=tuple(sorted({**dict(self.settings), **settings}.items())))

    def merged(self, other: Policy) -> Policy:
        """Both together; where they set the same knob, the other one's value."""
        return Policy(
            tuple(sorted({**dict(self.settings), **dict(other.settings)}.items())),
            tuple(sorted({*self.hints, *other.hints})),
            tuple(sorted({*self.layouts, *other.layouts})),
            tuple(sorted({*self.rewrites, *other.rewrites})),
        )

    def within(self, other: Policy) -> bool:
        """Whether the other one sets all that this one does, and maybe more.

        >>> Policy.of({"a": "1"}).within(Policy.of({"a": "1", "b": "2"}))
        True
        """
        return (
            set(self.settings) <= set(other.settings)
            and set(self.hints) <= set(other.hints)
            and set(self.layouts) <= set(other.layouts)
            and set(self.rewrites) <= set(other.rewrites)
        )

    def describe(self) -> str:
        """The policy in a few words, for tables and logs."""
        parts = [f"{name.removeprefix('spark.sql.')}={value}" for name, value in self.settings]
        return ", ".join([*parts, *self.hints, *self.rewrites, *self.layouts]) or "original"


ORIGINAL = Policy()
"""Nothing set: always exists, never purged, always an arm of every trial."""
