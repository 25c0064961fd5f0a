"""Whether every execution of an experiment returns what was observed; a difference ends in a verdict of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planopt_assets.errors import PlanoptError, QueryTimedOut, SparkFailed
from planopt_assets.loop.trial_runs import TrialRuns
from planopt_assets.model.arm import Arm
from planopt_assets.model.trial import DIGEST_FORM, Digest
from planopt_assets.model.verdict import Criterion, Judgement, Outcome
from planopt_assets.validate.equality import compare
from planopt_assets.validate.judge import results_equal

VARIES = "the query's own result varies from run to run"
STOPPED = "stopped by budget"


class SameResults:
    """The observed digest of every binding, and what is compared with it."""

    def __init__(self, runs: TrialRuns, observed: Sequence[Digest]) -> None:
        self._runs, self._observed = runs, list(observed)

    @property
    def outdated(self) -> bool:
        """The query was observed by a planopt that computed digests in another way."""
        return any(digest.form != DIGEST_FORM for digest in self._observed)

    def of_round(self, number: int, candidates: Sequence[Arm]) -> Iterator[tuple[str, Judgement]]:
        """Verdicts on the candidates whose results of this round differ; a control run tells varying from wrong."""
        self._renew_outdated(number)
        open_ = {arm.id: arm for arm in candidates}
        for binding, expected in enumerate(self._observed):
            if expected.form != DIGEST_FORM:
                continue  # the session was lost before the baseline had run; the next round looks again
            ran = self._runs.ledger.of_round(number, binding)
            compared = [(arm_id, *compare(expected, t.digest)) for arm_id, t in ran if t.digest]
            different = {arm_id: why for arm_id, same, why in compared if same == "different"}
            varies = self._runs.baseline.id in different
            for arm in [a for a in candidates if a.id in open_ and a.id in different and not varies]:
                suffix = f"-control-{self._runs.short(arm)}"
                control, how = self._runs.execute(self._runs.baseline, binding, number, len(ran), suffix, warm_up=True)
                why = f"the result is not the same: {different[arm.id]}"
                if control.digest is None:
                    unsure = f"{why}; the baseline {how} in the control run"
                    yield open_.pop(arm.id).id, unmeasured("inconclusive", unsure)
                elif compare(expected, control.digest)[0] == "different":
                    varies = True
                    break
                else:
                    yield open_.pop(arm.id).id, unmeasured("reject", why, equal=False)
            if varies:
                yield from ((arm_id, unmeasured("inconclusive", VARIES)) for arm_id in open_)
                return

    def confirmed(self, arm: Arm, verdict: Judgement) -> Judgement:
        """Before anything is accepted: rows one by one where digests are not enough (floating point, ties)."""
        for binding, expected in enumerate(self._observed):
            digests = [t.digest for t in self._runs.ledger.of(arm.id, binding) if t.digest]
            same_bits = all(digest.bits == expected.bits for digest in digests)
            same_places = self._runs.shows_order(binding) and len({digest.sequence for digest in digests}) == 1
            if same_bits and (same_places or not self._runs.promises_order(binding)):
                continue
            try:
                why = self._runs.difference(binding, arm, charged=arm)
                if why and self._runs.difference(binding, self._runs.baseline, charged=arm):
                    return unmeasured("inconclusive", VARIES)
            except SparkFailed:
                raise
            except QueryTimedOut:
                return unmeasured("inconclusive", f"{STOPPED}: the results could not be compared row by row")
            except PlanoptError as error:
                return unmeasured("inconclusive", f"the results could not be compared row by row: {error}")
            if why:
                return unmeasured("reject", f"the result is not the same: {why}", equal=False)
        return verdict

    def _renew_outdated(self, number: int) -> None:
        """The baseline of the first round takes the place of digests that say nothing about today's."""
        for binding, digest in enumerate(self._observed):
            if digest.form != DIGEST_FORM:
                ran = self._runs.ledger.of_round(number, binding)
                today = [t.digest for arm_id, t in ran if arm_id == self._runs.baseline.id and t.digest]
                self._observed[binding] = next(iter(today), digest)


def unmeasured(outcome: Outcome, reason: str, *, equal: bool | None = None) -> Judgement:
    """A verdict that needed no measuring."""
    criteria: tuple[Criterion, ...] = () if equal is None else (results_equal(equal),)
    return Judgement(outcome, reason, equal, criteria, None, 0)
