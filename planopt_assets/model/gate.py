"""The answer of one regression gate for one query; Dagster's asset checks and the command line only show it."""

from __future__ import annotations

from dataclasses import dataclass, field

NEVER_RAN = "the query never ran"


@dataclass(frozen=True, slots=True)
class Compared:
    """The two values that a gate compared, and what it allows between them."""

    expected: str
    found: str
    threshold: str


@dataclass(frozen=True, slots=True)
class Gate:
    """Passed or not; a `severe` failure is a regression, any other is something to look at.

    A gate without evidence is neither: it is not `observed`, and not passed.

    >>> Gate.without_evidence("the query never ran")
    Gate(passed=False, severe=False, words='not observed: the query never ran', details='', numbers={}, \
observed=False, compared=None, run_id='')
    """

    passed: bool
    severe: bool
    words: str
    details: str = ""  # Markdown, for people who want to know more
    numbers: dict[str, float] = field(default_factory=dict)  # plotted over time
    observed: bool = True  # False: nothing in the store answers it
    # For people who look closer. The answer is the same without them, so they do not count in comparisons.
    compared: Compared | None = field(default=None, compare=False)
    run_id: str = field(default="", compare=False)  # the run whose rows answered; empty: none did

    @classmethod
    def without_evidence(cls, why: str) -> Gate:
        """The answer where nothing was looked at."""
        return cls(False, False, f"not observed: {why}", observed=False)
