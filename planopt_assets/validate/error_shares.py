"""Who may err how much in one experiment: each candidate gets its share of the query's error at its first look."""

from __future__ import annotations

from planopt_assets.validate.error_budget import ErrorBudget
from planopt_assets.validate.judge_rules import Rules
from planopt_assets.validate.race import looked_error


class ErrorShares:
    """Candidates are numbered in the order in which clocks are first looked at. A share once given stays the same.

    A trial that confirms the policy in force (`budget` is None) puts nothing in force, and spends nothing.
    """

    def __init__(self, rules: Rules, budget: ErrorBudget | None) -> None:
        self._rules, self._budget = rules, budget
        self._given: dict[str, float] = {}
        self._spent: dict[str, float] = {}

    def rules_for(self, arm_id: str, pairs: int, *, done: bool) -> Rules:
        """The judge's rules for a look at this many pairs of an arm."""
        if self._budget is None:
            return self._rules.within(self._rules.confirmation_error)
        looks = pairs >= min(self._rules.confirm_pairs, self._rules.min_pairs)
        if looks and arm_id not in self._given:
            self._given[arm_id] = self._budget.available
            self._budget = self._budget.after(self._budget.available)
        rules = self._rules.within(self.available(arm_id))
        if looks:
            self._spent[arm_id] = looked_error(pairs, rules, done=done)
        return rules

    def available(self, arm_id: str) -> float:
        """The error that a candidate might make, or might have made."""
        return self._given.get(arm_id, self._budget.available if self._budget else 0.0)

    def spent(self, arm_id: str) -> float:
        """The error that its looks at clocks have spent so far."""
        return self._spent.get(arm_id, 0.0)
