"""What is read once per session is kept for that session, and for no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from planopt_assets.engine.capture import inspector as module
from planopt_assets.engine.capture.inspector import Inspector

pytestmark = pytest.mark.fast


class Session:
    def __init__(self, name: int) -> None:
        self.name = name


def test_a_session_never_gets_the_environment_of_one_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python gives out the id of an object again as soon as the object is gone: here, in every round."""
    asked: list[int] = []

    def read(session: Any, _: Any = None) -> int:
        asked.append(session.name)
        return session.name

    monkeypatch.setattr(module, "planning_environment", read)
    monkeypatch.setattr(module, "rulepack", read)
    inspector: Any = Inspector(SimpleNamespace(jvm=None))  # type: ignore[arg-type]  # no Spark here
    for name in range(20):
        session = Session(name)
        assert [inspector._environment(session), inspector._rulepack(session)] == [name, name]
        assert [inspector._environment(session), inspector._rulepack(session)] == [name, name]
        del session
    assert asked == [name for name in range(20) for _ in range(2)]
