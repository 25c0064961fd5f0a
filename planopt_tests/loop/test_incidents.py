"""What is told about a query: a policy that got worse, whether it was taken back yet or not, and gates that fail."""

from __future__ import annotations

from typing import Any

import pytest

from planopt_assets.loop.incidents import incidents
from planopt_assets.loop.standing import Standing
from planopt_assets.model.gate import Gate
from planopt_assets.model.promotion import Chain
from planopt_assets.promote.transitions import Expire, Revert
from planopt_tests.promote.events import EXPIRED, REGRESSED, ROLLED_BACK, A, B, accept, chain_of, fix

pytestmark = pytest.mark.fast

FINE = {"not_regressed": {"q": Gate(True, False, "fine")}, "native_scan": {"q": Gate(True, False, "fine")}}


def told(chain: Chain, gates: Any = FINE, **changes: Any) -> list[tuple[str, str]]:
    standing = Standing("q", "qry_1", "inp_1", "auto", (), (), (), (), chain=chain, **changes)
    return [(one.id, one.title) for one in incidents([standing], gates)]


def test_nothing_is_told_about_a_policy_that_is_fine() -> None:
    assert told(()) == told(chain_of(accept(A))) == told(chain_of(fix(A))) == []


def test_a_regression_is_one_incident_before_and_after_it_is_taken_back() -> None:
    due = told(chain_of(accept(A)), due=Revert("last_good", "slower", None, ()))
    taken_back = told(chain_of(accept(A), REGRESSED))
    assert due == taken_back == [("regression/q/g1", "q: its policy got worse")]


def test_it_ends_with_the_revert_and_says_what_is_in_force_then() -> None:
    standing = Standing("q", "qry_1", "inp_1", "auto", (), (), (), (), chain=chain_of(accept(A), REGRESSED))
    (found,) = incidents([standing], FINE)
    assert found.ended
    assert found.text.endswith("Generation 1 was taken back. In force now: generation 2, original.")


def test_an_expiry_is_one_too() -> None:
    due = told(chain_of(accept(A)), due=Expire("engine changed", ()))
    assert due == told(chain_of(accept(A), EXPIRED)) == [("regression/q/g1", "q: its policy has expired")]


def test_it_is_over_once_another_policy_is_in_force() -> None:
    assert told(chain_of(accept(A), REGRESSED, accept(B))) == []


def test_what_a_person_took_back_is_no_incident() -> None:
    assert told(chain_of(accept(A), ROLLED_BACK)) == []


def test_a_severe_gate_is_an_incident_and_any_other_failure_is_not() -> None:
    gates = {"native_scan": {"q": Gate(False, True, "not native")}, "deterministic": {"q": Gate(False, False, "no")}}
    assert told((), gates) == [("gate/native_scan/q", "q: check native_scan fails")]


def test_the_gate_of_the_policy_says_nothing_twice() -> None:
    gates = {"not_regressed": {"q": Gate(False, True, "should not be in force any more")}}
    due = Revert("last_good", "slower", None, ())
    assert [id_ for id_, _ in told(chain_of(accept(A)), gates, due=due)] == ["regression/q/g1"]
    assert [id_ for id_, _ in told(chain_of(accept(A)), gates)] == ["gate/not_regressed/q"]
