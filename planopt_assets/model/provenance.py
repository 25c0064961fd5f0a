"""What shaped a plan besides the query and its tables: settings, environment, and the planner's own rules."""

from __future__ import annotations

from dataclasses import dataclass

from planopt_assets.model.ids import content_id

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlanningEnvironment:
    """Plan-shaping settings as they are in force, and the machinery they are in force for."""

    settings: Pairs  # sorted; values that could be secrets are withheld
    environment: Pairs  # versions, master, cores, memory
    workers: Pairs = ()  # settings of Python workers, whoever set them; for people, in no hash

    @property
    def hash(self) -> str:
        return content_id("env", {"settings": dict(self.settings), "environment": dict(self.environment)})


@dataclass(frozen=True, slots=True)
class Rulepack:
    """Every rule of the planner, batch by batch, in the order it is applied."""

    batches: tuple[tuple[str, tuple[str, ...]], ...]  # `phase: batch`, rules

    @property
    def hash(self) -> str:
        return content_id("rul", [[name, list(rules)] for name, rules in self.batches])


@dataclass(frozen=True, slots=True)
class Planning:
    """How one query was planned: the rules that changed its plan, and the time of each phase (never hashed)."""

    effective_rules: tuple[str, ...]
    phase_ms: tuple[tuple[str, int], ...]
